"""Rows with their elements in reverse order, on all threads: NumPy copies one element at a time, LLVM turns vectors around."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, chunks, row_chunk
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel


@jit_exact
def _reverse_row(row: Any, found: Any) -> None:
    last = np.uint64(row.shape[0]) - np.uint64(1)
    for c in range(np.uint64(row.shape[0])):
        found[c] = row[last - c]


@jit_exact
def _reverse(x: Any, y: Any) -> None:
    for r in range(x.shape[0]):
        _reverse_row(x[r], y[r])


@jit_parallel
def _reverse_parallel(x: Any, y: Any) -> None:
    rows, length = x.shape
    if length <= GRAIN:
        each = row_chunk(length)
        for i in numba.prange((rows + each - 1) // each):
            _reverse(x[i * each : (i + 1) * each], y[i * each : (i + 1) * each])
    else:
        pieces = chunks(length)
        for i in numba.prange(rows * pieces):
            start = i % pieces * GRAIN
            stop = min(length, start + GRAIN)
            _reverse_row(x[i // pieces][length - stop : length - start], y[i // pieces][start:stop])


def reverse(x: Array) -> Array:
    """A copy of x (*, n), contiguous and not empty, in reverse order along its last dimension: dtypes that Numba knows."""
    y = empty(x.shape, x.dtype)
    _reverse_parallel(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]))
    return y
