"""Elements of one array or another, as a mask says, and triangles of matrices, on all threads.

NumPy branches for each element: 1M floats by a random mask took it 4 ms, which LLVM's vectors take 0.3.
"""
from __future__ import annotations

from typing import Any

import numba

from ._compile import jit_exact, jit_parallel
from ._layout import Array, chunk, chunks, contiguous, row_chunk
from ._pool import empty


@jit_exact
def _choose(mask: Any, a: Any, b: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        chosen, other = a[i], b[i]  # both are read: a choice of which to read is a branch
        y[i] = chosen if mask[i] else other


@jit_exact
def _fill(mask: Any, x: Any, value: Any, y: Any) -> None:
    number = value[0]
    for i in range(y.shape[0]):
        y[i] = number if mask[i] else x[i]


@jit_exact
def _fill_in_place(mask: Any, value: Any, y: Any) -> None:
    number = value[0]
    for i in range(y.shape[0]):
        y[i] = number if mask[i] else y[i]


@jit_parallel
def _choose_parallel(mask: Any, a: Any, b: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.size)):
        _choose(chunk(mask, i), chunk(a, i), chunk(b, i), chunk(y, i))


@jit_parallel
def _fill_parallel(mask: Any, x: Any, value: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.size)):
        _fill(chunk(mask, i), chunk(x, i), value, chunk(y, i))


@jit_parallel
def _fill_in_place_parallel(mask: Any, value: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.size)):
        _fill_in_place(chunk(mask, i), value, chunk(y, i))


@jit_exact
def _triangles(x: Any, y: Any, k: int, lower: bool, height: int, first: int, last: int) -> None:
    """Rows first..last of matrices of `height` rows: up to the diagonal `k`, or from it on; zeros elsewhere."""
    for r in range(first, last):
        edge = r % height + k + (1 if lower else 0)
        row, found = x[r], y[r]
        for c in range(row.shape[0]):
            element = row[c]
            found[c] = element if (c < edge) == lower else 0


@jit_parallel
def _triangles_parallel(x: Any, y: Any, k: int, lower: bool, height: int) -> None:
    rows = row_chunk(x.shape[1])
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        _triangles(x, y, k, lower, height, i * rows, min(x.shape[0], (i + 1) * rows))


def _flat(*arrays: Array) -> list[Array]:
    return [contiguous(array).reshape(-1) for array in arrays]


def choose(mask: Array, a: Array, b: Array) -> Array:
    """`a` where `mask`, else `b`: arrays of one shape, and one dtype of numbers that Numba knows."""
    y = empty(a.shape, a.dtype)
    _choose_parallel(*_flat(mask, a, b, y))
    return y


def fill(mask: Array, x: Array, value: Array) -> Array:
    """`value`, of one element and the dtype of `x`, where `mask`, else `x`."""
    y = empty(x.shape, x.dtype)
    _fill_parallel(*_flat(mask, x, value, y))
    return y


def fill_in_place(mask: Array, y: Array, value: Array) -> None:
    """``y[mask] = value`` for a contiguous `y`: as `fill` with `y` as `x`, LLVM would take one element at a time."""
    _fill_in_place_parallel(*_flat(mask, value, y))


def triangle(x: Array, k: int, lower: bool) -> Array:
    """The matrices x (*, M, N) with zeros above the diagonal `k`, or below it unless `lower`."""
    y = empty(x.shape, x.dtype)
    _triangles_parallel(contiguous(x).reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]), k, lower, x.shape[-2])
    return y
