"""Pooling over the commonest windows, in one pass: 2x2 windows with stride 2, and 3x3 ones with stride 2 and padding 1.

A general loop over the taps of a window reads and writes the result once for each tap; here it stays in registers. Each
function works on the planes first..last of (P, H, W) and (P, OH, OW).
"""
from __future__ import annotations

import numba
import numpy as np

from ._compile import jit_exact, jit_parallel
from ._layout import row_chunk


@jit_exact
def max_2x2(x, y, indices, first, last):
    """Maxima and their positions for windows that neither overlap nor touch padding: 8 to 25 times as fast."""
    width = x.shape[2]
    _, out_height, out_width = y.shape
    for p in range(first, last):
        for i in range(out_height):
            for j in range(out_width):
                # The upper pair, the lower pair, then the two winners: the order that keeps the first of equal maxima.
                a = x[p, 2 * i, 2 * j]
                b = x[p, 2 * i, 2 * j + 1]
                right = (b > a) | np.isnan(b)
                upper = b if right else a
                upper_column = np.int64(right)
                c = x[p, 2 * i + 1, 2 * j]
                d = x[p, 2 * i + 1, 2 * j + 1]
                right = (d > c) | np.isnan(d)
                lower = d if right else c
                lower_column = np.int64(right) + width
                down = (lower > upper) | np.isnan(lower)
                y[p, i, j] = lower if down else upper
                indices[p, i, j] = 2 * i * width + 2 * j + (lower_column if down else upper_column)


@jit_parallel
def max_2x2_parallel(x, y, indices):
    """`max_2x2` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        max_2x2(x, y, indices, i * step, min(count, (i + 1) * step))


@jit_exact
def max_2x2_narrow(x, y, indices, first, last):
    """`max_2x2` for planes of even, small width: 0.3 to 0.4 of its time for 14 and 16 windows a row, 1.5 times for 28.

    Pairs, and pairs of pairs, are compared along the whole plane, where vectors are full. Half of the latter are not windows.
    """
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    half = np.uint64(width // 2)
    count = height * (width // 2)
    pair, best = np.empty(count, x.dtype), np.empty(count, x.dtype)
    column, where = np.empty(count, np.int32), np.empty(count, np.int32)
    zero, one, below = np.int32(0), np.int32(1), np.int32(width)
    for p in range(first, last):
        plane = x[p].reshape(height * width)
        for k in range(np.uint64(count)):
            a, b = plane[2 * k], plane[2 * k + 1]
            right = (b > a) | np.isnan(b)
            pair[k] = b if right else a
            column[k] = one if right else zero
        for k in range(np.uint64(count - width // 2)):
            upper, lower = pair[k], pair[k + half]
            down = (lower > upper) | np.isnan(lower)
            best[k] = lower if down else upper
            where[k] = np.int32(column[k + half] + below) if down else column[k]
        for i in range(out_height):
            start = np.uint64(2 * i) * half
            for j in range(np.uint64(out_width)):
                y[p, i, j] = best[start + j]
                indices[p, i, j] = 2 * i * width + np.int64(2 * j) + np.int64(where[start + j])


@jit_parallel
def max_2x2_narrow_parallel(x, y, indices):
    """`max_2x2_narrow` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        max_2x2_narrow(x, y, indices, i * step, min(count, (i + 1) * step))


@jit_exact
def _larger(best, where, value, position):
    """The larger one of two elements and its position: the first of equal ones, but a later NaN."""
    better = (value > best) | np.isnan(value)
    return (value if better else best), (np.int32(position) if better else where)


@jit_exact
def _max_of_window(x, p, top, row, bottom, left, middle, right):
    """The maximum of nine elements and its position."""
    width = x.shape[2]
    best, where = x[p, top, left], np.int32(top * width + left)
    for h in (top, row, bottom):
        for w in (left, middle, right):
            best, where = _larger(best, where, x[p, h, w], h * width + w)
    return best, where


