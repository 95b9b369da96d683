"""Running sums and products of large arrays along an axis, on all threads.

They are computed in float64, one after the other, as PyTorch does: in float32 the error after a thousand elements is ten times as
large. The array is seen as (outer, C, inner), C the axis. With `inner == 1` a unit of work is some rows, four at a time, since
one step waits for the one before; otherwise a tile of `inner`, along which the loops are contiguous. CuPy has scans of its
own, which add pairs: no CUDA twin.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, contiguous, result, tile, tiles
from ..runtime.jit import jit_exact, jit_inline, jit_parallel

_TILE = 1024  # columns of a unit of work: 8 KiB of float64 sums stay in the L1 cache


@jit_inline
def _step(total: Any, value: Any, product: bool) -> Any:
    return total * value if product else total + value


@jit_exact
def _rows(x: Any, y: Any, product: bool) -> None:
    rows = np.uint64(x.shape[0])
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    r = np.uint64(0)
    while r + four <= rows:
        a = b = c = d = 1.0 if product else 0.0
        for i in range(x.shape[1]):
            a = _step(a, x[r, i], product)
            b = _step(b, x[r + one, i], product)
            c = _step(c, x[r + two, i], product)
            d = _step(d, x[r + three, i], product)
            y[r, i] = a
            y[r + one, i] = b
            y[r + two, i] = c
            y[r + three, i] = d
        r += four
    while r < rows:
        a = 1.0 if product else 0.0
        for i in range(x.shape[1]):
            a = _step(a, x[r, i], product)
            y[r, i] = a
        r += one


@jit_exact
def _tile(x: Any, y: Any, start: int, stop: int, product: bool) -> None:
    """The columns [start, stop) of x (C, inner)."""
    total = np.full(stop - start, 1.0 if product else 0.0)
    for c in range(x.shape[0]):
        row = x[c][start:stop]
        target = y[c][start:stop]
        for i in range(row.shape[0]):
            total[i] = target[i] = _step(total[i], row[i], product)


@jit_parallel
def _rows_parallel(x: Any, y: Any, rows: int, product: bool) -> None:
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        _rows(x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows], product)


@jit_parallel
def _planes_parallel(x: Any, y: Any, product: bool) -> None:
    for i in numba.prange(x.shape[0] * tiles(x.shape[2], _TILE)):
        n, start, stop = tile(i, x.shape[2], _TILE)
        _tile(x[n], y[n], start, stop, product)


def _scan(x: Array, axis: int, product: bool) -> Array:
    y = result(None, x.shape, x.dtype)
    if x.size:
        axis %= x.ndim
        length, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
        x = contiguous(x)
        if inner > 1:
            _planes_parallel(x.reshape(-1, length, inner), y.reshape(-1, length, inner), product)
        else:
            _rows_parallel(x.reshape(-1, length), y.reshape(-1, length), -(-max(4, GRAIN // length) // 4) * 4, product)
    return y


def cumsum(x: Array, *, axis: int) -> Array:
    """The sums of the elements of x up to each one along `axis`: float32 or float64, any strides, C-contiguous result."""
    return _scan(x, axis, False)


def cumprod(x: Array, *, axis: int) -> Array:
    """The products of the elements of x up to each one along `axis`, as `cumsum`."""
    return _scan(x, axis, True)
