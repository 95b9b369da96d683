"""Normalisation by the root of the mean square: a fused kernel and gradient, and the same gradient in operations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...autograd.grad_mode import is_composed
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._operands import require_tensor
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


_rms_norm = Op("rms_norm", _rule, saved_outputs=(1,), outputs=(0,))
_rms_norm_grad = Op("rms_norm_grad")


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
