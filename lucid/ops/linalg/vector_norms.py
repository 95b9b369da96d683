"""Norms of vectors of any order, over any dimensions: `linalg.vector_norm`."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from .._out import accepts_out
from ..elementwise.fused import LARGE, fused_if_large
from ..elementwise.where import where
from ..reduction import extremes
from ..reduction.axes import Axes, kernel_axes, spread
from ..reduction.reduction import sum


def _of_one_kind(g: Tensor, x: Tensor, y: Tensor) -> bool:
    """Whether one kernel computes the gradient: of real numbers of one dtype."""
    return bool(x._array.dtype == g._array.dtype == y._array.dtype and x._array.dtype.kind in "fV")


@fused_if_large
def _along(x: Tensor, length: Tensor, g: Tensor) -> Tensor:
    """`g` times the unit vectors: ``g / length`` would overflow in half precision."""
    return x / length * g


def _norm2_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    shape = x._array.shape

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        if not is_composed() and (x.is_gpu or (x._array.size < LARGE and x._array.dtype.char in "fd")) and _of_one_kind(g, x, y):
            return (_norm2_grad(g, x, y, axis=axis, keepdims=keepdims),)  # a fifth of the time of the operations
        g, y = spread(g, shape, axis, keepdims), spread(y, shape, axis, keepdims)
        return (_along(x, y.masked_fill(y == 0, 1), g),)  # where y is 0, x is

    return vjp


def _norm_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, order: float) -> Vjp:
    """The slope is the direction of each element times (its size / the norm) to the power of order - 1; where an element or
    the norm is 0, it may be infinite and is defined as 0.
    """
    shape = x._array.shape

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        if not is_composed() and x.is_gpu and _of_one_kind(g, x, y):
            return (_norm_grad(g, x, y, axis=axis, keepdims=keepdims, order=order),)
        g, y, size = spread(g, shape, axis, keepdims), spread(y, shape, axis, keepdims), x.abs()
        zero = y == 0
        if order < 2:  # the direction of zero is zero, whatever it is multiplied by
            size = size.masked_fill(size == 0, 1)
        if order < 0:  # it is 0 because of one element only
            g = g.masked_fill(zero, 0)
        return (x.sgn() * ((size / y.masked_fill(zero, 1)) ** (order - 1) * g),)

    return vjp


def _extreme_rule(needs: Any, size: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    """Sizes that tie for the largest, or the smallest, share its gradient evenly; none has one where that is NaN."""
    shape = size._array.shape

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        chosen = (size == spread(y.detach(), shape, axis, keepdims)).to(g.dtype)
        ties = chosen.sum(None if axis is None else axis, keepdim=True).clamp(min=1)
        return (spread(g, shape, axis, keepdims) * chosen / ties,)

    return vjp


_largest, _smallest = single_op("max", _extreme_rule, saved_outputs=True), single_op("min", _extreme_rule, saved_outputs=True)
_norm2_grad, _norm_grad = operation("norm2_grad"), operation("norm_grad")
_norm2 = single_op("norm2", _norm2_rule, saved_outputs=True)
_norm = single_op("norm", _norm_rule, saved_outputs=True)


def norm_of_order(input: Tensor, p: float, dim: Any, keepdim: bool) -> Tensor:
    """The norm of order `p` over `dim`, without checks of the dtype."""
    axis = kernel_axes(dim, input._array.ndim)
    if p == 2:
        return _norm2(input, axis=axis, keepdims=keepdim)
    if p < 0 or p == math.inf:
        _require_elements(input, p, axis)
    if p not in (0, 1, math.inf, -math.inf) or (p == 1 and input.is_gpu and not input.is_complex()):
        return _norm(input, axis=axis, keepdims=keepdim, order=p)
    if abs(p) == math.inf and extremes.suits(input):
        return extremes.extreme("norm", input, axis, keepdim, p < 0)
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


def cast(name: str, input: Tensor, dtype: Any) -> Tensor:
    """`input` as `dtype`, which must hold all its values. Raises RuntimeError for integers too."""
    given = require_tensor(name, input)._array.dtype
    if not _dtypes.is_differentiable(given):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(given)}")
    if dtype is None:
        return input
    wanted = _dtypes.as_dtype(dtype)
    if not _dtypes.is_differentiable(wanted):
        raise RuntimeError(f"{name}: dtype should be floating point or complex. Got {type_name(wanted)}")
    for kind, complex_input in (("complex", True), ("real", False)):
        if input.is_complex() == complex_input != (wanted.kind == "c"):
            raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {type_name(wanted)}")
    if _dtypes.promote_types(given, wanted) != wanted:
        raise RuntimeError(f"{name}: the dtype of the input ({type_name(given)}) should be convertible without narrowing to "
                           f"the specified dtype ({type_name(wanted)})")
    return input.to(wanted)


@accepts_out
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """``sum(abs(x) ** ord) ** (1 / ord)`` over `dim`, or over all elements; for `ord` inf and -inf the largest and smallest
    size, for 0 the number of elements that are not zero.

    The result is real. `dtype` is that of the computation. Raises TypeError for an `ord` that is not a number, RuntimeError
    for integers, a `dtype` that loses digits, and no elements where the norm of nothing is not defined (`ord` inf or < 0).

    >>> lucid.linalg.vector_norm(lucid.tensor([3.0, -4.0])), lucid.linalg.vector_norm(lucid.tensor([3.0, -4.0]), ord=lucid.inf)
    (Tensor(5.0, requires_grad=False), Tensor(4.0, requires_grad=False))
    """
    name = "linalg.vector_norm"
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    x = cast(name, x, dtype)
    return norm_of_order(x, float(ord), dim, keepdim)
