"""Products of stacks of small matrices: register blocks over the operands where they lie, with masks at the edges.

NumPy calls BLAS for one matrix after the other, 0.13 us each on one thread: 10,000 3x3 matrices take a third of its time here.
With AVX-512 those of some 100 rows and columns need no packing either: stacks of them take 0.85 to 0.95 of the time of BLAS on
all threads (`gemm.matmul_stacks`), 0.65 to 0.8 where the right ones are transposed, as in attention by hand.
"""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.implementations import unmet
from ..runtime.jit import jit, jit_parallel
from ..simd.address import address_of
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.pointer import moved, pointer
from .batch_offsets import offsets_of
from .microkernels import MOST_VECTORS, make_multiply
from .packing import copy_strip
from .problem import Problem

_ROWS = 4  # of a block
# Multiply-adds of one iteration of a parallel loop: some 3 us; and what a matrix costs beside its own.
_SHARE, _OVERHEAD = 1 << 17, 100

def _make_strip(vector_count: int) -> Any:
    one, several = (make_multiply(rows, vector_count) for rows in (1, _ROWS))

    @jit
    def strip(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, free):
        """All rows of some columns."""
        if rows == 1:
            one(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, False, c, 0, free)
            return
        for row in range(0, rows, _ROWS):
            several(moved(a, row * row_step), row_step, depth_step, b, pitch, count, min(_ROWS, rows - row), columns,
                    moved(c, row * c_pitch), c_pitch, False, c, 0, free)  # fmt: skip

    return strip


_one, _two, _three = map(_make_strip, (1, 2, 3))


@jit_parallel
def _multiply(a: int, row_step: int, depth_step: int, a_offsets: Any, b: int, b_step: int, column_step: int, b_offsets: Any,
              depth: int, each: int, c: Any) -> None:
    """c (count, m, n), for the addresses of both operands, their steps, and the bytes from there to each matrix."""
    count, m, n = c.shape
    lanes = VECTOR_BYTES // c.itemsize
    for task in numba.prange((count + each - 1) // each):
        first = np.int64(task) * each
        width = (n + lanes - 1) // lanes * lanes
        room = np.empty(depth * width if column_step != 1 else 0, c.dtype)
        last: Any = min(count, first + each)
        for i in range(first, last):
            left, right, pitch = pointer(c, a + a_offsets[i]), pointer(c, b + b_offsets[i]), b_step
            if column_step != 1:
                turned, pitch = pointer(c, room.ctypes.data), width
                if i == first or b_offsets[i] != b_offsets[i - 1]:
                    copy_strip(right, column_step, b_step, n, depth, lanes, turned, width)
                right = turned
            target = pointer(c, c.ctypes.data + i * m * n * c.itemsize)
            # A store with a mask takes 20 ns. Without, it changes what follows the row, which this task writes later.
            free = n <= MOST_VECTORS * lanes and (last - i - 1) * m * n >= lanes
            for column in range(0, n, MOST_VECTORS * lanes):
                rest, source, there = n - column, moved(right, column), moved(target, column)
                if rest > 2 * lanes:
                    rest = min(rest, MOST_VECTORS * lanes)
                    _three(left, row_step, depth_step, source, pitch, depth, m, rest, there, n, free)
                elif rest > lanes:
                    _two(left, row_step, depth_step, source, pitch, depth, m, rest, there, n, free)
                else:
                    _one(left, row_step, depth_step, source, pitch, depth, m, rest, there, n, free)


def why_not(problem: Problem) -> str | None:
    """For stacks of float32 or float64. Not for columns, and not for rows times matrices that have to be turned, each for a
    single product.
    """
    (m, k), n, work, item = problem.left[-2:], problem.right[-1], problem.work_of_one, problem.item
    count, turned = problem.work // work, problem.right_strides[-1] != item
    vector_bytes = problem.vector_bytes or VECTOR_BYTES
    lanes = vector_bytes // item
    small = work <= tuning.BATCHED_SMALL_MOST_WORK and count >= tuning.BATCHED_SMALL_LEAST_COUNT
    least = tuning.BATCHED_SMALL_LEAST_TURNED_STACK if turned else tuning.BATCHED_SMALL_LEAST_STACK
    large = work > tuning.BATCHED_SMALL_MOST_LARGE_WORK or k > tuning.BATCHED_SMALL_MOST_DEPTH
    return unmet(
        (n > 1 and (m > 1 or not turned), "a single column, or a row and matrices to turn"),
        (small or vector_bytes == 64, "larger matrices, or few, without AVX-512"),
        (small or count * work >= least, "small"),
        (small or count >= tuning.BATCHED_SMALL_LEAST_LARGE_COUNT, "few matrices"),
        (small or not large, "large matrices"),
        (small or turned or n >= tuning.BATCHED_SMALL_LEAST_FILLED * -(-n // lanes) * lanes, "columns that leave vectors empty"),
        (not any(step % item for step in problem.left_strides + problem.right_strides), "steps that are no whole elements"),
    )


def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a @ b`` for stacks that suit, broadcast; `out` is contiguous, of its shape and dtype."""
    lead, (m, k), n, item = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2:], b.shape[-1], a.itemsize
    c = empty((*lead, m, n), a.dtype) if out is None else out
    each = max(1, _SHARE // (m * k * n + _OVERHEAD))
    _multiply(address_of(a), a.strides[-2] // item, a.strides[-1] // item, offsets_of(a, lead), address_of(b),
              b.strides[-2] // item, b.strides[-1] // item, offsets_of(b, lead), k, each,
              c.reshape(math.prod(lead), m, n))  # fmt: skip
    return c
