"""Pooling over the commonest windows, in one pass: 2x2 windows with stride 2.

A general loop over the taps of a window reads and writes the result once for each tap; here it stays in registers. Each
function works on the planes first..last of (P, H, W) and (P, OH, OW).
"""
from __future__ import annotations

import numba

from ..arrays.layout import row_chunk
from ..runtime.jit import jit_exact, jit_parallel
from ..simd.cpu_features import VECTOR_BYTES
from .max_2x2_microkernels import max_of_halves, spread_row
from .max_planes import clip_planes


@jit_exact
def _max_2x2_planes(x, relu, y, indices, first, last):
    """Maxima and their positions for windows that neither overlap nor touch padding; winners and ReLU if `indices` are bytes.

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
                x, (source + position, source + next_position), width, (count, next_count), whole, relu, y, (out, next_out),
                indices, (position, next_position),
            )  # fmt: skip


@jit_parallel
def max_2x2(x, relu, y, indices):
    """Maxima y (P, OH, OW) of x (P, H, W), with `relu` ReLU of them, and their positions."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        last = min(count, (i + 1) * step)
        _max_2x2_planes(x, False, y, indices, i * step, last)
        if relu:
            clip_planes(y, indices, i * step, last)


@jit_parallel
def max_2x2_winners(x, relu, y, winners):
    """The same with winners, as bytes: an eighth of the memory."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _max_2x2_planes(x, relu, y, winners, i * step, min(count, (i + 1) * step))


@jit_exact
def _expand_2x2_planes(g, winners, dx, first, last):
    """`expand_2x2` for the planes first..last."""
    _, out_height, out_width = g.shape
    _, height, width = dx.shape
    for p in range(first, last):
        dx[p, 2 * out_height :] = 0
        dx[p, :, 2 * out_width :] = 0
        for i in range(out_height):
            spread_row(g, winners, (p * out_height + i) * out_width, out_width, dx, (p * height + 2 * i) * width, width)


@jit_parallel
def expand_2x2(g, winners, dx):
    """dx (P, H, W) = g (P, OH, OW) at the winners of its windows, else 0: a third of the time of a scatter by positions."""
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _expand_2x2_planes(g, winners, dx, i * step, min(count, (i + 1) * step))


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
