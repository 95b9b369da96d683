"""One element for each index along a dimension, written: `scatter`, `scatter_add`, `scatter_reduce`."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.inplace import update, write
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, fitted, require_tensor
from .._out import accepts_out
from ..elementwise.arithmetic import div, maximum
from ..elementwise.where import where
from .gather_scatter import check_along, gather_op, scatter_op
from .index import index_tensor

METHODS = ("scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_")


def _scatter_arguments(x: Tensor, dim: int, index: Tensor, src: Any, value: Any) -> tuple[Tensor, Any, int]:
    axis = canonical_dim(dim, require_tensor("scatter", x)._array.ndim)
    index = index_tensor("scatter", index, x)
    source = fitted(value if src is None else src, x._array.dtype)
    if source.__class__ is float and x._array.dtype.kind in "iu":
        source = int(source)  # a number becomes one of the dtype before it is added or multiplied
    if index._array.ndim == 0 and x._array.ndim == 1:
        index = index.reshape(1)
    check_along("scatter", x, index, axis, source)
    if isinstance(source, Tensor) and source._array.ndim and source._array.shape != index._array.shape:
        source = source[tuple(slice(n) for n in index._array.shape)]
    return index, source, axis


@accepts_out
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> Tensor:
    """`input` with `src` (a tensor or number) written where `gather` would read; the last of several writes stays.

    Raises IndexError out of range. ``reduce='add'`` adds, ``'multiply'`` multiplies with what is there.

    >>> lucid.scatter(lucid.zeros(2, 3), 1, lucid.tensor([[2], [0]]), lucid.tensor([[5.0], [7.0]]))
    Tensor([[0.0, 0.0, 5.0],
            [7.0, 0.0, 0.0]], requires_grad=False)
    """
    if require_tensor("scatter", input)._array.ndim == 0:
        return scatter(input.reshape(1), dim, index, src, value=value, reduce=reduce).reshape(())
    index, source, axis = _scatter_arguments(input, dim, index, src, value)
    if reduce == "multiply":
        return _multiplied(input, axis, index, source)
    return scatter_op(input, index, source, axis=axis, accumulate=_accumulates(reduce))


def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
             reduce: str | None = None) -> Tensor:
    """`scatter` into this tensor itself."""
    if self._array.ndim == 0:
        scatter_(self.reshape(1), dim, index, src, value=value, reduce=reduce)
        return self
    index, source, axis = _scatter_arguments(self, dim, index, src, value)
    if reduce == "multiply":
        return write(self, lambda old: _multiplied(old, axis, index, source))
    return update(self, scatter_op, index, source, axis=axis, accumulate=_accumulates(reduce))


def _accumulates(reduce: str | None) -> bool:
    if reduce not in (None, "add"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}.")
    return reduce == "add"


def _multiplied(x: Tensor, axis: int, index: Tensor, source: Any) -> Tensor:

    factors = source if isinstance(source, Tensor) and source._array.ndim else x.new_full(index.shape, source)
    return scatter_reduce(x, axis, index, factors, "prod")


@accepts_out
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src` added where `gather` would read; repeated indices add up. Raises IndexError out of range.

    >>> lucid.scatter_add(lucid.zeros(3), 0, lucid.tensor([0, 2, 0]), lucid.tensor([1.0, 2.0, 3.0]))
    Tensor([4.0, 0.0, 2.0], requires_grad=False)
    """
    return scatter(input, dim, index, src, reduce="add")


