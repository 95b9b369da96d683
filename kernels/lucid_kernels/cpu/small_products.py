"""Products of many small matrices: register blocks over the operands where they lie, with masks at the edges.

NumPy calls BLAS for one matrix after the other, 0.13 us each on one thread: 10,000 3x3 matrices take a third of its time here.
"""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

from ._address import address_of
from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import _INT, VECTOR_BYTES, _at, _Vectors
from ._panels import moved, pointer, transpose_block
from ._pool import empty
from ._stacks import places

# Rows and most vectors of a block: 12 sums in 16 registers.
_ROWS, _MOST_VECTORS = 4, 3
# Most multiply-adds of a matrix, and fewest matrices: 512 of 16x16 take 0.7 of NumPy's time, and 0.35 of it if the right ones
# are transposed.
_MOST_WORK, _LEAST_COUNT = 1 << 12, 1 << 9
# Multiply-adds of one iteration of a parallel loop: some 3 us; and what a matrix costs beside its own.
_SHARE, _OVERHEAD = 1 << 17, 100

# Numba's type of what `intrinsic` returns has the typing context among the arguments of a call.
_intrinsic: Any = intrinsic


def _make_multiply(row_count: int, vector_count: int) -> Any:
    @_intrinsic
    def multiply(typing, a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, free):
        """`rows`, at most `row_count`, and `columns` of c are a @ b for `count` steps of the sum, for pointers, unchecked.

        Missing rows are the last one again; the columns fill `vector_count` vectors, the last one in part. With `free`, what
        follows a row may be written.
        """

        def emit(context, builder, signature, arguments):
            a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, free = arguments
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = _Vectors(builder, a.type.pointee, lanes)
            last = vectors.between((vector_count - 1) * lanes, columns)
            whole = builder.or_(free, builder.icmp_signed("==", columns, ir.Constant(_INT, vector_count * lanes)))
            starts, targets, totals = [], [], []
            limit = builder.sub(rows, ir.Constant(_INT, 1))
            for r in range(row_count):
                row = ir.Constant(_INT, r)
                row = builder.select(builder.icmp_signed("<", row, limit), row, limit)
                starts.append(_at(builder, a, builder.mul(row, row_step)))
                targets.append(_at(builder, c, builder.mul(row, c_pitch)))
                totals.append([cgutils.alloca_once_value(builder, vectors.zero) for _ in range(vector_count)])
            with cgutils.for_range(builder, count, intp=_INT) as loop:
                line = _at(builder, b, builder.mul(loop.index, pitch))
                step = builder.mul(loop.index, depth_step)
                places = [_at(builder, line, v * lanes) for v in range(vector_count)]
                values = [*map(vectors.load, places[:-1]), vectors.load_masked(places[-1], last)]
                for start, total in zip(starts, totals):
                    scale = vectors.splat(builder.load(_at(builder, start, step)))
                    for sum_, value in zip(total, values):
                        vectors.add_product(sum_, value, scale)
            for target, total in zip(targets, totals):
                for v, sum_ in enumerate(total[:-1]):
                    vectors.store(builder.load(sum_), _at(builder, target, v * lanes))
                vectors.store_reached(builder.load(total[-1]), _at(builder, target, (vector_count - 1) * lanes), last, whole)
            return context.get_dummy_value()

        integer = types.int64
        return types.void(a, integer, integer, b, integer, integer, integer, integer, c, integer, types.boolean), emit

    return multiply


def _make_strip(vector_count: int) -> Any:
    one, several = (_make_multiply(rows, vector_count) for rows in (1, _ROWS))

    @jit
    def strip(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, free):
        """All rows of some columns."""
        if rows == 1:
            one(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, free)
            return
        for row in range(0, rows, _ROWS):
            several(moved(a, row * row_step), row_step, depth_step, b, pitch, count, min(_ROWS, rows - row), columns,
                    moved(c, row * c_pitch), c_pitch, free)  # fmt: skip

    return strip


