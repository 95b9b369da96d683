"""How often each of some small integers appears, and how many elements are in each of some equal bins."""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import Array, contiguous
from ..runtime.jit import jit_exact, jit_parallel

# Counts of neighbouring elements are apart: one that has just been written is not read again before it is in the cache.
_APART = 4


@jit_exact
def _count(x, counts):
    size = x.shape[0] - x.shape[0] % _APART
    for i in range(0, size, _APART):
        for part in range(_APART):
            counts[part, np.uint64(x[i + part])] += 1
    for i in range(size, x.shape[0]):
        counts[0, np.uint64(x[i])] += 1


def count(x: Array, length: int) -> Array:
    """How often 0 to length - 1 appear in x (n,), int64: int64 (length,). All of its elements are among them."""
    counts = np.zeros((_APART, length), np.int64)
    _count(x, counts)
    total: Array = counts.sum(axis=0)
    return total


_BLOCK = 256  # elements whose bins are found, in vectors, before they are counted
_TASKS = 8


@jit_exact
def _count_bins(x, edges, counts, low, high, scale):
    """Count the elements in [low, high] by bins of equal width; next to its own bin an edge decides, where there are edges."""
    bins = counts.shape[1] - 1  # the last count is of the elements outside
    last, found = np.int32(bins - 1), np.empty(_BLOCK, np.int32)
    for start in range(0, x.shape[0], _BLOCK):
        some = x[start : start + _BLOCK]
        for j in range(some.shape[0]):
            value = some[j]
            inside = (value >= low) & (value <= high)
            index = min(np.int32(((value if inside else low) - low) * scale[0] / scale[1]), last)
            if edges.shape[0]:
                index -= np.int32(value < edges[index])
                index = min(np.int32(index + np.int32(value >= edges[index + 1])), last)
            found[j] = index if inside else np.int32(bins)
        for j in range(some.shape[0]):
            counts[j % _APART, np.uint64(found[j])] += 1


@jit_parallel
def _count_bins_parallel(x, edges, counts, limits):
    each = (x.shape[0] + counts.shape[0] - 1) // counts.shape[0]
    for i in numba.prange(counts.shape[0]):
        _count_bins(x[i * each : (i + 1) * each], edges, counts[i], limits[0], limits[1], limits[2:])


def count_bins(x: Array, edges: Array | None, *, low: float, high: float, bins: int) -> Array:
    """How many elements of x (n,) are in each of `bins` equal bins between `low` and `high`, the last one with its right edge:
    int64 (bins,). Without `edges` (bins + 1,) of the dtype of x the bin is what the distance from `low` says, as rounding leaves
    it.
    """
    kind = x.dtype.type
    limits = np.array([low, high, bins, kind(high) - kind(low)], x.dtype)
    counts = np.zeros((_TASKS, _APART, bins + 1), np.int64)
    _count_bins_parallel(contiguous(x), np.empty(0, x.dtype) if edges is None else contiguous(edges), counts, limits)
    total: Array = counts.sum(axis=(0, 1))[:bins]
    return total
