"""Normalisation of each sample by itself."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...ops.creation.creation import empty
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Scaling(Module):
    """Layers with a `weight` and perhaps a `bias`, which may be None."""

    def reset_parameters(self) -> None:
        """Start with weight 1 and bias 0."""
        for name, start in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = getattr(self, name, None)
            if parameter is not None:
                start(parameter)


class LayerNorm(_Scaling):
    """Normalises over the last dimensions, those of `normalized_shape`: mean 0 and variance 1.

    With `elementwise_affine` the result is multiplied by `weight` and, with `bias`, shifted by `bias`, both of
    `normalized_shape`. Raises RuntimeError for an input that does not end in `normalized_shape`.

    >>> nn.LayerNorm(2)(lucid.tensor([[1.0, 3.0], [10.0, 30.0]]))
    Tensor([[-1.0,  1.0],
            [-1.0,  1.0]], requires_grad=True)
    """

    def __init__(self, normalized_shape: int | Iterable[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        shape = tuple(normalized_shape) if isinstance(normalized_shape, Iterable) else (normalized_shape,)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight", Parameter(empty(shape, device=device, dtype=dtype)) if elementwise_affine else None)
        self.register_parameter(
            "bias", Parameter(empty(shape, device=device, dtype=dtype)) if elementwise_affine and bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """(..., *normalized_shape) to the same shape."""
        weight, bias = self._tensors("weight", "bias")
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self) -> str:
        """The arguments of the constructor."""
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(_Scaling):
    """Divides by the root of the mean square over the last dimensions, those of `normalized_shape`; times `weight`.

    `eps` is added to the mean square; None is that of `nn.functional.rms_norm`. There is no weight without
    `elementwise_affine`.

    >>> nn.RMSNorm(2)(lucid.tensor([[3.0, 4.0]])).detach()
    Tensor([[0.8485, 1.1314]], requires_grad=False)
    """

    def __init__(self, normalized_shape: int | Iterable[int], eps: float | None = None, elementwise_affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        shape = tuple(normalized_shape) if isinstance(normalized_shape, Iterable) else (normalized_shape,)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight", Parameter(empty(shape, device=device, dtype=dtype)) if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """(..., *normalized_shape) to the same shape."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The arguments of the constructor."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Scaling):
    """Normalises each of `num_groups` groups of channels of each sample of (N, C, *): mean 0 and variance 1.

    With `affine` the result is multiplied by `weight` and, with `bias`, shifted by `bias`, one number for each channel. Raises
    ValueError if the groups do not divide the channels.

    >>> nn.GroupNorm(2, 4)(lucid.tensor([[1.0, 3.0, 10.0, 30.0]]))
    Tensor([[-1.0,  1.0, -1.0,  1.0]], requires_grad=True)
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_channels, **options)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_channels, **options)) if affine and bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, *) to the same shape."""
        weight, bias = self._tensors("weight", "bias")
        return F.group_norm(input, self.num_groups, weight, bias, self.eps)

    def extra_repr(self) -> str:
        """The arguments of the constructor."""
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class LocalResponseNorm(Module):
    """``x / (k + alpha * m) ** beta`` with m, the mean of x² over `size` neighbouring channels (Krizhevsky et al. 2012).

    (N, C, *) to the same shape; see `functional.local_response_norm`.

    >>> nn.LocalResponseNorm(3, alpha=3.0, beta=1.0)(lucid.ones(1, 3, 1)).flatten()
    Tensor([0.3333, 0.2500, 0.3333], requires_grad=False)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """Normalise (N, C, *)."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """All options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` of images (N, C, H, W) as PyTorch's module computes it: a window of an even `size` is one channel
    narrower, but divided by `size`, and the first channel counts in the windows of all that follow.

    >>> nn.CrossMapLRN2d(3, alpha=3.0, beta=1.0)(lucid.ones(1, 3, 1, 1)).flatten()
    Tensor([0.3333, 0.2500, 0.2500], requires_grad=False)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise (N, C, H, W). Raises ValueError for other ranks."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        beside = (self.size - 1) // 2
        squares = input * input
        sums = F.pad(squares, [0, 0, 0, 0, beside, beside]).unfold(1, 2 * beside + 1, 1).sum(-1)
        without_first = max(input.shape[1] - beside - 1, 0)
        sums = sums + F.pad(squares[:, :1].expand(-1, without_first, -1, -1), [0, 0, 0, 0, input.shape[1] - without_first, 0])
        return input / (sums * (self.alpha / self.size) + self.k) ** self.beta
