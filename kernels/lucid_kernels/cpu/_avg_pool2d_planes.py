"""Average pooling of planes over any windows, and its gradient.

A plane is computed an output row at a time, one tap of the window after the other, so that the inner loop runs along the row
and vectorises; each output still sees its window in row order, which is the order PyTorch adds in.
"""
from __future__ import annotations

import numba
import numpy as np

from ._compile import jit_exact, jit_parallel
from ._layout import row_chunk
from ._sliding import valid_ranges


@jit_exact
def _average_planes(x, kh, kw, sh, sw, ph, pw, rows, columns, override, y, first, last):
    """`average_planes` for the planes first..last."""
    _, height, width = x.shape
    _, out_height, out_width = y.shape
    ranges = valid_ranges(kw, pw, 1, sw, width, out_width)
    for p in range(first, last):
        for oh in range(out_height):
            total = y[p, oh]
            for j in range(out_width):
                total[j] = 0
            for a in range(kh):
                ih = oh * sh - ph + a
                if ih < 0 or ih >= height:
                    continue
                row = x[p, ih]
                for b in range(kw):
                    lo, hi, start = ranges[b]
                    if lo >= hi:
                        continue
                    target = total[lo:hi]
                    values = row[start:]
                    if sw == 1:
                        for j in range(target.shape[0]):
                            target[j] += values[j]
                    elif sw == 2:
                        for j in range(target.shape[0]):
                            target[j] += values[2 * j]
                    else:
                        for j in range(target.shape[0]):
                            target[j] += values[j * sw]
            for j in range(out_width):
                divisor = override if override != 0 else rows[oh] * columns[j]
                # A window wholly in the padding is 0, also where its divisor is.
                if divisor != 0:
                    total[j] = total[j] / x.dtype.type(divisor)


@jit_parallel
def average_planes(x, kh, kw, sh, sw, ph, pw, rows, columns, override, y):
    """Averages of x (P, H, W), to y (P, OH, OW); a window's divisor is rows[oh] * columns[ow], or `override` if not 0."""
    count = x.shape[0]
    step = row_chunk(x.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _average_planes(x, kh, kw, sh, sw, ph, pw, rows, columns, override, y, i * step, min(count, (i + 1) * step))


@jit_exact
def _average_grad_planes(g, kh, kw, sh, sw, ph, pw, rows, columns, override, dx, first, last):
    """`average_grad_planes` for the planes first..last."""
    _, height, width = dx.shape
    _, out_height, out_width = g.shape
    share = np.empty(out_width, g.dtype)
    ranges = valid_ranges(kw, pw, 1, sw, width, out_width)
    for p in range(first, last):
        for ih in range(height):
            target = dx[p, ih]
            for j in range(width):
                target[j] = 0
        for oh in range(out_height):
            for j in range(out_width):
                divisor = override if override != 0 else rows[oh] * columns[j]
                share[j] = g[p, oh, j] / g.dtype.type(divisor)
            for a in range(kh):
                ih = oh * sh - ph + a
                if ih < 0 or ih >= height:
                    continue
                row = dx[p, ih]
                for b in range(kw):
                    lo, hi, start = ranges[b]
                    if lo >= hi:
                        continue
                    values = share[lo:hi]
                    target = row[start:]
                    if sw == 1:
                        for j in range(values.shape[0]):
                            target[j] += values[j]
                    elif sw == 2:
                        for j in range(values.shape[0]):
                            target[2 * j] += values[j]
                    else:
                        for j in range(values.shape[0]):
                            target[j * sw] += values[j]


@jit_parallel
def average_grad_planes(g, kh, kw, sh, sw, ph, pw, rows, columns, override, dx):
    """Spread g (P, OH, OW) over the windows that it was averaged from, to dx (P, H, W)."""
    count = dx.shape[0]
    step = row_chunk(dx.size // max(1, count))
    for i in numba.prange((count + step - 1) // step):
        _average_grad_planes(g, kh, kw, sh, sw, ph, pw, rows, columns, override, dx, i * step, min(count, (i + 1) * step))
