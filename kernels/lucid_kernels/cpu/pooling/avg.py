"""Average pooling of planes over any windows, and its gradient: sums by bands of ones, and divisions.

Rows are added up as they lie, columns in transposed rows (`resampling`), so that narrow planes and windows far apart fill the
vectors too: a loop over the taps of each window takes 2 to 20 times as long.
"""
from __future__ import annotations

import numba

from ..arrays.layout import Array, row_chunk
from ..interpolation.resize import resample
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel
from .windows import Axis, spreads, sums

Divisors = tuple[Array, Array]


@jit_exact
def _divide_planes(x, rows, columns, y, first, last):
    """`_divide_planes_parallel` for the planes first..last."""
    for p in range(first, last):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                divisor = x.dtype.type(rows[i] * columns[j])
                y[p, i, j] = x[p, i, j] / divisor if divisor != 0 else x.dtype.type(0)


@jit_parallel
def _divide_planes_parallel(x, rows, columns, y):
    """y[p, i, j] = x[p, i, j] / (rows[i] * columns[j]), or 0 where that is: a window wholly in the padding. y may be x."""
    count = x.shape[0]
    step = row_chunk(x.shape[1] * x.shape[2])
    for i in numba.prange((count + step - 1) // step):
        _divide_planes(x, rows, columns, y, i * step, min(count, (i + 1) * step))


def average_bands(x: Array, rows: Axis, columns: Axis, divisors: Divisors, y: Array) -> None:
    """Averages of x (P, H, W), to y (P, OH, OW); the divisor of window (oh, ow) is divisors[0][oh] * divisors[1][ow]."""
    resample(x, sums(rows, x.dtype), sums(columns, x.dtype), out=y)
    _divide_planes_parallel(y, *divisors, y)


def average_grad_bands(g: Array, rows: Axis, columns: Axis, divisors: Divisors, dx: Array) -> None:
    """Spread g (P, OH, OW) over the windows that it was averaged from, to dx (P, H, W)."""
    shares = empty(g.shape, g.dtype)
    _divide_planes_parallel(g, *divisors, shares)
    down, across = spreads(rows, g.dtype), spreads(columns, g.dtype)
    if rows.length > rows.pooled:  # fewer rows are cheaper to transpose, and those of the result are sums or copies of them
        resample(resample(shares, None, across), down, None, out=dx)
    else:
        resample(shares, down, across, out=dx)
