"""Elements and slices by index on the CPU: NumPy's ways for a few, our kernels for many."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime.allocator import empty

from ..families import MANY
from ..half_precision import HALVES, wide
from .bits import BITS, as_bits
from .copies import fill_with

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

# As MANY, for elements of arrays of several dimensions that are read, and combined: NumPy gets an index for each dimension.
_MANY_READ, _MANY_COMBINED = 1 << 10, 1 << 8
# The same for elements of vectors, at which NumPy's `take` and `add.at` are good.
_LONG_READ, _LONG_ADDED = 1 << 13, 1 << 15
# As MANY, for numbers in slices that are added: of a thousand slices of 8 numbers `add.at` takes six times as long.
_MANY_ADDED = 1 << 10
# As MANY, for the rows of bags: of 128 rows of 16 numbers NumPy's sums take ten times as long as the kernel's.
_LARGE_BAGS = 1 << 8
# Bytes of slices that are selected, and of one of them, from which on a kernel is faster than NumPy.
_LARGE_SELECTION, _LONG_SLICE = 1 << 19, 1 << 5
_WHOLE = slice(None)
_FEW = 1 << 14  # numbers whose counts stay in the L2 cache, four times over
_FEW_ROWS = 16  # to search, a call of NumPy's for each
_ADDED = frozenset(np.dtype(kind) for kind in ("f4", "f8", "i4", "i8"))  # whose sums a kernel is compiled for


def _kernels() -> Any:
    from lucid_kernels.cpu.indexing import gather_scatter  # compiles with Numba: imported with the first many indices

    return gather_scatter


def scatter_add(array: Array, index: Any, values: Any) -> None:
    """Add `values` (or a number) at `index`, in place; many slices by our kernel: `add.at` takes 10 to 40 times as long."""
    slices = None
    if isinstance(values, np.ndarray) and _are_added(values, array.ndim, array.dtype) and array.flags.c_contiguous:
        slices = _slices(array.shape, index if isinstance(index, tuple) else (index,))
    if slices is None:
        np.add.at(array, index, values)
        return
    first, last, places = slices
    lead, rest = array.shape[:first], array.shape[last:]
    shape = (*lead, *places.shape, *rest)
    if values.shape != shape:
        values = np.broadcast_to(values, shape)
    _add_slices(array.reshape(*lead, -1, *rest), places.reshape(-1), values.reshape(*lead, places.size, *rest), first)


def _are_added(values: Array, ndim: int, dtype: np.dtype) -> bool:
    """Whether our kernels add `values` to slices of a contiguous array of `ndim` dimensions."""
    return values.size >= (_LONG_ADDED if ndim == 1 else _MANY_ADDED) and dtype in _ADDED and values.dtype == dtype


def _add_slices(array: Array, indices: Array, values: Array, axis: int) -> None:
    """Add `values` to the slices along `axis` that `indices` name, none negative or out of range, in place."""
    if array.ndim == 1:
        _combined(array, indices, values, axis, _kernels().ADD)
        return
    from lucid_kernels.cpu.arrays import layout as arrays_layout
    from lucid_kernels.cpu.indexing import index_add as kernels

    kernels.scatter_add(array, indices, arrays_layout.contiguous(values), axis)


def _slices(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[int, int, Array] | None:
    """An index that has vectors for dimensions first to last, and all of the others, as one for these dimensions together.

    None for other indices, those out of range among them.
    """
    dims = [dim for dim, item in enumerate(index) if isinstance(item, np.ndarray)]
    others = [item for item in index if not isinstance(item, np.ndarray)]
    if not dims or dims[-1] - dims[0] >= len(dims) or any(item != _WHOLE for item in others):
        return None
    places: Any = 0
    for dim in dims:
        given, length = index[dim], shape[dim]
        if given.dtype.kind not in "iu" or not given.size:
            return None
        if not _are_below(length, given):
            if not -length <= given.min() <= given.max() < length:
                return None
            given = np.where(given < 0, given + length, given)
        given = given.astype(np.int64, copy=False)
        places = places * length + given if dim != dims[0] else given
    return dims[0], dims[-1] + 1, places


def _are_below(length: int, indices: Array) -> bool:
    """Whether all indices are from 0 to below `length`: as unsigned numbers, negative ones are too large as well."""
    return bool(np.maximum.reduce(indices.view(f"u{indices.itemsize}"), axis=None) < length)


def _slices_of(indices: Array, axis: int, *shapes: tuple[int, ...]) -> Array | None:
    """The vector of `indices` that are the same for all elements of a slice along `axis`, of arrays with these shapes: an index
    (n, 1) expanded to (n, m). None for others.
    """
    if not indices.size:
        return None
    for dim, (step, length) in enumerate(zip(indices.strides, indices.shape)):
        if dim != axis and (step or any(shape[dim] != length for shape in shapes)):
            return None
    return indices[tuple(_WHOLE if dim == axis else 0 for dim in range(indices.ndim))]


def _selected(x: Array, indices: Array, axis: int, checked: bool = True) -> Array | None:
    """``x.take(indices, axis)`` by our kernels; None where NumPy's is as fast, and for indices out of range; `checked` ones are
    none, and not negative.
    """
    if indices.size * x.nbytes < _LARGE_SELECTION * x.shape[axis] or math.prod(x.shape[axis + 1 :]) * x.itemsize < _LONG_SLICE:
        return None
    one_number = not any(x.strides)  # the gradient of a sum
    if not one_number and not x.flags.c_contiguous:
        return None
    if not checked:
        found = _slices(x.shape, (*(_WHOLE,) * axis, indices))
        if found is None:
            return None
        indices = found[2]
    from lucid_kernels.cpu.arrays import broadcast
    from lucid_kernels.cpu.indexing import index_select

    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if one_number:
        return broadcast.written_out(broadcast.distinct(x), shape)
    places = np.ascontiguousarray(indices.reshape(-1), np.int64)
    selected: Array = index_select.index_select(x, places, axis)
    return selected.reshape(shape)


def table(plain: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones, which serve few indices and unusual shapes and dtypes."""
    plain_gather, plain_grad, plain_scatter, plain_reduce, copy = (
        plain[name] for name in ("gather", "gather_grad", "scatter", "scatter_reduce", "copy")
    )
    plain_sums, plain_maxima, plain_bincount = (plain[name] for name in ("bag_sums", "bag_maxima", "bincount"))
    plain_search, plain_bins, plain_put = (plain[name] for name in ("searchsorted", "count_bins", "index_put"))
    plain_getitem, plain_select, plain_select_grad, plain_add, plain_embedding = (
        plain[name] for name in ("getitem", "index_select", "index_select_grad", "index_add", "embedding")
    )

    def zeros(shape: tuple[int, ...], dtype: Any) -> Array:
        return fill_with(empty(shape, dtype), 0)

    def getitem(x: Array, *, index: tuple[Any, ...]) -> Array:
        *lead, last = index
        selected = None
        if last.__class__ is np.ndarray and last.dtype.kind != "b" and all(item.__class__ is slice for item in lead):
            selected = _selected(x, last, len(lead), checked=False) if all(item == _WHOLE for item in lead) else None
        return plain_getitem(x, index=index) if selected is None else selected

    def index_select(x: Array, indices: Array, *, axis: int) -> Array:
        selected = _selected(x, indices, axis)
        return plain_select(x, indices, axis=axis) if selected is None else selected

    def index_add(x: Array, indices: Array, source: Array, *, axis: int, out: Array | None = None) -> Array:
        result = copy(x) if out is None else out
        if not _are_added(source, x.ndim, x.dtype) or not result.flags.c_contiguous:
            return plain_add(x, indices, source, axis=axis, out=result)
        _add_slices(result, indices, source, axis)
        return result

    def index_select_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
        if not _are_added(g, len(shape), g.dtype):
            return plain_select_grad(g, indices, shape=shape, axis=axis)
        result = zeros(shape, g.dtype)
        _add_slices(result, indices, g, axis)
        return result

    def embedding(weight: Array, indices: Array, *, padding_idx: int | None) -> Array:
        selected = _selected(weight, indices, 0)
        return plain_embedding(weight, indices, padding_idx=padding_idx) if selected is None else selected

    def gather(x: Array, indices: Array, *, axis: int) -> Array:
        if x.size and not any(x.strides):  # one number: the gradient of a sum
            return copy(np.broadcast_to(x[(0,) * x.ndim], indices.shape))
        if indices.ndim > 1:
            slices = _slices_of(indices, axis, x.shape)
            if slices is not None:
                return index_select(x, slices, axis=axis)
        bits = BITS.get(x.itemsize)
        many = indices.size >= (_LONG_READ if x.ndim == 1 else _MANY_READ)
        large = many and (x.flags.c_contiguous or x.size <= 4 * indices.size)
        view = _kernels().view_of(x.shape, indices.shape, axis) if large and bits else None
        if view is None:
            return plain_gather(x, indices, axis=axis)
        result: Array = _kernels().gather(as_bits(x, bits), indices.astype(np.int64, copy=False), view)
        return result.view(x.dtype)

    def gather_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
        if indices.size < _least(indices):
            return plain_grad(g, indices, shape=shape, axis=axis)
        result = zeros(shape, g.dtype)
        return scatter(result, indices, g, axis=axis, accumulate=True, out=result)

    def scatter(x: Array, indices: Array, source: Any, *, axis: int, accumulate: bool = False, out: Array | None = None) -> Array:
        if indices.size < _least(indices):
            return plain_scatter(x, indices, source, axis=axis, accumulate=accumulate, out=out)
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
                scatter_add(result, (*(_WHOLE,) * axis, slices), source)
                return result
        kind = _kernels().ADD if accumulate else _kernels().WRITE
        if not _combined(result, indices, source, axis, kind):
            plain_scatter(result, indices, source, axis=axis, accumulate=accumulate, out=result)
        return result

    def scatter_reduce(x: Array, indices: Array, source: Array, *, axis: int, reduce: str) -> Array:
        if indices.size >= _least(indices):
            kinds = {"prod": _kernels().MULTIPLY, "amax": _kernels().LARGEST, "amin": _kernels().SMALLEST}
            result = copy(wide(x))
            if _combined(result, indices, wide(source), axis, kinds[reduce]):
                return result.astype(x.dtype, copy=False)
        return plain_reduce(x, indices, source, axis=axis, reduce=reduce)

    def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
        result = copy(x) if out is None else out
        if accumulate or not _put_elements(result, values, index):
            return plain_put(x, values, index=index, accumulate=accumulate, out=result)
        return result

    def bag_sums(weight: Array, indices: Array, offsets: Array, factors: Array | None, scale: Array | None) -> Array:
        if indices.size * weight.shape[1] < _LARGE_BAGS or weight.dtype in HALVES:
            return plain_sums(weight, indices, offsets, factors, scale)
        from lucid_kernels.cpu.indexing import embedding_bag as kernels

        return kernels.sum_bags(weight, indices, offsets, factors)

    def bag_maxima(weight: Array, indices: Array, offsets: Array) -> Array:
        if indices.size * weight.shape[1] < _LARGE_BAGS or weight.dtype in HALVES:
            return plain_maxima(weight, indices, offsets)
        from lucid_kernels.cpu.indexing import embedding_bag as kernels

        return kernels.find_maxima(weight, indices, offsets)

    def bincount(x: Array, weights: Array | None, *, minlength: int) -> Array:
        if weights is None and x.size >= MANY and x.flags.c_contiguous:
            length = max(minlength, int(x.max()) + 1)
            if length <= _FEW:
                from lucid_kernels.cpu.indexing import histogram

                return histogram.count(x, length)
        return plain_bincount(x, weights, minlength=minlength)

    def count_bins(x: Array, edges: Array | None, *, low: float, high: float, bins: int) -> Array:
        if x.size < MANY or bins > _FEW or x.dtype.char not in "fd":
            return plain_bins(x, edges, low=low, high=high, bins=bins)
        from lucid_kernels.cpu.indexing import histogram

        return histogram.count_bins(x, edges, low=low, high=high, bins=bins)

    def searchsorted(edges: Array, values: Array, *, right: bool) -> Array:
        kind: Any = np.float32 if edges.dtype in HALVES else np.int64 if edges.dtype.kind == "i" else edges.dtype
        few = values.size < MANY and (edges.ndim == 1 or len(edges) < _FEW_ROWS)
        if few or edges.dtype != values.dtype or np.dtype(kind).char not in "fdl":
            return plain_search(edges, values, right=right)
        from lucid_kernels.cpu.indexing import searchsorted as indexing_searchsorted

        lines, wanted = (array.astype(kind, copy=False) for array in (edges, values))
        if edges.ndim == 1:
            lines, wanted = lines[None], wanted.reshape(1, -1)
        return indexing_searchsorted.search(lines, wanted, right=right).reshape(values.shape)

    entries: list[Kernel] = [getitem, index_select, index_select_grad, index_add, embedding, count_bins, searchsorted, bincount,
                             bag_sums, bag_maxima, gather, gather_grad, scatter, scatter_reduce, index_put]
    return {function.__name__: function for function in entries}


