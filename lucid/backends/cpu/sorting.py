"""CPU arrays in order: large ones by our radix sort, small ones by NumPy."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import sizes
from ..common import sorting
from ..half_precision import HALVES, wide
from ..merge import merge
from .indexing.elements import along, gather

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

_NARROW = 1 << 32  # keys below are sorted in one go
_SORTED_GROUPS = 8  # of columns of rows; rows of more are compared as strings of bytes

_shared = SimpleNamespace(**sorting.table(np))


def _kernels() -> Any:
    from lucid_kernels.cpu.indexing import sort as indexing_sort

    return indexing_sort


def _last(x: Array, axis: int) -> Array:
    """`x` with `axis` last. NumPy's function takes 3 us even where it is."""
    return x if axis == x.ndim - 1 else np.moveaxis(x, axis, -1)


def _keys(x: Array, axis: int, descending: bool, least: int = sizes.MANY) -> tuple[Array, bool] | None:
    """Keys of the elements with `axis` last, and whether they are wide; None for what NumPy has to sort, such as fewer than
    `least` in short rows.
    """
    if (x.size < least and x.shape[axis] < sizes.SORT_LONG_ROW) or x.shape[axis] >= _NARROW:
        return None
    rows = _last(wide(x), axis)
    if rows.dtype.kind == "f":
        return _kernels().float_keys(rows, descending), rows.itemsize > 4
    if rows.dtype.kind not in "iub":
        return None
    low, high = int(rows.min()), int(rows.max())
    return _kernels().integer_keys(rows, low, high, descending), high - low >= _NARROW


def _in_place(rows: Array, axis: int) -> Array:
    """`rows` with their last axis as `axis`, in row-major order."""
    return rows if axis == rows.ndim - 1 else np.ascontiguousarray(np.moveaxis(rows, -1, axis))


def _order(keys: Array, wide_keys: bool, axis: int) -> Array:
    """The indices of the keys, which are overwritten, along their last axis, in the order of `axis`."""
    positions = _kernels().order(keys.reshape(-1, keys.shape[-1]), wide_keys)
    return _in_place(positions.reshape(keys.shape), axis)


def argsort(x: Array, axis: int) -> Array:
    """A permutation along `axis` that sorts."""
    found = _keys(x, axis, False)
    return np.argsort(x, axis) if found is None else _order(*found, axis)


def sort(x: Array, *, axis: int, descending: bool) -> Any:
    """The elements in order along `axis`, and where they were."""
    found = _keys(x, axis, descending)
    if found is None:
        indices = sorting.order(np.ndarray.argsort, x, axis, descending)
        return along(x, indices, axis), indices
    indices = _order(*found, axis)
    return gather(x, indices, axis=axis), indices


def topk(x: Array, *, k: int, axis: int, largest: bool) -> Any:
    """The first `k` of `sort`, without sorting all."""
    found = _keys(x, axis, largest, sizes.SORT_LONG_ROW) if k else None
    if found is None:
        indices = _first_by_numpy(x, k, axis, largest)
        return along(x, indices, axis), indices
    keys, wide_keys = found
    if wide_keys or not _kernels().suits_first(keys.shape[-1], k):
        indices = np.ascontiguousarray(_order(keys, wide_keys, axis)[(*(slice(None),) * axis, slice(k))])
    else:
        positions = _kernels().first(keys.reshape(-1, keys.shape[-1]), k)
        indices = _in_place(positions.reshape(*keys.shape[:-1], k), axis)
    return gather(x, indices, axis=axis), indices


def _first_by_numpy(x: Array, k: int, axis: int, largest: bool) -> Array:
    """Where the first `k` are."""
    lead, length = (slice(None),) * axis, x.shape[axis]
    if not 0 < 4 * k < length or x.size <= sizes.PARTITION_FROM:
        return sorting.order(np.ndarray.argsort, x, axis, largest)[(*lead, slice(k))]
    keys = wide(x)
    parts = (np.argpartition(keys, length - k, axis)[(*lead, slice(length - k, None))] if largest else
             np.argpartition(keys, k - 1, axis)[(*lead, slice(k))])
    parts = np.sort(parts, axis)  # so that equal elements come in the order of their indices
    return along(parts, sorting.order(np.ndarray.argsort, along(x, parts, axis), axis, largest), axis)


