"""Norms of vectors: `norm` of any order, over any dimensions, and `dist`."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_grad_enabled
from ...autograd.op import Op, Pull, UnaryOp
from ...tensor import Tensor
from .._operands import array_api_names, canonical_dims, require_tensor
from .._out import accepts_out
from ..elementwise._fused import LARGE, fused_if_large
from ..elementwise.comparison import where
from ..reduction._reduction import Axes, kernel_axes, spread
from ..reduction.reduction import sum

METHODS = ("norm", "dist")


@fused_if_large
def _along(x: Tensor, length: Tensor, g: Tensor) -> Tensor:
    """`g` times the unit vectors: ``g / length`` would overflow in half precision."""
    return x / length * g


def _norm2_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    shape = x._array.shape

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        if x._array.size < LARGE and x._array.dtype.char in "fd" and not is_grad_enabled():
            return (_norm2_grad(g, x, y, axis=axis, keepdims=keepdims),)  # a fifth of the time of the operations
        g, y = spread(g, shape, axis, keepdims), spread(y, shape, axis, keepdims)
        return (_along(x, y.masked_fill(y == 0, 1), g),)  # where y is 0, x is

    return pull


def _norm_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, order: float) -> Pull:
    """The slope is the direction of each element times (its size / the norm) to the power of order - 1; where an element or
    the norm is 0, it may be infinite and is defined as 0.
    """
    shape = x._array.shape

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        g, y, size = spread(g, shape, axis, keepdims), spread(y, shape, axis, keepdims), x.abs()
        zero = y == 0
        if order < 2:  # the direction of zero is zero, whatever it is multiplied by
            size = size.masked_fill(size == 0, 1)
        if order < 0:  # it is 0 because of one element only
            g = g.masked_fill(zero, 0)
        return (x.sgn() * ((size / y.masked_fill(zero, 1)) ** (order - 1) * g),)

    return pull


def _extreme_rule(needs: Any, size: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    """Sizes that tie for the largest, or the smallest, share its gradient evenly; none has one where that is NaN."""
    shape = size._array.shape

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        chosen = (size == spread(y.detach(), shape, axis, keepdims)).to(g.dtype)
        ties = chosen.sum(None if axis is None else axis, keepdim=True).clamp(min=1)
        return (spread(g, shape, axis, keepdims) * chosen / ties,)

    return pull


_largest, _smallest = UnaryOp("max", _extreme_rule, keeps=True), UnaryOp("min", _extreme_rule, keeps=True)
_norm2_grad = Op("norm2_grad")
_norm2 = UnaryOp("norm2", _norm2_rule, keeps=True)
_norm = UnaryOp("norm", _norm_rule, keeps=True)


@accepts_out
@array_api_names
def norm(input: Tensor, p: float | str | None = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Tensor:
    """The vector norm of order `p` over `dim`: any number, inf, -inf, or 'fro', which is 2. 'nuc' is the matrix norm over two
    dimensions, the sum of the singular values.

    Raises RuntimeError for integers and bools, for 'nuc' over another number of dimensions, and for no elements where the norm of
    nothing is not defined (`p` inf or < 0).
    """
    if dtype is not None:
        input = input.to(_dtypes.as_dtype(dtype))
    if not _dtypes.is_differentiable(require_tensor("norm", input)._array.dtype):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{type_name(input.dtype)}")
    if p is None or p == "fro":
        p = 2
    elif isinstance(p, str):
        from .matrix_norms import matrix_norm

        return matrix_norm(input, p, canonical_dims(dim, input._array.ndim), keepdim)
    axis = kernel_axes(dim, input._array.ndim)
    if p == 2:
        return _norm2(input, axis=axis, keepdims=keepdim)
    if p < 0 or p == math.inf:
        _require_elements(input, p, axis)
    if p not in (0, 1, math.inf, -math.inf):
        return _norm(input, axis=axis, keepdims=keepdim, order=p)
    size = input.abs()
    if p == 0:
        return sum(where(size == 0, size * 0, 1.0), axis, keepdim)
    if p == 1:
        return sum(size, axis, keepdim)
    return (_largest if p > 0 else _smallest)(size, axis=axis, keepdims=keepdim)


def _require_elements(input: Tensor, p: float, axis: Any) -> None:
    """Raises RuntimeError where the norm is one of nothing, which has no value."""
    shape = input._array.shape
    for dim in range(len(shape)) if axis is None else axis:
        if shape[dim] == 0:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {p:g} norm over dimension {dim}, which is empty: the "
                               "operation does not have an identity")


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of order `p` of ``input - other``."""
    return norm(require_tensor("dist", input) - other, p)
