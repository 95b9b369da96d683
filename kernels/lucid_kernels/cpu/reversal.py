"""Rows with their elements in reverse order, on all threads: NumPy copies one element at a time, LLVM turns vectors around."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ._compile import jit_exact, jit_parallel
from ._layout import Array, row_chunk
from ._pool import empty


@jit_exact
def _reverse(x: Any, y: Any) -> None:
    last = np.uint64(x.shape[1]) - np.uint64(1)
    for r in range(x.shape[0]):
        row, found = x[r], y[r]
        for c in range(np.uint64(x.shape[1])):
            found[c] = row[last - c]


@jit_parallel
def _reverse_parallel(x: Any, y: Any) -> None:
    rows = row_chunk(x.shape[1])
    for i in numba.prange((x.shape[0] + rows - 1) // rows):
        _reverse(x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows])


def reverse(x: Array) -> Array:
    """A copy of x (*, n), contiguous and not empty, in reverse order along its last dimension: numbers that Numba knows."""
    y = empty(x.shape, x.dtype)
    _reverse_parallel(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]))
    return y