def lexsort(rows: Array) -> Array:
    """The stable permutation that sorts the rows of a matrix; the first column counts most."""
    found = _keys(rows, 1, False)
    if found is None:
        return _shared.lexsort(rows)
    keys, _ = found
    bits = max(int(keys.max()).bit_length(), 1)
    together = 64 // bits  # columns that share a key
    groups = [keys[:, i:i + together] for i in range(0, keys.shape[1], together)]
    if len(groups) > _SORTED_GROUPS:
        size = next(size for size in (1, 2, 4, 8) if 8 * size >= bits)
        text = np.ascontiguousarray(keys.astype(f">u{size}"))
        return np.argsort(text.view(f"S{size * keys.shape[1]}").reshape(-1), kind="stable")
    positions: Any = None
    for group in reversed(groups):
        joined = np.zeros(len(keys), np.uint64)
        for column in group.T:
            joined <<= np.uint64(bits % 64)  # the only column of 64 bits needs no place
            joined |= column
        joined = joined if positions is None else joined[positions]
        found_order = _order(joined[None], bits * group.shape[1] > 32, 1)[0]
        positions = found_order if positions is None else positions[found_order]
    return positions


def searchsorted(edges: Array, values: Array, *, right: bool) -> Array:
    """For rows of sorted `edges` (rows, m), or one vector (m,), the positions of `values` (rows, n) or (any shape)."""
    kind: Any = np.float32 if edges.dtype in HALVES else np.int64 if edges.dtype.kind == "i" else edges.dtype
    few = values.size < sizes.MANY and (edges.ndim == 1 or len(edges) < sizes.SEARCH_FEW_ROWS)
    if few or edges.dtype != values.dtype or np.dtype(kind).char not in "fdl":
        return _search_by_rows(wide(edges), wide(values), "right" if right else "left")
    from lucid_kernels.cpu.indexing import searchsorted as indexing_searchsorted

    lines, wanted = (array.astype(kind, copy=False) for array in (edges, values))
    if edges.ndim == 1:
        lines, wanted = lines[None], wanted.reshape(1, -1)
    return indexing_searchsorted.search(lines, wanted, right=right).reshape(values.shape)


def _search_by_rows(edges: Array, values: Array, side: Any) -> Array:
    if edges.ndim == 1:
        return np.asarray(np.searchsorted(edges, values.reshape(-1), side)).reshape(values.shape)
    found: Array = np.empty(values.shape, np.int64)
    for positions, row, wanted in zip(found, edges, values, strict=True):
        positions[:] = row.searchsorted(wanted, side)
    return found


def bincount(x: Array, weights: Array | None, *, minlength: int) -> Array:
    """How often each number occurs, or the sums of its weights."""
    if weights is None and x.size >= sizes.MANY and x.flags.c_contiguous:
        length = max(minlength, int(x.max()) + 1)
        if length <= sizes.COUNT_FEW:
            from lucid_kernels.cpu.indexing import histogram

            return histogram.count(x, length)
    return _shared.bincount(x, weights, minlength=minlength)


def count_bins(x: Array, edges: Array | None, *, low: float, high: float, bins: int) -> Array:
    """How many elements of `x` (n,) are in each of `bins` equal bins between `low` and `high`, the last with its right edge."""
    if x.size < sizes.MANY or bins > sizes.COUNT_FEW or x.dtype.char not in "fd":
        return _shared.count_bins(x, edges, low=low, high=high, bins=bins)
    from lucid_kernels.cpu.indexing import histogram

    return histogram.count_bins(x, edges, low=low, high=high, bins=bins)


TABLE: dict[str, Kernel] = merge(
    {"median": _shared.median},
    {function.__name__: function for function in (argsort, bincount, count_bins, lexsort, searchsorted, sort, topk)})
