"""Where the maxima are of windows that begin anywhere: fractional max pooling. CuPy gathers all windows: no CUDA twin."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel


@jit_exact
def _plane(x: Any, depths: Any, rows: Any, columns: Any, depth: int, height: int, width: int, indices: Any) -> None:
    """The indices of the maxima in one volume x (D, H, W): the first of equal ones, the last NaN."""
    for i in range(depths.shape[0]):
        for j in range(rows.shape[0]):
            found = indices[i, j]
            for k in range(columns.shape[0]):
                first = columns[k]
                best, index = x[depths[i], rows[j], first], (depths[i] * x.shape[1] + rows[j]) * x.shape[2] + first
                for d in range(depths[i], depths[i] + depth):
                    for r in range(rows[j], rows[j] + height):
                        row, start = x[d, r], (d * x.shape[1] + r) * x.shape[2]
                        for c in range(first, first + width):
                            value = row[c]
                            better = (value > best) | (value != value)
                            best, index = (value if better else best), (start + c if better else index)
                found[k] = index


@jit_parallel
def _planes(x: Any, depths: Any, rows: Any, columns: Any, depth: int, height: int, width: int, indices: Any) -> None:
    size = indices.shape[1] * indices.shape[2] * indices.shape[3]
    each = max(1, GRAIN // size)
    for task in numba.prange((x.shape[0] + each - 1) // each):
        for n in range(task * each, min(x.shape[0], (task + 1) * each)):
            _plane(x[n], depths[n], rows[n], columns[n], depth, height, width, indices[n])


def fractional_max_indices(x: Array, depths: Array, rows: Array, columns: Array, kernel: tuple[int, ...]) -> Array:
    """The indices (N, windows) of the maxima in the flattened volumes x (N, D, H, W), float32 or float64.

    All windows are as large as `kernel` and begin at depths (N, d), rows (N, h) and columns (N, w); none of those is empty.
    """
    indices = empty((x.shape[0], depths.shape[1], rows.shape[1], columns.shape[1]), np.int64)
    _planes(*map(contiguous, (x, depths, rows, columns)), *kernel, indices)
    return indices.reshape(x.shape[0], -1)
