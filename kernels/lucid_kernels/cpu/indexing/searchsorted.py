"""Positions in sorted sequences: binary search of many values at a time, without branches, which no one could foretell."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel

_TOGETHER = 64  # values whose steps alternate, so that none waits for what the last one reads
_EACH = 1 << 12  # values of one iteration
_FEW = 16  # values of a row that are looked for one by one: of a single one the steps of `_TOGETHER` took 4 times as long


@jit_exact
def _search_some(edges: Any, values: Any, positions: Any, right: bool) -> None:
    """For `_TOGETHER` values. Unsigned positions need no check for negative ones: a loop of vectors, a tenth of the time."""
    positions[:] = 0
    size, one, none = np.uint64(edges.shape[0]), np.uint64(1), np.uint64(0)
    while size > none:
        half = (size + one) >> one
        for j in range(_TOGETHER):
            edge, value = edges[positions[j] + half - one], values[j]
            if right:
                beyond = (edge <= value) | (value != value)
            else:
                beyond = (edge < value) | ((value != value) & (edge == edge))
            positions[j] += half if beyond else none
        size -= half


@jit_exact
def _search(edges: Any, values: Any, positions: Any, right: bool) -> None:
    count = values.shape[0]
    found, some = np.empty(_TOGETHER, np.uint64), np.empty(_TOGETHER, values.dtype)
    for start in range(0, count, _TOGETHER):
        rest = min(_TOGETHER, count - start)
        some[:rest] = values[start : start + rest]
        some[rest:] = values[start]
        _search_some(edges, some, found, right)
        for j in range(rest):
            positions[start + j] = np.int64(found[j])


@jit_parallel
def _search_parallel(edges: Any, values: Any, positions: Any, right: bool) -> None:
    pieces = (values.shape[1] + _EACH - 1) // _EACH
    for task in numba.prange(values.shape[0] * pieces):
        row, start = task // pieces, task % pieces * _EACH
        line = edges[row % edges.shape[0]]
        _search(line, values[row, start : start + _EACH], positions[row, start : start + _EACH], right)


@jit_parallel
def _search_few_parallel(edges: Any, values: Any, positions: Any, right: bool) -> None:
    rows, count = values.shape
    each = _EACH // count
    for task in numba.prange((rows + each - 1) // each):
        for row in range(task * each, min(rows, (task + 1) * each)):
            line = edges[row % edges.shape[0]]
            for j in range(count):
                value, position, size = values[row, j], 0, line.shape[0]
                while size > 0:
                    half = (size + 1) >> 1
                    edge = line[position + half - 1]
                    if right:
                        beyond = (edge <= value) | (value != value)
                    else:
                        beyond = (edge < value) | ((value != value) & (edge == edge))
                    position += half if beyond else 0
                    size -= half
                positions[row, j] = position


def search(edges: Array, values: Array, *, right: bool) -> Array:
    """Where each of values (rows, n) would keep its row of sorted edges (rows, m), or (1, m) for all rows, in order: int64
    (rows, n), before equal ones, or with `right` after them; NaN comes last.
    """
    positions = empty(values.shape, np.int64)
    if edges.shape[1] == 0:
        positions.fill(0)
        return positions
    search_parallel = _search_few_parallel if 0 < values.shape[1] < _FEW else _search_parallel
    search_parallel(contiguous(edges), contiguous(values), positions, right)
    return positions
