"""Triangles of matrices, on all threads: a choice for each element, which LLVM makes in vectors; NumPy makes a mask first."""
from __future__ import annotations

from typing import Any

import numba

from ..arrays.layout import Array, contiguous, row_chunk
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel


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


def triangle(x: Array, k: int, lower: bool) -> Array:
    """The matrices x (*, M, N) with zeros above the diagonal `k`, or below it unless `lower`."""
    y = empty(x.shape, x.dtype)
    _triangles_parallel(contiguous(x).reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]), k, lower, x.shape[-2])
    return y
