"""The functions of `torch.nn.functional`, with its signatures.

>>> import lucid.nn.functional as F
>>> F.cross_entropy(F.relu(lucid.tensor([[2.0, -1.0]])), lucid.tensor([0]))
Tensor(0.1269, requires_grad=False)
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .._namespace.builtins import publish
from .._namespace.callers import stacklevel
from .._namespace.forwarding import deferring
from ..autograd.inplace import write
from ..backends.memory_format import contiguous_format
from ..ops._operands import require_tensor
from ..ops._out import method
from ..ops.creation.creation import empty_like, zeros_like
from ..ops.linalg.bilinear import bilinear
from ..ops.linalg.distances import cosine_similarity, pairwise_distance, pdist
from ..ops.linalg.matmul import linear
from ..ops.manipulation.padding import pad
from ..ops.nn import activation as _activation
from ..ops.nn.activation import gelu, glu, logsigmoid, mish, softplus, softsign, tanhshrink
from ..ops.nn.attention import scaled_dot_product_attention
from ..ops.nn.batch_norm_relu import batch_norm_relu
from ..ops.nn.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.nn.embedding import embedding, one_hot
from ..ops.nn.embedding_bag import embedding_bag
from ..ops.nn.fold import fold, unfold
from ..ops.nn.fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from ..ops.nn.grid_sampling import affine_grid, grid_sample
from ..ops.nn.group_normalization import group_norm, instance_norm
from ..ops.nn.losses.ctc_loss import ctc_loss
from ..ops.nn.losses.likelihood_loss import gaussian_nll_loss, poisson_nll_loss
from ..ops.nn.losses.linear_cross_entropy import linear_cross_entropy
from ..ops.nn.losses.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from ..ops.nn.losses.margin_loss import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ..ops.nn.multi_head_attention import multi_head_attention_forward
from ..ops.nn.normalization import batch_norm, layer_norm, normalize
from ..ops.nn.piecewise_activation import (
    celu,
    celu_,
    hardsigmoid,
    hardswish,
    prelu,
    rrelu,
    rrelu_,
    selu,
    selu_,
    softshrink,
    threshold_,
)
from ..ops.nn.pixel_shuffle import channel_shuffle, pixel_shuffle, pixel_unshuffle
from ..ops.nn.pooling import adaptive_avg_pool2d, adaptive_max_pool2d, avg_pool2d, max_pool2d
from ..ops.nn.pooling_dimensions import (
    adaptive_avg_pool1d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool3d,
)
from ..ops.nn.resampling import interpolate
from ..ops.nn.rms_norm import local_response_norm, rms_norm
from ..ops.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from ..ops.random.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from ..tensor import Tensor

if TYPE_CHECKING:
    from .. import hardshrink, sigmoid, tanh, threshold  # with `out`

    # Imported when they are first asked for.
    from .extras.functional import drop_block as drop_block
    from .extras.functional import drop_path as drop_path
    from .extras.functional import global_response_norm as global_response_norm
    from .extras.functional import rotary_pos_embedding as rotary_pos_embedding
    from .extras.functional import rotate as rotate
    from .extras.functional import sinusoidal_pos_embedding as sinusoidal_pos_embedding
else:
    from ..ops.nn.activation import sigmoid, tanh
    from ..ops.nn.piecewise_activation import hardshrink, threshold

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "batch_norm_relu", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d",
    "fractional_max_pool3d", "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss",
    "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear",
    "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "mish", "mse_loss", "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pdist",
    "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu",
    "rrelu_", "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear",
    "upsample_nearest",
]


# ---- activations that may be written into their input ------------------------------------------------------------------
def _inplace(function: Callable[..., Tensor], input: Tensor, *args: Any) -> Tensor:
    require_tensor(function.__name__, input)
    return write(input, function, *args, single=getattr(function, "single", False))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``; see `lucid.relu`. With `inplace` it is written into `input`.

    >>> F.relu(lucid.tensor([-1.0, 0.0, 2.0]))
    Tensor([0.0, 0.0, 2.0], requires_grad=False)
    """
    return _inplace(_activation.relu, input) if inplace else _activation.relu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``.

    >>> F.silu(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.2689,  0.0000,  0.7311], requires_grad=False)
    """
    return _inplace(_activation.silu, input) if inplace else _activation.silu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else ``negative_slope * input``.

    >>> F.leaky_relu(lucid.tensor([-1.0, 0.0, 2.0]), 0.1)
    Tensor([-0.1,  0.0,  2.0], requires_grad=False)
    """
    return _inplace(_activation.leaky_relu, input, negative_slope) if inplace else _activation.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else ``alpha * (exp(input) - 1)``.

    >>> F.elu(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.6321,  0.0000,  1.0000], requires_grad=False)
    """
    return _inplace(_activation.elu, input, alpha) if inplace else _activation.elu(input, alpha)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` moved into [min_val, max_val].

    >>> F.hardtanh(lucid.tensor([-4.0, 0.5, 4.0]))
    Tensor([-1.0,  0.5,  1.0], requires_grad=False)
    """
    return _inplace(_activation.hardtanh, input, min_val, max_val) if inplace else _activation.hardtanh(input, min_val, max_val)


