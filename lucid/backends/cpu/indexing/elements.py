"""Elements and slices by index on the CPU: by NumPy for a few, by our kernels for many."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from lucid_kernels.cpu.arrays import broadcast

from ... import sizes
from ...common import indexing
from ...half_precision import HALVES, wide
from ...merge import merge
from ..bits import BITS, as_bits
from ..copies import copy
from ..creation import zeros
from . import masks
from .scatter import WHOLE, add_slices, are_added, combine, kernels, scatter_add, slices_of_index

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]


_FEW = 32  # indices that take no longer one by one than as slices
_shared = SimpleNamespace(**indexing.table(np, scatter_add, np.ufunc.at))


def getitem(x: Array, *, index: tuple[Any, ...]) -> Array:
    """``x[index]``, rows and columns by `take`, which is several times as fast."""
    if not index or index[-1].__class__ is not np.ndarray:  # views, which come often
        return x[index]
    if masks.is_large(index):
        return masks.select(x, index[0])
    *lead, last = index
    if last.dtype.kind == "b" or not all(item.__class__ is slice and item == WHOLE for item in lead):
        return x[index]
    selected = _selected(x, last, len(lead), checked=False)
    if selected is not None:
        return selected
    if lead and not x.flags.c_contiguous:  # `take` would copy all first
        return np.ascontiguousarray(x[index])
    return x.take(last, axis=len(lead))


def index_select(x: Array, indices: Array, *, axis: int) -> Array:
    """The slices of `x` along `axis` that `indices` name."""
    selected = _selected(x, indices, axis)
    return x.take(indices, axis=axis) if selected is None else selected


def index_add(x: Array, indices: Array, source: Array, *, axis: int, out: Array | None = None) -> Array:
    """`x` with the slices of `source` along `axis` added where `indices` say."""
    result = copy(x) if out is None else out
    if not are_added(source, x.ndim, x.dtype) or not result.flags.c_contiguous:
        return _shared.index_add(x, indices, source, axis=axis, out=result)
    add_slices(result, indices, source, axis)
    return result


def index_select_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
    """Zeros of `shape` with the slices of `g` added where `index_select` would read."""
    if not are_added(g, len(shape), g.dtype):
        return _shared.index_select_grad(g, indices, shape=shape, axis=axis)
    result = zeros(shape, g.dtype)
    add_slices(result, indices, g, axis)
    return result


def embedding(weight: Array, indices: Array, *, padding_idx: int | None) -> Array:
    """The rows of `weight` named by `indices` of any shape; `padding_idx` matters to the gradient only."""
    selected = _selected(weight, indices, 0)
    return weight.take(indices, axis=0) if selected is None else selected


def along(x: Array, indices: Array, axis: int) -> Array:
    """`gather` for a few indices."""
    shape = indices.shape
    if axis != x.ndim - 1 or axis > 1 or not x.size or not x.flags.c_contiguous:
        return _shared.gather(x, indices, axis=axis)
    if axis and shape[0] != 1:  # of a few rows, indices in memory take half of the time
        indices = indices + _beginnings(shape[0], x.shape[1])
    return x.take(indices)


@functools.lru_cache(maxsize=32)  # of few rows: to make them takes as long as the rest
def _beginnings(rows: int, columns: int) -> Array:
    """Where the rows of a matrix begin, as a column."""
    return np.arange(0, rows * columns, columns)[:, None]


def gather(x: Array, indices: Array, *, axis: int) -> Array:
    """`take_along_axis` for indices that may be shorter than `x` along the other axes."""
    if x.size and not any(x.strides):  # one number: the gradient of a sum
        return copy(np.broadcast_to(x[(0,) * x.ndim], indices.shape))
    if indices.ndim > 1 and indices.size >= _FEW:
        slices = _slices_of(indices, axis, x.shape)
        if slices is not None:
            return index_select(x, slices, axis=axis)
    bits = BITS.get(x.itemsize)
    many = indices.size >= (sizes.GATHER_OF_VECTOR_FROM if x.ndim == 1 else sizes.GATHER_FROM)
    large = many and (x.flags.c_contiguous or x.size <= 4 * indices.size)
    view = kernels().view_of(x.shape, indices.shape, axis) if large and bits else None
    if view is None:
        return along(x, indices, axis)
    result: Array = kernels().gather(as_bits(x, bits), indices.astype(np.int64, copy=False), view)
    return result.view(x.dtype)


def gather_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int, unique: bool = False) -> Array:
    """Zeros of `shape` with `g` added where `gather` would read; `unique` says that no element is named twice."""
    if indices.size < _least(indices):
        return _shared.gather_grad(g, indices, shape=shape, axis=axis, unique=unique)
    result = zeros(shape, g.dtype)
    return scatter(result, indices, g, axis=axis, accumulate=not unique, out=result)


def scatter(x: Array, indices: Array, source: Any, *, axis: int, accumulate: bool = False, out: Array | None = None) -> Array:
    """`x` with `source` (or a Python number) where `gather` would read; `accumulate` adds to what is there."""
    if indices.size < _least(indices):
        return _shared.scatter(x, indices, source, axis=axis, accumulate=accumulate, out=out)
    if accumulate and x.dtype in HALVES:  # summed in float32, rounded once
        total = scatter(wide(x), indices, wide(np.asarray(source)), axis=axis, accumulate=True)
        if out is None:
            return total.astype(x.dtype)
        out[...] = total
        return out
    result = copy(x) if out is None else out
    if accumulate and indices.ndim > 1 and isinstance(source, np.ndarray) and source.shape == indices.shape:
        slices = _slices_of(indices, axis, x.shape)
        if slices is not None:
            scatter_add(result, (*(WHOLE,) * axis, slices), source)
            return result
    kind = kernels().ADD if accumulate else kernels().WRITE
    if not combine(result, indices, source, axis, kind):
        _shared.scatter(result, indices, source, axis=axis, accumulate=accumulate, out=result)
    return result


def scatter_reduce(x: Array, indices: Array, source: Array, *, axis: int, reduce: str) -> Array:
    """`x` combined with `source` ('prod', 'amax', 'amin') where `gather` would read."""
    if indices.size >= _least(indices):
        kinds = {"prod": kernels().MULTIPLY, "amax": kernels().LARGEST, "amin": kernels().SMALLEST}
        result = copy(wide(x))
        if combine(result, indices, wide(source), axis, kinds[reduce]):
            return result.astype(x.dtype, copy=False)
    return _shared.scatter_reduce(x, indices, source, axis=axis, reduce=reduce)


def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
    """`x` with `values` (or a Python number) at `index`; `accumulate` adds them to what is there."""
    if accumulate:
        return _shared.index_put(x, values, index=index, accumulate=True, out=copy(x) if out is None else out)
    if masks.is_large(index) and not np.ndim(values) and index[0].shape == x.shape:
        return masks.masked_fill(x, index[0], values, out=out)
    result = copy(x) if out is None else out
    if not _put_elements(result, values, index):
        result[index] = values
    return result


def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
    """Zeros of `shape` with `values` added at `index`; `unique` says that no element is named twice."""
    if masks.is_large(index) and values.itemsize in BITS and values.ndim == 1 and index[0].shape == shape:
        return masks.expand(values, index[0])
    return _shared.scatter_new(values, shape=shape, index=index, unique=unique)


def _slices_of(indices: Array, axis: int, *shapes: tuple[int, ...]) -> Array | None:
    """The vector of `indices` that are the same for all elements of a slice along `axis`, of arrays with these shapes: an index
    (n, 1) expanded to (n, m). None for others.
    """
    if not indices.size:
        return None
    for dim, (step, length) in enumerate(zip(indices.strides, indices.shape)):
        if dim != axis and (step or any(shape[dim] != length for shape in shapes)):
            return None
    return indices[tuple(WHOLE if dim == axis else 0 for dim in range(indices.ndim))]


def _selected(x: Array, indices: Array, axis: int, checked: bool = True) -> Array | None:
    """``x.take(indices, axis)`` by our kernels; None where NumPy's is as fast, and for indices out of range; `checked` ones are
    none, and not negative.
    """
    few = indices.size * x.nbytes < sizes.SELECT_BYTES * x.shape[axis]
    if few or math.prod(x.shape[axis + 1 :]) * x.itemsize < sizes.SELECT_SLICE_BYTES:
        return None
    one_number = not any(x.strides)  # the gradient of a sum
    if not one_number and not x.flags.c_contiguous:
        return None
    if not checked:
        found = slices_of_index(x.shape, (*(WHOLE,) * axis, indices))
        if found is None:
            return None
        indices = found[2]
    from lucid_kernels.cpu.indexing import index_select

    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if one_number:
        return broadcast.materialized(broadcast.distinct(x), shape)
    positions = np.ascontiguousarray(indices.reshape(-1), np.int64)
    selected: Array = index_select.index_select(x, positions, axis)
    return selected.reshape(shape)


def _least(indices: Array) -> int:
    """The number of indices from which on a kernel combines elements."""
    return sizes.MANY if indices.ndim == 1 else sizes.COMBINE_FROM


def _put_elements(result: Array, values: Any, index: Any) -> bool:
    """Whether our kernel has written `values`, an array or a scalar, at indices that name elements of the last dimension.

    NumPy goes along the other dimensions first, in steps of a row: 5 to 7 times the time. Whole rows and elements of a vector
    it writes well.
    """
    if result.ndim < 2 or not isinstance(index, tuple) or not isinstance(index[-1], np.ndarray):
        return False
    others = [length for length, item in zip(result.shape, index) if not isinstance(item, np.ndarray)]
    if index[-1].size * math.prod(others) < sizes.MANY:
        return False
    slices = slices_of_index(result.shape, index)
    if slices is None or slices[1] != result.ndim:
        return False
    first, _, positions = slices
    shape = (*result.shape[:first], positions.size)
    if isinstance(values, np.ndarray) and values.ndim:
        try:
            values = np.broadcast_to(values, (*shape[:-1], *positions.shape)).reshape(shape)
        except ValueError:  # NumPy drops leading dimensions of length 1, or says what is wrong
            return False
    flat = result.reshape(*shape[:-1], -1) if result.flags.c_contiguous else result
    return combine(flat, np.broadcast_to(positions.reshape(-1), shape), values, first, kernels().WRITE)


_FUNCTIONS: Sequence[Kernel] = (embedding, gather, gather_grad, getitem, index_add, index_put, index_select, index_select_grad,
                                scatter, scatter_new, scatter_reduce)
TABLE: dict[str, Kernel] = merge(
    {function.__name__: function for function in _FUNCTIONS}, {"take": np.take, "take_along_axis": np.take_along_axis})