def _least(indices: Array) -> int:
    """The number of indices from which on a kernel combines elements."""
    return MANY if indices.ndim == 1 else _MANY_COMBINED


def _put_elements(result: Array, values: Any, index: Any) -> bool:
    """Whether our kernel has written `values`, an array or a number, at places that name elements of the last dimension.

    NumPy goes along the other dimensions first, in steps of a row: 5 to 7 times the time. Whole rows and elements of a vector
    it writes well.
    """
    if result.ndim < 2 or not isinstance(index, tuple) or not isinstance(index[-1], np.ndarray):
        return False
    others = [length for length, item in zip(result.shape, index) if not isinstance(item, np.ndarray)]
    if index[-1].size * math.prod(others) < MANY:
        return False
    slices = _slices(result.shape, index)
    if slices is None or slices[1] != result.ndim:
        return False
    first, _, places = slices
    shape = (*result.shape[:first], places.size)
    if isinstance(values, np.ndarray) and values.ndim:
        try:
            values = np.broadcast_to(values, (*shape[:-1], *places.shape)).reshape(shape)
        except ValueError:  # NumPy drops leading dimensions of length 1, or says what is wrong
            return False
    flat = result.reshape(*shape[:-1], -1) if result.flags.c_contiguous else result
    return _combined(flat, np.broadcast_to(places.reshape(-1), shape), values, first, _kernels().WRITE)


def _combined(result: Array, indices: Array, source: Any, axis: int, kind: int) -> bool:
    """Whether our kernel has combined `source`, an array or a number, with the elements of `result` at the indices."""
    kernels = _kernels()
    bits = result.dtype if result.dtype in _ADDED else BITS.get(result.itemsize) if kind == kernels.WRITE else None
    view = kernels.view_of(result.shape, indices.shape, axis)
    values = np.asarray(source, result.dtype)
    if bits is None or view is None or not result.flags.c_contiguous or values.shape not in ((), indices.shape):
        return False
    values, indices = (array.copy() if np.may_share_memory(array, result) else array for array in (values, indices))
    values = as_bits(values, bits).reshape(values.shape)
    kernels.scatter(as_bits(result, bits), indices.astype(np.int64, copy=False), values, view, kind)
    return True
