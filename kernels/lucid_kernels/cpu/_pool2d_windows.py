"""Pooling over the commonest windows, in one pass: 2x2 windows with stride 2, and 3x3 ones with stride 2 and padding 1.

A general loop over the taps of a window reads and writes the result once for each tap; here it stays in registers. Each
function works on the planes first..last of (P, H, W) and (P, OH, OW).
"""
from __future__ import annotations

import numba
import numpy as np

from ._compile import jit_exact, jit_parallel
from ._layout import row_chunk
from ._microkernels import VECTOR_BYTES
from ._pool_microkernels import max_of_halves


@jit_exact
def _max_2x2(x, y, indices, first, last):
    """Maxima and their positions for windows that neither overlap nor touch padding.

    Half a vector of windows is a unit of work, the last ones of a row are fewer; two units are computed at once.
    """
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    half = VECTOR_BYTES // x.itemsize // 2
    units = out_height * ((out_width + half - 1) // half)
    for p in range(first, last):
        source = p * height * width
        target = p * out_height * out_width
        row = column = 0
        for unit in range(0, units, 2):
            position = 2 * (row * width + column)
            out = target + row * out_width + column
            count = min(half, out_width - column)
            row, column = (row, column + half) if column + half < out_width else (row + 1, 0)
            more = unit + 1 < units
            next_position = 2 * (row * width + column) if more else position
            next_out = target + row * out_width + column
            next_count = min(half, out_width - column) if more else 0
            row, column = (row, column + half) if column + half < out_width else (row + 1, 0)
            whole = source + next_position + width + 2 * half <= x.size
            max_of_halves(
                x, (source + position, source + next_position), width, (count, next_count), whole, y, (out, next_out), indices,
                (position, next_position),
            )  # fmt: skip


@jit_parallel
def max_2x2(x, y, indices):
    """`max_2x2` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _max_2x2(x, y, indices, i * step, min(count, (i + 1) * step))


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
def _max_3x3(x, y, indices, first, last):
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
def max_3x3(x, y, indices):
    """`max_3x3` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _max_3x3(x, y, indices, i * step, min(count, (i + 1) * step))


@jit_exact
def _average_2x2(x, scale, y, first, last):
    """Sums over 2x2 windows with stride 2, without padding, times `scale`."""
    _, out_height, out_width = y.shape
    for p in range(first, last):
        for i in range(out_height):
            for j in range(out_width):
                upper = x[p, 2 * i, 2 * j] + x[p, 2 * i, 2 * j + 1]
                y[p, i, j] = (upper + x[p, 2 * i + 1, 2 * j] + x[p, 2 * i + 1, 2 * j + 1]) * scale


@jit_parallel
def average_2x2(x, scale, y):
    """`average_2x2` for all planes."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _average_2x2(x, scale, y, i * step, min(count, (i + 1) * step))


@jit_exact
def _average_2x2_grad(g, scale, dx, first, last):
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
def average_2x2_grad(g, scale, dx):
    """`average_2x2_grad` for all planes."""
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _average_2x2_grad(g, scale, dx, i * step, min(count, (i + 1) * step))
