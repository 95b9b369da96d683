"""Sums of the products of two vectors, on all threads.

BLAS computes one on one thread, or on threads of its own, which spin afterwards: a million float32 took 2.3 times as long.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import Array, contiguous
from ..runtime.jit import jit_parallel
from ..simd.reduce import product_sum_of

# Elements of a piece, which one thread takes: the sum does not depend on the number of threads.
_PIECE = 1 << 13


@jit_parallel
def _dot(a, b):
    size = a.shape[0]
    pieces = (size + _PIECE - 1) // _PIECE
    totals = np.empty(pieces)
    for i in numba.prange(pieces):
        totals[i] = product_sum_of(a, b, np.uint64(i * _PIECE), np.uint64(min(size, (i + 1) * _PIECE)))
    total = 0.0
    for number in totals:
        total += number
    return total


def dot(a: Array, b: Array) -> float:
    """The inner product, in float64, of vectors of float32 or float64: of one dtype and length."""
    total: float = _dot(contiguous(a), contiguous(b))
    return total
