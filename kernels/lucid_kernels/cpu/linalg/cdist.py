"""Distances of all pairs of vectors, of order 1 or 2, and their gradients, without an array of the differences. CuPy makes one:
no CUDA twin.
"""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, contiguous, row_chunk
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel

_TOGETHER = 8  # components that are added before their sum is: fewer reads and writes of it, and fewer roundings in a row


@jit_exact
def _row(x: Any, others: Any, first: int, found: Any, squared: bool) -> None:
    """The distances of x (M,) from the columns of `others` (M, n) from `first` on."""
    found[:] = 0
    size, whole = x.shape[0], x.shape[0] - x.shape[0] % _TOGETHER
    for d in range(0, whole, _TOGETHER):
        x0, x1, x2, x3, x4, x5, x6, x7 = x[d], x[d + 1], x[d + 2], x[d + 3], x[d + 4], x[d + 5], x[d + 6], x[d + 7]
        y0, y1, y2, y3 = others[d, first:], others[d + 1, first:], others[d + 2, first:], others[d + 3, first:]
        y4, y5, y6, y7 = others[d + 4, first:], others[d + 5, first:], others[d + 6, first:], others[d + 7, first:]
        for j in range(found.shape[0]):
            d0, d1, d2, d3 = y0[j] - x0, y1[j] - x1, y2[j] - x2, y3[j] - x3
            d4, d5, d6, d7 = y4[j] - x4, y5[j] - x5, y6[j] - x6, y7[j] - x7
            if squared:
                found[j] += (d0 * d0 + d1 * d1 + (d2 * d2 + d3 * d3)) + (d4 * d4 + d5 * d5 + (d6 * d6 + d7 * d7))
            else:
                found[j] += (abs(d0) + abs(d1) + (abs(d2) + abs(d3))) + (abs(d4) + abs(d5) + (abs(d6) + abs(d7)))
    for d in range(whole, size):
        at, line = x[d], others[d, first:]
        for j in range(found.shape[0]):
            delta = line[j] - at
            found[j] += delta * delta if squared else abs(delta)
    if squared:
        for j in range(found.shape[0]):
            found[j] = math.sqrt(found[j])


@jit_parallel
def _rows_parallel(x: Any, others: Any, found: Any, squared: bool, packed: bool) -> None:
    rows, length = x.shape[1], others.shape[2]
    each = row_chunk(x.shape[2] * length)
    for task in numba.prange((x.shape[0] * rows + each - 1) // each):
        for n in range(task * each, min(x.shape[0] * rows, (task + 1) * each)):
            batch, i = n // rows, n % rows
            if packed:  # the pairs (i, j) with j > i
                first = i * (2 * rows - i - 1) // 2
                _row(x[batch, i], others[batch], i + 1, found[batch, first : first + rows - 1 - i], squared)
            else:
                _row(x[batch, i], others[batch], 0, found[batch, i * length : (i + 1) * length], squared)


@jit_exact
def _slope(slopes: Any, i: int, j: int, rows: int, count: int, packed: bool) -> float:
    """That of the pair (i, j). `packed` are those of i < j in order."""
    if not packed:
        return slopes[i * count + j]
    low, high = min(i, j), max(i, j)
    return slopes[low * (2 * rows - low - 1) // 2 + high - low - 1]


@jit_exact
def _share(slope: float, delta: float, squared: bool) -> float:
    """What one pair gives: the slope times the difference, or its sign."""
    if squared:
        return slope * delta
    return slope if delta > 0 else (-slope if delta < 0 else slope * delta)


@jit_exact
def _add(slopes: Any, x: Any, others: Any, i: int, rows: int, total: Any, squared: bool, packed: bool, low: int, high: int
         ) -> None:
    """Add to `total` what the pairs of x (M,), the vector `i` of `rows`, with others[low:high] give."""
    count = others.shape[0]
    whole = high - (high - low) % 4
    for j in range(low, whole, 4):
        s0, s1 = _slope(slopes, i, j, rows, count, packed), _slope(slopes, i, j + 1, rows, count, packed)
        s2, s3 = _slope(slopes, i, j + 2, rows, count, packed), _slope(slopes, i, j + 3, rows, count, packed)
        y0, y1, y2, y3 = others[j], others[j + 1], others[j + 2], others[j + 3]
        for d in range(total.shape[0]):
            near = _share(s0, x[d] - y0[d], squared) + _share(s1, x[d] - y1[d], squared)
            total[d] += near + (_share(s2, x[d] - y2[d], squared) + _share(s3, x[d] - y3[d], squared))
    for j in range(whole, high):
        slope, other = _slope(slopes, i, j, rows, count, packed), others[j]
        for d in range(total.shape[0]):
            total[d] += _share(slope, x[d] - other[d], squared)


@jit_exact
def _pull(slopes: Any, x: Any, others: Any, i: int, rows: int, total: Any, squared: bool, packed: bool) -> None:
    """The gradient of x (M,), the vector `i` of `rows`, from the slopes of its distances from others (n, M)."""
    total[:] = 0
    count = others.shape[0]
    if packed:  # not with itself: infinity less infinity is NaN
        _add(slopes, x, others, i, rows, total, squared, packed, 0, i)
        _add(slopes, x, others, i, rows, total, squared, packed, i + 1, count)
    else:
        _add(slopes, x, others, i, rows, total, squared, packed, 0, count)


@jit_parallel
def _pull_parallel(slopes: Any, x: Any, others: Any, total: Any, squared: bool, packed: bool) -> None:
    rows = x.shape[1]
    each = row_chunk(x.shape[2] * others.shape[1])
    for task in numba.prange((x.shape[0] * rows + each - 1) // each):
        for n in range(task * each, min(x.shape[0] * rows, (task + 1) * each)):
            batch, i = n // rows, n % rows
            _pull(slopes[batch], x[batch, i], others[batch], i, rows, total[batch, i], squared, packed)


def distances(x: Array, y: Array | None, *, p: int) -> Array:
    """The norms of order `p`, 1 or 2, of the differences of the vectors x (B, P, M) and y (B, R, M), of one dtype: (B, P * R);
    without `y` of all pairs i < j of different x, in order: (B, P * (P - 1) / 2).
    """
    batch, rows, _ = x.shape
    found = empty((batch, rows * (rows - 1) // 2 if y is None else rows * y.shape[1]), x.dtype)
    others = contiguous((x if y is None else y).swapaxes(1, 2))
    _rows_parallel(contiguous(x), others, found, p == 2, y is None)
    return found


def distances_grad(g: Array, found: Array, x: Array, y: Array | None, *, p: int) -> Array:
    """The gradient of `x` where that of the distances `found` is g (B, n). A distance of 0 has the subgradient 0."""
    slopes = np.zeros(g.shape, x.dtype)
    if p == 2:
        np.divide(g, found, out=slopes, where=found != 0)
    else:
        slopes[...] = g
    x, total = contiguous(x), empty(x.shape, x.dtype)
    _pull_parallel(slopes, x, x if y is None else contiguous(y), total, p == 2, y is None)
    return total
