"""Average pooling of planes to a given size, and its gradient: the windows have different lengths."""
from __future__ import annotations

import numba

from ._compile import jit, jit_exact, jit_parallel
from ._layout import row_chunk


@jit_exact
def _bounds(index, length, pooled):
    """Where adaptive window `index` of `pooled` starts and stops: floor(i * L / O) and ceil((i + 1) * L / O)."""
    return index * length // pooled, ((index + 1) * length + pooled - 1) // pooled


@jit
def _adaptive_planes(x, y, first, last):
    """`adaptive_planes` for the planes first..last."""
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    for p in range(first, last):
        for oh in range(out_height):
            top, bottom = _bounds(oh, height, out_height)
            for ow in range(out_width):
                left, right = _bounds(ow, width, out_width)
                total = 0.0
                for ih in range(top, bottom):
                    row = x[p, ih, left:right]
                    for j in range(row.shape[0]):
                        total += row[j]
                y[p, oh, ow] = total / ((bottom - top) * (right - left))


@jit_parallel
def adaptive_planes(x, y):
    """Averages of x (P, H, W) over the adaptive windows of y (P, OH, OW)."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _adaptive_planes(x, y, i * step, min(count, (i + 1) * step))


@jit
def _adaptive_grad_planes(g, dx, first, last):
    """`adaptive_grad_planes` for the planes first..last."""
    _, height, width = dx.shape
    _, out_height, out_width = g.shape
    for p in range(first, last):
        for ih in range(height):
            target = dx[p, ih]
            for j in range(width):
                target[j] = 0
        for oh in range(out_height):
            top, bottom = _bounds(oh, height, out_height)
            for ow in range(out_width):
                left, right = _bounds(ow, width, out_width)
                share = g[p, oh, ow] / g.dtype.type((bottom - top) * (right - left))
                for ih in range(top, bottom):
                    target = dx[p, ih, left:right]
                    for j in range(target.shape[0]):
                        target[j] += share


@jit_parallel
def adaptive_grad_planes(g, dx):
    """Spread g (P, OH, OW) over its adaptive windows, to dx (P, H, W)."""
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _adaptive_grad_planes(g, dx, i * step, min(count, (i + 1) * step))
