"""The functions of `torch.nn.functional`, with its signatures."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _dtypes
from ..autograd.errors import type_name
from ..autograd.inplace import write
from ..ops import activation as _activation
from ..ops._operands import require_tensor
from ..ops.activation import gelu, logsigmoid, sigmoid, softplus, tanh
from ..ops.activation import log_softmax as _log_softmax
from ..ops.activation import softmax as _softmax
from ..ops.attention import scaled_dot_product_attention
from ..ops.batch_norm_relu import batch_norm_relu
from ..ops.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.creation import arange
from ..ops.dropout import dropout, dropout1d, dropout2d, dropout3d
from ..ops.embedding import embedding
from ..ops.fold import fold, unfold
from ..ops.group_normalization import group_norm, instance_norm
from ..ops.linear_algebra import linear
from ..ops.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from ..ops.multi_head_attention import multi_head_attention_forward
from ..ops.normalization import batch_norm, layer_norm
from ..ops.padding import pad
from ..ops.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from ..ops.rms_norm import rms_norm
from ..tensor import Tensor

__all__ = [
    "adaptive_avg_pool2d", "avg_pool2d", "batch_norm", "batch_norm_relu", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cosine_similarity", "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "fold", "gelu", "group_norm", "hardtanh", "instance_norm", "kl_div", "l1_loss", "layer_norm", "leaky_relu",
    "linear", "log_softmax", "logsigmoid", "max_pool2d", "mse_loss", "multi_head_attention_forward", "nll_loss",
    "normalize",
    "one_hot", "pad", "pairwise_distance", "relu", "relu6", "rms_norm", "scaled_dot_product_attention", "sigmoid", "silu",
    "smooth_l1_loss", "softmax", "softmin", "softplus", "tanh", "unfold",
]


# ---- activations that may be written into their input ------------------------------------------------------------------
def _apply(function: Callable[..., Tensor], input: Tensor, inplace: bool, *args: Any) -> Tensor:
    if inplace:
        require_tensor(function.__name__, input)
        return write(input, lambda old: function(old, *args))
    return function(input, *args)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``; see `lucid.relu`. With `inplace` it is written into `input`."""
    return _apply(_activation.relu, input, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return _apply(_activation.silu, input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else ``negative_slope * input``."""
    return _apply(_activation.leaky_relu, input, inplace, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else ``alpha * (exp(input) - 1)``."""
    return _apply(_activation.elu, input, inplace, alpha)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` moved into [min_val, max_val]."""
    return _apply(_activation.hardtanh, input, inplace, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`hardtanh` between 0 and 6."""
    return _apply(_activation.relu6, input, inplace)


# ---- softmax with an implicit dimension ----------------------------------------------------------------------------------
def _implicit_dim(name: str, input: Tensor, stacklevel: int) -> int:
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=stacklevel + 1)
    return 0 if require_tensor(name, input)._array.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along `dim`. Without `dim` warns and takes 0 or 1, as PyTorch does."""
    return _softmax(input, _implicit_dim("softmax", input, _stacklevel) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of ``-input``."""
    return _softmax(-input, _implicit_dim("softmin", input, _stacklevel) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without overflow."""
    return _log_softmax(input, _implicit_dim("log_softmax", input, _stacklevel) if dim is None else dim, dtype)


# ---- vectors ---------------------------------------------------------------------------------------------------------------
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros of shape ``tensor.shape + (num_classes,)`` with a one at the index in `tensor`.

    -1 takes the largest index plus 1. Raises RuntimeError for other dtypes than int64 and for indices out of range.
    """
    if require_tensor("one_hot", tensor).dtype != _dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*tensor.shape, num_classes))
    if tensor.is_meta and num_classes != -1:
        return tensor.new_empty((*tensor.shape, num_classes))
    if tensor.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = tensor.max().item()
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (tensor.unsqueeze(-1) == arange(num_classes, device=tensor.device)).long()


def normalize(input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """`input` divided by its `p`-norm along `dim`, which counts as at least `eps`."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{type_name(input.dtype)}")
    if out is not None:
        raise NotImplementedError("normalize: out is not supported; assign the result")
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return input / length.expand(input.shape)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The scalar product of `x1` and `x2` along `dim`, divided by their lengths, each counted as at least `eps`.

    They broadcast. Raises RuntimeError if neither is floating.
    """
    common = _dtypes.promote_types(x1.dtype, x2.dtype)
    if not _dtypes.is_floating(common):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {type_name(common)}")
    x1, x2 = x1.to(common), x2.to(common)
    product = x1 * x2  # broadcasts: then `dim` counts the dimensions of the result
    x1, x2 = x1.expand(product.shape), x2.expand(product.shape)
    # Divided before the product is summed, so that no square of a length can overflow or underflow.
    units = [x / x.norm(2, dim, keepdim=True).clamp(min=eps) for x in (x1, x2)]
    return (units[0] * units[1]).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The `p`-norm of ``x1 - x2 + eps`` along the last dimension. They broadcast."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)