def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`scatter_add` into this tensor itself."""
    return scatter_(self, dim, index, src, reduce="add")


def _extremum_vjp(g: Tensor, y: Tensor, x: Tensor, index: Tensor, source: Tensor, axis: int) -> tuple[Tensor, None, Tensor]:
    """The elements that tie for the extremum share its gradient evenly."""
    peak = y.detach()
    from_x = ((x == peak) | (x.isnan() & peak.isnan())).to(g.dtype)
    there = gather_op(peak, index, axis=axis)
    from_source = ((source == there) | (source.isnan() & there.isnan())).to(g.dtype)
    share = g / scatter_add(from_x, axis, index, from_source).clamp(min=1)
    return share * from_x, None, gather_op(share, index, axis=axis) * from_source


def _product_vjp(g: Tensor, y: Tensor, x: Tensor, index: Tensor, source: Tensor, axis: int) -> tuple[Tensor, None, Tensor]:
    """The product of all other factors, also where one of them is 0."""
    zeros = scatter_add((x == 0).to(g.dtype), axis, index, (source == 0).to(g.dtype))  # how many factors are 0
    x_zero, source_zero = x == 0, source == 0
    nonzero = _scatter_reduce(where(x_zero, 1.0, x), index, where(source_zero, 1.0, source), axis=axis, reduce="prod")

    def others(value: Tensor, is_zero: Tensor, product: Tensor, count: Tensor) -> Tensor:
        rest = product / where(is_zero, 1.0, value)
        return where(count - is_zero.to(g.dtype) == 0, rest, 0.0)

    to_x = g * others(x, x_zero, nonzero, zeros)
    product, count = gather_op(nonzero, index, axis=axis), gather_op(zeros, index, axis=axis)
    return to_x, None, gather_op(g, index, axis=axis) * others(source, source_zero, product, count)


def _scatter_reduce_rule(needs: Any, x: Tensor, index: Tensor, source: Tensor, *, axis: int, reduce: str) -> Vjp:
    vjp = _product_vjp if reduce == "prod" else _extremum_vjp
    return lambda g, y: vjp(g, y, x, index, source, axis)


_scatter_reduce = single_op("scatter_reduce", _scatter_reduce_rule, saved_outputs=True)
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _neutral(reduce: str, dtype: Any) -> Any:
    """What changes nothing when it is combined with others."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if _dtypes.is_differentiable(dtype):
        return float("-inf") if reduce == "amax" else float("inf")
    return dtype_limit(dtype, reduce == "amin")


def dtype_limit(dtype: Any, largest: bool) -> Any:
    """The largest or smallest number of an integer dtype."""
    if dtype == _dtypes.bool_:
        return largest
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    return (1 << bits) - 1 if largest else -(1 << bits) if dtype.kind == "i" else 0


def reduced(x: Tensor, axis: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    if reduce in ("amax", "amin") and x.is_complex():
        raise NotImplementedError(f"scatter_reduce with reduce={reduce!r} is not supported for complex tensors")
    if index.numel() == 0:
        return x.clone()
    if not include_self:
        x = scatter(x, axis, index, value=_neutral(reduce, x.dtype))
    if reduce == "sum":
        return scatter_add(x, axis, index, source)
    if reduce != "mean":
        return _scatter_reduce(x, index, source, axis=axis, reduce=reduce)
    own = x.detach()
    one = own.new_full((), 1, dtype=_dtypes.int32)
    count = scatter(own.new_full(own.shape, int(include_self), dtype=_dtypes.int32), axis, index, one, reduce="add")
    count = maximum(count, one)
    total = scatter_add(x, axis, index, source)
    if _dtypes.is_differentiable(x.dtype):
        return total / count.to(x.dtype)
    return div(total, count, rounding_mode="floor").to(x.dtype)


@accepts_out
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` with `src` combined by `reduce` ('sum', 'prod', 'mean', 'amax', 'amin') where `gather` would read.

    Without `include_self` the elements that are written to do not take part themselves. Elements that tie for an extremum
    share its gradient. Raises IndexError out of range, RuntimeError for shapes and dtypes that do not fit.

    >>> lucid.scatter_reduce(lucid.zeros(2), 0, lucid.tensor([0, 1, 1]), lucid.tensor([1.0, 2.0, 3.0]), "amax")
    Tensor([1.0, 3.0], requires_grad=False)
    """
    axis = canonical_dim(dim, require_tensor("scatter_reduce", input)._array.ndim)
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if not isinstance(src, Tensor):
        raise TypeError(f"scatter_reduce(): argument 'src' must be Tensor, not {type(src).__name__}")
    if reduce == "mean" and input.dtype == _dtypes.bool_:
        raise NotImplementedError("scatter_reduce(): no mean of Bool tensors")
    index = index_tensor("scatter_reduce", index, input)
    if input._array.ndim == 0:
        # Of a copy: the gradient rule keeps it, and where this is written into `input` that must not change it.
        whole = scatter_reduce(input.clone().reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self)
        return whole.reshape(())
    check_along("scatter_reduce", input, index, axis, src)
    source = src if src.shape == index.shape else src[tuple(slice(n) for n in index._array.shape)]
    return reduced(input, axis, index, source, reduce, include_self)


def scatter_reduce_(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`scatter_reduce` into this tensor itself."""
    return write(self, lambda old: scatter_reduce(old, dim, index, src, reduce, include_self=include_self))


register(__name__)
