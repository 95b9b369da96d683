"""Linear systems, inverses and determinants of many small matrices: as many are eliminated at a time as a vector has lanes.

LAPACK takes one matrix after the other, and more time for the calls than for the arithmetic. Here every operation is on one
element of each of the matrices of a block, side by side in the L1 cache; rows are exchanged by selection, so that nothing
branches. Inverses of 10,000 3x3 matrices take a sixth of NumPy's time.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel

_LANES = 16
# Multiply-adds of one iteration of a parallel loop.
_SHARE = 1 << 15


@jit_exact
def _load(source, first, count, start, block):
    """Elements of matrices first..first + count side by side, in columns of the block from `start` on."""
    rows, columns = source.shape[1], source.shape[2]
    for i in range(rows):
        for j in range(columns):
            line = block[i, start + j]
            for lane in range(count):
                line[lane] = source[first + lane, i, j]


@jit_exact
def _store(block, start, info, first, count, y):
    rows, columns = y.shape[1], y.shape[2]
    for i in range(rows):
        for j in range(columns):
            line = block[i, start + j]
            for lane in range(count):
                y[first + lane, i, j] = line[lane] if info[first + lane] == 0 else y.dtype.type(np.nan)


@jit_exact
def _pivot(block, k, sign, swaps):
    """Exchange rows so that the largest element of column k, from row k on, stands in row k; NaN counts as the largest."""
    pivot = block[k, k]
    for i in range(k + 1, block.shape[0]):
        other = block[i, k]
        for lane in range(_LANES):
            swaps[lane] = not abs(pivot[lane]) >= abs(other[lane]) and pivot[lane] == pivot[lane]
            sign[lane] = -sign[lane] if swaps[lane] else sign[lane]
        for j in range(k, block.shape[1]):
            upper, lower = block[k, j], block[i, j]
            for lane in range(_LANES):
                a, b = upper[lane], lower[lane]
                upper[lane] = b if swaps[lane] else a
                lower[lane] = a if swaps[lane] else b


@jit_exact
def _eliminate(block, sign, swaps, failed):
    """Make the left of the block upper triangular. `failed` gets the indices, from 1, of the first pivots that are zero."""
    n, columns = block.shape[0], block.shape[1]
    factor, zero = np.empty(_LANES, block.dtype), block.dtype.type(0)
    for k in range(n):
        _pivot(block, k, sign, swaps)
        pivot = block[k, k]
        for lane in range(_LANES):
            failed[lane] = k + 1 if pivot[lane] == 0 and failed[lane] == 0 else failed[lane]
        for i in range(k + 1, n):
            first = block[i, k]
            for lane in range(_LANES):
                factor[lane] = first[lane] / pivot[lane] if pivot[lane] != 0 else zero
            for j in range(k + 1, columns):
                upper, lower = block[k, j], block[i, j]
                for lane in range(_LANES):
                    lower[lane] -= factor[lane] * upper[lane]


@jit_exact
def _substitute(block):
    """Solve for the columns on the right of the triangles."""
    n, columns = block.shape[0], block.shape[1]
    for k in range(n - 1, -1, -1):
        pivot = block[k, k]
        for j in range(n, columns):
            line = block[k, j]
            for lane in range(_LANES):
                line[lane] /= pivot[lane]
            for i in range(k):
                other, factor = block[i, j], block[i, k]
                for lane in range(_LANES):
                    other[lane] -= factor[lane] * line[lane]


@jit_exact
def _clear(block, sign, failed):
    """Unit matrices: what a lane has that no matrix is in, and the right side of an inverse."""
    n = block.shape[0]
    block[:] = 0
    for i in range(n):
        block[i, i] = 1
        if block.shape[1] > n:
            block[i, n + i % (block.shape[1] - n)] = 1
    sign[:] = 1
    failed[:] = 0


@jit_exact
def _solve_some(a, b, inverse, first, last, y, info):
    n, block = a.shape[1], np.empty((a.shape[1], a.shape[1] + y.shape[2], _LANES), a.dtype)
    sign, swaps, failed = np.empty(_LANES, a.dtype), np.empty(_LANES, np.bool_), np.empty(_LANES, np.int32)
    for start in range(first, last, _LANES):
        count = min(_LANES, last - start)
        _clear(block, sign, failed)
        _load(a, start, count, 0, block)
        if not inverse:
            _load(b, start, count, n, block)
        _eliminate(block, sign, swaps, failed)
        _substitute(block)
        info[start : start + count] = failed[:count]
        _store(block, n, info, start, count, y)


@jit_parallel
def _solve_parallel(a, b, inverse, each, y, info):
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _solve_some(a, b, inverse, task * each, min(a.shape[0], (task + 1) * each), y, info)


@jit_exact
def _determinants_of_some(a, first, last, y):
    n, block = a.shape[1], np.empty((a.shape[1], a.shape[1], _LANES), a.dtype)
    sign, swaps, failed = np.empty(_LANES, a.dtype), np.empty(_LANES, np.bool_), np.empty(_LANES, np.int32)
    for start in range(first, last, _LANES):
        count = min(_LANES, last - start)
        _clear(block, sign, failed)
        _load(a, start, count, 0, block)
        _eliminate(block, sign, swaps, failed)
        for lane in range(count):
            product = sign[lane]
            for k in range(n):
                product *= block[k, k, lane]
            y[start + lane] = product


@jit_parallel
def _determinants_parallel(a, each, y):
    for task in numba.prange((a.shape[0] + each - 1) // each):
        _determinants_of_some(a, task * each, min(a.shape[0], (task + 1) * each), y)


def _matrices_per_task(a: Array, columns: int) -> int:
    work = a.shape[-1] ** 2 * (a.shape[-1] + columns)
    return -(-max(1, _SHARE // work) // _LANES) * _LANES


def solve(a: Array, b: Array | None) -> tuple[Array, Array]:
    """X with ``a @ X = b`` for matrices (..., n, n) and (..., n, k), float32 or float64, of one batch; the inverses without b.

    And `info`, int32: the number of the first pivot that is zero, from 1, or 0. Such a matrix has NaN for a result.
    """
    n, columns = a.shape[-1], a.shape[-1] if b is None else b.shape[-1]
    flat, given = (contiguous(array).reshape(-1, *array.shape[-2:]) for array in (a, a if b is None else b))
    y, info = empty((len(flat), n, columns), a.dtype), np.empty(len(flat), np.int32)
    _solve_parallel(flat, given, b is None, _matrices_per_task(a, columns), y, info)
    return y.reshape(*a.shape[:-1], columns), info.reshape(a.shape[:-2])


def determinants(a: Array) -> Array:
    """The determinants (...) of matrices (..., n, n), float32 or float64: products of pivots."""
    flat = contiguous(a).reshape(-1, *a.shape[-2:])
    y = empty((len(flat),), a.dtype)
    _determinants_parallel(flat, _matrices_per_task(a, 0), y)
    return y.reshape(a.shape[:-2])
