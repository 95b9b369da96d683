"""Writing many elements to one place: `scatter_reduce`, `index_reduce`, and writing by position: `put`."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...autograd.inplace import write
from ...autograd.op import Op, Pull
from ...tensor import Tensor
from .._operands import array_api_names, canonical_dim, require_tensor
from .._out import accepts_out
from ..elementwise.arithmetic import div
from ..elementwise.comparison import where
from ._index import check_bounds, index_tensor, require_long
from .gather_scatter import check_along, gather_op, scatter, scatter_add
from .index_slices import slices_arguments
from .indexing import index_put_, write_at

METHODS = ("scatter_reduce", "scatter_reduce_", "index_reduce", "index_reduce_", "put", "put_")


def _extremum_pull(g: Tensor, y: Tensor, x: Tensor, index: Tensor, source: Tensor, axis: int) -> tuple[Tensor, None, Tensor]:
    """The elements that tie for the extremum share its gradient evenly."""
    peak = y.detach()
    from_x = ((x == peak) | (x.isnan() & peak.isnan())).to(g.dtype)
    there = gather_op(peak, index, axis=axis)
    from_source = ((source == there) | (source.isnan() & there.isnan())).to(g.dtype)
    share = g / scatter_add(from_x, axis, index, from_source).clamp(min=1)
    return share * from_x, None, gather_op(share, index, axis=axis) * from_source


def _product_pull(g: Tensor, y: Tensor, x: Tensor, index: Tensor, source: Tensor, axis: int) -> tuple[Tensor, None, Tensor]:
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


def _scatter_reduce_rule(needs: Any, x: Tensor, index: Tensor, source: Tensor, *, axis: int, reduce: str) -> Pull:
    pull = _product_pull if reduce == "prod" else _extremum_pull
    return lambda g, y: pull(g, y, x, index, source, axis)


_scatter_reduce = Op("scatter_reduce", _scatter_reduce_rule, keeps=True)
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


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


def _reduced(x: Tensor, axis: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
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
    count = scatter(own.new_full(own.shape, int(include_self), dtype=_dtypes.int32), axis, index, one, reduce="add").clamp(min=1)
    total = scatter_add(x, axis, index, source)
    if _dtypes.is_differentiable(x.dtype):
        return total / count.to(x.dtype)
    return div(total, count, rounding_mode="floor").to(x.dtype)


@accepts_out
@array_api_names
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` with `src` combined by `reduce` ('sum', 'prod', 'mean', 'amax', 'amin') where `gather` would read.

    Without `include_self` the elements that are written to do not take part themselves. Elements that tie for an extremum
    share its gradient. Raises IndexError out of range, RuntimeError for shapes and dtypes that do not fit.
    """
    axis = canonical_dim(dim, require_tensor("scatter_reduce", input)._array.ndim)
    if reduce not in _REDUCTIONS:
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
    return _reduced(input, axis, index, source, reduce, include_self)


@array_api_names
def scatter_reduce_(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`scatter_reduce` into this tensor itself."""
    return write(self, lambda old: scatter_reduce(old, dim, index, src, reduce, include_self=include_self))


@accepts_out
@array_api_names
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` with the slices `source` combined by `reduce` ('prod', 'mean', 'amax', 'amin') with those along `dim` that the
    vector `index` names; otherwise as `scatter_reduce`.
    """
    if reduce not in _REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if require_tensor("index_reduce", input)._array.ndim == 0 and source._array.ndim == 0:
        return index_reduce(input.clone().reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce,
                            include_self=include_self).reshape(())
    index, axis = slices_arguments("index_reduce", input, dim, index, source)
    spread = index.reshape([-1 if d == axis else 1 for d in range(input.ndim)]).expand(source.shape)
    return _reduced(input, axis, spread, source, reduce, include_self)


@array_api_names
def index_reduce_(self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`index_reduce` into this tensor itself."""
    return write(self, lambda old: index_reduce(old, dim, index, source, reduce, include_self=include_self))


def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write the elements of `source` to the positions `index` of this tensor, counted as if it were flat; -1 is the last.

    With `accumulate` they are added; repeated indices add up. Raises IndexError out of range, RuntimeError for other dtypes
    or numbers of elements.
    """
    require_long("put_", index)
    index = index_tensor("put_", index, self)
    if source.dtype != self.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{type_name(self.dtype)} and source.dtype = {type_name(source.dtype)}")
    if index.numel() != source.numel():
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                         f"{source.numel()}, index.numel() = {index.numel()}")
    size = self._array.size
    check_bounds(index._array, -size, size, "out of range: tried to access index {value} on a tensor of {limit} elements.")
    if index.numel() == 0:
        return self
    if self.ndim != 1 and self.is_contiguous():
        self.reshape(-1).put_(index, source, accumulate)  # a view
        return self
    coordinates, source = [index.reshape(-1).to(_dtypes.int64)], source.reshape(-1)
    if self.ndim > 1:  # not one vector in memory
        rest = where(coordinates[0] < 0, coordinates[0] + size, coordinates[0])
        coordinates = []
        for length in reversed(self._array.shape):
            coordinates.insert(0, rest % length)
            rest = rest // length
    if accumulate:
        return index_put_(self, coordinates, source, True)
    return write_at(self, tuple(place._array for place in coordinates), source)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """`put_` into a copy of `input`."""
    return put_(require_tensor("put", input).clone(), index, source, accumulate)
