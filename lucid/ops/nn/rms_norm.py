"""Normalisation by the root of the mean square: a fused kernel and gradient, and the same gradient in operations; and by the
neighbouring channels, in operations.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from ..manipulation.padding import pad
from .activation import require_floating
from .normalization import delivered, dtypes_of, outer_and_inner, require_normalized_shape, wide

__all__ = ()  # functions of nn.functional only


def _rule(needs: Any, x: Tensor, weight: Tensor | None, *, normalized_ndim: int, eps: float) -> Vjp:
    dtypes = dtypes_of(x, weight)

    def vjp(g: Tensor, rstd: Any) -> Sequence[Any]:
        if is_composed():
            outer, inner = outer_and_inner(x, normalized_ndim)
            gradients: Sequence[Tensor] = _composed(g, x, weight, inner, outer, eps)
        else:
            gradients = _rms_norm_grad(g, x, weight, rstd[0], normalized_ndim=normalized_ndim)
        return delivered(gradients, needs, dtypes)

    return vjp


_rms_norm = operation("rms_norm", _rule, saved_outputs=(1,), outputs=(0,))
_rms_norm_grad = operation("rms_norm_grad")


def _composed(g: Tensor, x: Tensor, weight: Tensor | None, inner: tuple[int, ...], outer: tuple[int, ...], eps: float
              ) -> tuple[Tensor, Tensor]:
    g, x = wide(g), wide(x)
    rstd = ((x * x).mean(inner, keepdim=True) + eps).rsqrt()
    normalized = x * rstd
    scaled = g if weight is None else g * wide(weight)
    dx = rstd * (scaled - normalized * (scaled * normalized).mean(inner, keepdim=True))
    d_weight = g * normalized
    return dx, d_weight.sum(outer) if outer else d_weight  # a sum over no dimension is the tensor itself


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide `input` by the root of its mean square over the last dimensions, which are `normalized_shape`; times `weight`.

    `weight` has that shape or is None. `eps` is added to the mean square; None is the machine epsilon of the dtype that computes:
    that of float32 also for float16. Raises TypeError for a `normalized_shape` that is not a sequence, NotImplementedError
    for tensors that are not of a real floating-point dtype, ValueError for an input of too few dimensions and RuntimeError for
    shapes that do not fit.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.

    >>> F.rms_norm(lucid.tensor([[3.0, 4.0]]), (2,))
    Tensor([[0.8485, 1.1314]], requires_grad=False)
    """
    require_tensor("rms_norm", input)
    ndim = input._array.ndim
    if isinstance(normalized_shape, (tuple, list)) and ndim < len(normalized_shape):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {ndim}")
    wanted = require_normalized_shape("rms_norm", input, normalized_shape, {"weight": weight})
    require_floating("rms_norm", input)
    dtype = input._array.dtype
    if weight is not None and weight._array.dtype != dtype and weight._array.dtype != _dtypes.float32:
        weight = weight.to(dtype)
    if eps is None:
        eps = 2.0 ** (-52 if dtype == _dtypes.float64 else -23)
    return _rms_norm(input, weight, normalized_ndim=len(wanted), eps=eps)[0]


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * m) ** beta`` with m, the mean of input² over `size` neighbouring channels; those beyond the first
    and the last count as zeros. (N, C, *) to the same shape.

    Source: Krizhevsky et al. 2012. Raises ValueError for less than 3 dimensions.

    >>> F.local_response_norm(lucid.ones(1, 3, 1), 3, alpha=3.0, beta=1.0).flatten()
    Tensor([0.3333, 0.2500, 0.3333], requires_grad=False)
    """
    if require_tensor("local_response_norm", input).ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    beside = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    mean = pad(input * input, beside).unfold(1, size, 1).mean(-1)
    return input / (mean * alpha + k) ** beta