def relu_(input: Tensor) -> Tensor:
    """`relu`, written into `input`."""
    return relu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, written into `input`."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, written into `input`."""
    return elu(input, alpha, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, written into `input`."""
    return hardtanh(input, min_val, max_val, inplace=True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`hardtanh` between 0 and 6.

    >>> F.relu6(lucid.tensor([-1.0, 2.0, 8.0]))
    Tensor([0.0, 2.0, 6.0], requires_grad=False)
    """
    return _inplace(_activation.relu6, input) if inplace else _activation.relu6(input)


_softmax, _log_softmax = method(_activation.softmax), method(_activation.log_softmax)  # without the frame for `out`


# ---- softmax with an implicit dimension: the warning finds the line of the user without `_stacklevel` ----
def _implicit_dim(name: str, input: Tensor) -> int:
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=stacklevel())
    return 0 if require_tensor(name, input)._array.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along `dim`. Without `dim` warns and takes 0 or 1, as PyTorch does.

    >>> F.softmax(lucid.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
    Tensor([[0.5000, 0.5000],
            [0.2689, 0.7311]], requires_grad=False)
    """
    return _softmax(input, _implicit_dim("softmax", input) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of ``-input``.

    >>> F.softmin(lucid.tensor([0.0, 1.0]), dim=0)
    Tensor([0.7311, 0.2689], requires_grad=False)
    """
    return _softmax(-input, _implicit_dim("softmin", input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without overflow.

    >>> F.log_softmax(lucid.tensor([0.0, 0.0]), dim=0)
    Tensor([-0.6931, -0.6931], requires_grad=False)
    """
    return _log_softmax(input, _implicit_dim("log_softmax", input) if dim is None else dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution along `dim`: `softmax` of `logits` with Gumbel noise, divided by `tau`.

    With `hard` the result is one-hot, with the gradient of the soft sample. `eps` is not used. Source: Jang et al. 2017.

    >>> F.gumbel_softmax(lucid.tensor([[0.0, 0.0, 100.0]]), hard=True)
    Tensor([[0.0, 0.0, 1.0]], requires_grad=False)
    """
    noise = -empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    choice = soft.max(dim, keepdim=True)[1]
    return zeros_like(logits, memory_format=contiguous_format).scatter_(dim, choice, 1.0) - soft.detach() + soft


# ---- what PyTorch has kept under old names -------------------------------------------------------------------------------
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """`interpolate`, with a UserWarning.

    >>> F.upsample(lucid.tensor([[[1.0, 2.0]]]), scale_factor=2)
    Tensor([[[1.0, 1.0, 2.0, 2.0]]], requires_grad=False)
    """
    warnings.warn("nn.functional.upsample is deprecated. Use nn.functional.interpolate instead.", stacklevel=stacklevel())
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` in mode 'nearest', with a UserWarning.

    >>> F.upsample_nearest(lucid.tensor([[[[1.0, 2.0]]]]), scale_factor=2)
    Tensor([[[[1.0, 1.0, 2.0, 2.0],
              [1.0, 1.0, 2.0, 2.0]]]], requires_grad=False)
    """
    warnings.warn("nn.functional.upsample_nearest is deprecated. Use nn.functional.interpolate instead.", stacklevel=stacklevel())
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` in mode 'bilinear' with `align_corners`, with a UserWarning.

    >>> F.upsample_bilinear(lucid.arange(4.0).view(1, 1, 2, 2), size=(2, 3))
    Tensor([[[[0.0, 0.5, 1.0],
              [2.0, 2.5, 3.0]]]], requires_grad=False)
    """
    warnings.warn("nn.functional.upsample_bilinear is deprecated. Use nn.functional.interpolate instead.",
                  stacklevel=stacklevel())
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


publish(globals(), """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_ linear logsigmoid one_hot
    pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ softplus
    softshrink threshold_""".split())  # the others are written in Python there

for _name in __all__:
    if isinstance(globals()[_name], FunctionType):
        globals()[_name] = deferring(globals()[_name])
