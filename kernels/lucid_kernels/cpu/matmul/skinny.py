"""Products of a few rows with a matrix, which is read as it lies: layers in inference, the last rows of a data set.

BLAS packs the matrix first, or reads it on one thread: one to four rows took 2 to 8 times as long. Here four rows share each
load, which is then as fast as memory or the L3 cache; the next four find the block in a nearer cache.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ..arrays.layout import Array, contiguous
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.implementations import unmet
from ..runtime.jit import jit_parallel
from ..simd.address import address_of
from ..simd.dot import DOT_ROWS, DOT_SUMS, DOT_TAPS, dot_block
from ..simd.pointer import pointer
from .problem import Problem, with_unit_steps

# Elements of the matrix of a task: 10 us in the caches.
_SHARE = 1 << 17


@jit_parallel
def _multiply(a: Any, depth: int, b: int, pitch: int, each: int, bias: Any, c: Any) -> None:
    """c (m, n) = flat a (m, depth) @ b + bias, or without one if that is empty. At the address `b` columns are contiguous and
    `pitch` elements apart; a task takes `each` of them.
    """
    m, n = c.shape
    for task in numba.prange((n + each - 1) // each):
        first = np.int64(task) * each
        last: Any = min(n, first + each)
        matrix = carray(pointer(a, b), (1,))
        rows, columns, sums = np.empty(DOT_ROWS, np.int64), np.empty(DOT_TAPS, np.int64), np.empty(DOT_SUMS, a.dtype)
        for j in range(first, last, DOT_TAPS):
            for t in range(DOT_TAPS):
                columns[t] = min(j + t, last - 1) * pitch
            for i in range(0, m, DOT_ROWS):
                for r in range(DOT_ROWS):
                    rows[r] = min(i + r, m - 1) * depth
                sums[:] = 0
                dot_block(a, 0, rows, matrix, 0, columns, 1, 0, 0, depth, sums)
                for r in range(min(DOT_ROWS, m - i)):
                    for t in range(min(DOT_TAPS, last - j)):
                        c[i + r, j + t] = sums[r * DOT_TAPS + t] + (bias[j + t] if bias.size > 0 else 0)


def why_not(problem: Problem) -> str | None:
    rows, depth = problem.left
    return unmet(
        (problem.is_real, "complex numbers"),
        (problem.has_contiguous_columns, "the columns of the right matrix are not contiguous"),
        (rows <= min(tuning.SKINNY_MOST_ROWS, depth // tuning.SKINNY_STEPS_OF_A_ROW), "many rows, or few steps for each"),
    )


def matmul(a: Array, b: Array, bias: Array | None = None, out: Array | None = None) -> Array:
    """``a @ b + bias``, bit for bit the same on any number of threads, for matrices that suit, not empty; `out` is contiguous."""
    b, depth = with_unit_steps(b), a.shape[1]
    result = empty((len(a), b.shape[1]), a.dtype) if out is None else out
    _multiply(contiguous(a).reshape(-1), depth, address_of(b), b.strides[1] // b.itemsize, max(1, _SHARE // depth),
              result[0, :0] if bias is None else bias, result)  # fmt: skip
    return result