_one, _two, _three = map(_make_strip, (1, 2, 3))


@jit
def _turn(b: Any, column_step: int, depth_step: int, depth: int, columns: int, lanes: int, target: Any) -> None:
    """The right operand row by row: squares of vectors where its columns are contiguous."""
    whole_depth, whole_columns = 0, 0
    if depth_step == 1:
        whole_depth, whole_columns = depth - depth % lanes, columns - columns % lanes
    for column in range(0, whole_columns, lanes):
        for step in range(0, whole_depth, lanes):
            transpose_block(moved(b, column * column_step + step), column_step, moved(target, step * columns + column), columns)
    for step in range(depth):
        first = whole_columns if step < whole_depth else 0
        source, line = carray(moved(b, step * depth_step), (1,)), carray(moved(target, step * columns), (columns,))
        for column in range(first, columns):
            line[column] = source[column * column_step]


@jit_parallel
def _multiply(a: int, row_step: int, depth_step: int, a_places: Any, b: int, b_step: int, column_step: int, b_places: Any,
              depth: int, each: int, c: Any) -> None:
    """c (count, m, n), for the addresses of both operands, their steps, and the bytes from there to each matrix."""
    count, m, n = c.shape
    lanes = VECTOR_BYTES // c.itemsize
    for task in numba.prange((count + each - 1) // each):
        first = np.int64(task) * each
        room = np.empty(depth * n if column_step != 1 else 0, c.dtype)
        last: Any = min(count, first + each)
        for i in range(first, last):
            left, right, pitch = pointer(c, a + a_places[i]), pointer(c, b + b_places[i]), b_step
            if column_step != 1:
                _turn(right, column_step, b_step, depth, n, lanes, pointer(c, room.ctypes.data))
                right, pitch = pointer(c, room.ctypes.data), n
            target = pointer(c, c.ctypes.data + i * m * n * c.itemsize)
            # A store with a mask takes 20 ns. Without, it changes what follows the row, which this task writes later.
            free = n <= _MOST_VECTORS * lanes and (last - i - 1) * m * n >= lanes
            for column in range(0, n, _MOST_VECTORS * lanes):
                rest, source, there = n - column, moved(right, column), moved(target, column)
                if rest > 2 * lanes:
                    rest = min(rest, _MOST_VECTORS * lanes)
                    _three(left, row_step, depth_step, source, pitch, depth, m, rest, there, n, free)
                elif rest > lanes:
                    _two(left, row_step, depth_step, source, pitch, depth, m, rest, there, n, free)
                else:
                    _one(left, row_step, depth_step, source, pitch, depth, m, rest, there, n, free)


def suits(a: Array, b: Array) -> bool:
    """Whether these stacks of float32 or float64 are of small matrices, and enough of them. Not for columns, and not for rows
    times matrices that have to be turned, each for a single product.
    """
    (m, k), n, item = a.shape[-2:], b.shape[-1], a.itemsize
    if m * k * n > _MOST_WORK or n == 1 or (m == 1 and b.strides[-1] != item):
        return False
    if max(a.size // (m * k), b.size // (k * n)) < _LEAST_COUNT:
        return False
    return not any(step % item for step in a.strides + b.strides)


def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a @ b`` for stacks that suit, broadcast; `out` is contiguous, of its shape and dtype."""
    lead, (m, k), n, item = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2:], b.shape[-1], a.itemsize
    c = empty((*lead, m, n), a.dtype) if out is None else out
    each = max(1, _SHARE // (m * k * n + _OVERHEAD))
    _multiply(address_of(a), a.strides[-2] // item, a.strides[-1] // item, places(a, lead), address_of(b), b.strides[-2] // item,
              b.strides[-1] // item, places(b, lead), k, each, c.reshape(math.prod(lead), m, n))  # fmt: skip
    return c
