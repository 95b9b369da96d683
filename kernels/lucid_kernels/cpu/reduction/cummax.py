"""The largest or smallest elements so far along an axis, and their last indices, on all threads.

The array is seen as (outer, C, inner), C the axis, and its units of work are those of `scan`. NumPy needs four passes over the
array and as many of its size: 15 times the time. CuPy has no scan of the kind, so no CUDA twin: `lucid.backends.common.scans`.
"""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, contiguous, tile, tiles
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_inline, jit_parallel

_BLOCK = 64  # elements of a row that are compared at once
_TILE = 512  # columns of a unit of work: what is known of them stays in the L1 cache


@jit_inline
def _replaces(value: Any, best: Any, smallest: bool) -> Any:
    """NaN takes over from everything, and only NaN from it."""
    return (value <= best if smallest else value >= best) | (value != value)


@jit_exact
def _count(row: Any, best: Any, smallest: bool) -> Any:
    """How many elements replace `best`."""
    count = np.int32(0)
    for i in range(row.shape[0]):
        count += np.int32(_replaces(row[i], best, smallest))
    return count


@jit_exact
def _rows(x: Any, values: Any, indices: Any, smallest: bool) -> None:
    """Blocks in which nothing changes are filled; each step of others waits for the one before."""
    for r in range(x.shape[0]):
        best, place = x[r, 0], 0
        for start in range(0, x.shape[1], _BLOCK):
            block = slice(start, min(start + _BLOCK, x.shape[1]))
            row, found, where = x[r, block], values[r, block], indices[r, block]
            if _count(row, best, smallest) == 0:
                found[:] = best
                where[:] = place
                continue
            for i in range(row.shape[0]):
                if _replaces(row[i], best, smallest):
                    best, place = row[i], start + i
                found[i] = best
                where[i] = place


@jit_exact
def _tile(x: Any, values: Any, indices: Any, start: int, stop: int, smallest: bool) -> None:
    """The columns [start, stop) of x (C, inner)."""
    best, where = x[0][start:stop].copy(), np.zeros(stop - start, np.int64)
    for c in range(x.shape[0]):
        row, found, place = x[c][start:stop], values[c][start:stop], indices[c][start:stop]
        for i in range(row.shape[0]):
            value, known, before = row[i], best[i], where[i]
            new = _replaces(value, known, smallest)
            best[i] = found[i] = value if new else known
            where[i] = place[i] = c if new else before


@jit_parallel
def _rows_parallel(x: Any, values: Any, indices: Any, smallest: bool) -> None:
    each = max(1, GRAIN // x.shape[1])
    for i in numba.prange((x.shape[0] + each - 1) // each):
        some = slice(i * each, (i + 1) * each)
        _rows(x[some], values[some], indices[some], smallest)


@jit_parallel
def _planes_parallel(x: Any, values: Any, indices: Any, smallest: bool) -> None:
    for i in numba.prange(x.shape[0] * tiles(x.shape[2], _TILE)):
        n, start, stop = tile(i, x.shape[2], _TILE)
        _tile(x[n], values[n], indices[n], start, stop, smallest)


def running_extremes(x: Array, *, axis: int, smallest: bool) -> tuple[Array, Array]:
    """The largest (smallest) elements of x up to each one along `axis`, and the int64 indices of the last of them.

    Dtypes that Numba knows, any strides, no empty array.
    """
    values, indices = empty(x.shape, x.dtype), empty(x.shape, np.int64)
    axis %= x.ndim
    length, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    kernel, shape = (_planes_parallel, (-1, length, inner)) if inner > 1 else (_rows_parallel, (-1, length))
    kernel(*[array.reshape(shape) for array in (contiguous(x), values, indices)], smallest)
    return values, indices