@jit_exact
def max_3x3(x, y, indices, first, last):
    """Maxima and their positions for 3x3 windows, stride 2, padding 1, of planes with fewer than 2^31 elements.

    A tap in the padding is replaced by its neighbour inside, which the window has anyway: that changes neither the maximum
    nor which of equal ones comes first, since only a larger one replaces another.
    """
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    inside = max(1, min(out_width, width // 2))  # from here on the right tap is in the padding
    for p in range(first, last):
        for i in range(out_height):
            top, row, bottom = max(2 * i - 1, 0), min(2 * i, height - 1), min(2 * i + 1, height - 1)
            best, where = _max_of_window(x, p, top, row, bottom, 0, 0, min(1, width - 1))
            y[p, i, 0] = best
            indices[p, i, 0] = where
            # Rows that begin with the left tap of the second window: an index that might be negative does not vectorise.
            a, b, c = x[p, top, 1:], x[p, row, 1:], x[p, bottom, 1:]
            best_of = y[p, i, 1:inside]
            where_of = indices[p, i, 1:inside]
            # Positions relative to the upper left tap fit in 32 bits, like the elements: that halves the work.
            second, third = np.int32((row - top) * width), np.int32((bottom - top) * width)
            start = top * width + 1
            for j in range(best_of.shape[0]):
                best, where = a[2 * j], np.int32(0)
                best, where = _larger(best, where, a[2 * j + 1], np.int32(1))
                best, where = _larger(best, where, a[2 * j + 2], np.int32(2))
                best, where = _larger(best, where, b[2 * j], second)
                best, where = _larger(best, where, b[2 * j + 1], second + np.int32(1))
                best, where = _larger(best, where, b[2 * j + 2], second + np.int32(2))
                best, where = _larger(best, where, c[2 * j], third)
                best, where = _larger(best, where, c[2 * j + 1], third + np.int32(1))
                best, where = _larger(best, where, c[2 * j + 2], third + np.int32(2))
                best_of[j] = best
                where_of[j] = start + 2 * j + np.int64(where)
            for j in range(inside, out_width):
                middle, right = min(2 * j, width - 1), min(2 * j + 1, width - 1)
                best, where = _max_of_window(x, p, top, row, bottom, 2 * j - 1, middle, right)
                y[p, i, j] = best
                indices[p, i, j] = where


@jit_parallel
def max_3x3_parallel(x, y, indices):
    """`max_3x3` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        max_3x3(x, y, indices, i * step, min(count, (i + 1) * step))


@jit_exact
def average_2x2(x, scale, y, first, last):
    """Sums over 2x2 windows with stride 2, without padding, times `scale`."""
    _, out_height, out_width = y.shape
    for p in range(first, last):
        for i in range(out_height):
            for j in range(out_width):
                upper = x[p, 2 * i, 2 * j] + x[p, 2 * i, 2 * j + 1]
                y[p, i, j] = (upper + x[p, 2 * i + 1, 2 * j] + x[p, 2 * i + 1, 2 * j + 1]) * scale


@jit_parallel
def average_2x2_parallel(x, scale, y):
    """`average_2x2` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        average_2x2(x, scale, y, i * step, min(count, (i + 1) * step))


@jit_exact
def average_2x2_grad(g, scale, dx, first, last):
    """The gradient of `average_2x2` for planes that the windows cover."""
    _, out_height, out_width = g.shape
    for p in range(first, last):
        for i in range(out_height):
            for j in range(out_width):
                share = g[p, i, j] * scale
                dx[p, 2 * i, 2 * j] = share
                dx[p, 2 * i, 2 * j + 1] = share
                dx[p, 2 * i + 1, 2 * j] = share
                dx[p, 2 * i + 1, 2 * j + 1] = share


@jit_parallel
def average_2x2_grad_parallel(g, scale, dx):
    """`average_2x2_grad` for all planes."""
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        average_2x2_grad(g, scale, dx, i * step, min(count, (i + 1) * step))
