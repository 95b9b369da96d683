"""Cross products of many vectors, in one pass. NumPy and CuPy take six: no CUDA twin."""
from __future__ import annotations

import math
from typing import Any

import numba

from ..arrays.layout import GRAIN, Array, contiguous, row_chunk
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel


@jit_exact
def _triples(a: Any, b: Any, y: Any) -> None:
    """Of flat arrays of vectors one after the other."""
    for i in range(0, y.shape[0], 3):
        a0, a1, a2, b0, b1, b2 = a[i], a[i + 1], a[i + 2], b[i], b[i + 1], b[i + 2]
        y[i] = a1 * b2 - a2 * b1
        y[i + 1] = a2 * b0 - a0 * b2
        y[i + 2] = a0 * b1 - a1 * b0


@jit_exact
def _component(a: Any, b: Any, c: Any, d: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = a[i] * d[i] - b[i] * c[i]


@jit_parallel
def _triples_parallel(a: Any, b: Any, y: Any) -> None:
    each = GRAIN // 3 * 3
    for i in numba.prange((y.shape[0] + each - 1) // each):
        some = slice(i * each, (i + 1) * each)
        _triples(a[some], b[some], y[some])


@jit_parallel
def _planes_parallel(a: Any, b: Any, y: Any) -> None:
    each = row_chunk(3 * y.shape[2])
    for task in numba.prange((y.shape[0] + each - 1) // each):
        for n in range(task * each, min(y.shape[0], (task + 1) * each)):
            for k in range(3):
                i, j = (k + 1) % 3, (k + 2) % 3
                _component(a[n, i], a[n, j], b[n, i], b[n, j], y[n, k])


def cross(a: Array, b: Array, *, axis: int) -> Array:
    """The cross products of the vectors along `axis`, of length 3, of two arrays of one shape and one dtype."""
    y = empty(a.shape, a.dtype)
    outer, inner = math.prod(a.shape[:axis]), math.prod(a.shape[axis + 1 :])
    kernel, shape = (_triples_parallel, (-1,)) if inner == 1 else (_planes_parallel, (outer, 3, inner))
    kernel(*[array.reshape(shape) for array in (contiguous(a), contiguous(b), y)])
    return y
