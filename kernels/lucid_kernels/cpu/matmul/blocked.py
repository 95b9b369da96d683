"""Matrix products of our own, which read the operands where they lie: faster than OpenBLAS, which packs both.

The result is cut into tiles (`tiling`), which the threads share. A tile is computed in strips of three vectors' columns
and some hundred steps of the sum, which blocks of rows read from the L2 cache faster than they can multiply. What would not be
read in whole lines, or push itself out of the caches, is copied for a tile first: columns whose steps are contiguous, and steps
that lie KiB apart. Products of 64 to 256 rows and columns take 0.75 to 0.95 of the time with everything packed into panels, large
ones 0.95 to 1.03; with AVX2, on a Zen 3, those of 256 rows and more take 0.85 to 1.2 of MKL's time. Where that saves copies the
transposed product is computed, and turned.

The order of each sum depends on the shape and layout of the operands only, not on tiles or threads.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ..arrays.layout import Array
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.implementations import unmet
from ..runtime.jit import jit, jit_parallel
from ..runtime.threads import THREADS
from ..simd.address import address_of
from ..simd.aligned import aligned_empty
from ..simd.cpu_features import PREFETCH_WITHIN, VECTOR_BYTES, WHOLE_VECTORS
from ..simd.pointer import moved, pointer
from ..simd.transpose import transpose_block
from .microkernels import MOST_VECTORS, make_multiply
from .packing import copy_strip, pack_rows
from .problem import Problem, with_unit_steps
from .tiling import BLOCK_ROWS, FEW_ROWS, Plan, plan_of

# Steps of a sum that are added up at a time: of more in a row rounding errors grow to more than twice PyTorch's.
STEPS = 256
# With AVX-512 the loads of a block are masked at the edge, in registers of their own. With AVX2 a mask would take a register of
# the sums, so columns at the edge are copied into strips that are filled up; so would prefetching what the next block needs.
_IS_WIDE = VECTOR_BYTES == 64
_NO_SUMS = np.empty(0)


def _make_strip(vector_count: int) -> Any:
    block = make_multiply(BLOCK_ROWS, vector_count, filled=not _IS_WIDE, prefetches=_IS_WIDE and PREFETCH_WITHIN)
    few = make_multiply(FEW_ROWS, vector_count, filled=not _IS_WIDE)

    @jit
    def strip(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, add, added, added_pitch, free):
        """All rows of some columns."""
        for row in range(0, rows, BLOCK_ROWS):
            lines, there, more = moved(a, row * row_step), moved(c, row * c_pitch), moved(added, row * added_pitch)
            have = min(rows - row, BLOCK_ROWS)
            if have > FEW_ROWS:
                block(lines, row_step, depth_step, b, pitch, count, have, columns, there, c_pitch, add, more, added_pitch, free)
            else:
                few(lines, row_step, depth_step, b, pitch, count, have, columns, there, c_pitch, add, more, added_pitch, free)

    return strip


_one, _two, _three = map(_make_strip, (1, 2, 3))


@jit
def multiply_strip(a: Any, row_step: int, depth_step: int, b: Any, pitch: int, count: int, rows: int, columns: int, c: Any,
                   c_pitch: int, add: bool, added: Any, added_pitch: int, free: bool, lanes: int) -> None:
    """`rows` and `columns`, at most those of a strip, of c are a @ b, and with `add` plus `added`, as in `make_multiply`."""
    if columns > 2 * lanes:
        _three(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, add, added, added_pitch, free)
    elif columns > lanes:
        _two(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, add, added, added_pitch, free)
    else:
        _one(a, row_step, depth_step, b, pitch, count, rows, columns, c, c_pitch, add, added, added_pitch, free)


@jit
def turn(sums: Any, pitch: int, rows: int, columns: int, bias: Any, target: Any, step: int) -> None:
    """target[j, i] = sums[i, j] + bias[i] for rows `pitch` and `step` apart."""
    item = sums.itemsize
    lanes = VECTOR_BYTES // item
    whole_rows, whole_columns = rows - rows % lanes, columns - columns % lanes
    for j in range(0, whole_columns, lanes):
        for i in range(0, whole_rows, lanes):
            block = pointer(sums, sums.ctypes.data + (i * pitch + j) * item)
            transpose_block(block, pitch, moved(target, j * step + i), step)
    for j in range(columns):
        line = carray(moved(target, j * step), (rows,))
        for i in range(whole_rows if j < whole_columns else 0, rows):
            line[i] = sums[i * pitch + j]
        for i in range(bias.size):
            line[i] += bias[i]


@jit
def _add_up_rows(lines: Any, depth_step: int, rows: int, depth: int, sums: Any) -> None:
    """The sums, of float64, of rows whose elements of one step are contiguous."""
    for first in range(0, depth, STEPS):
        part = np.zeros(rows)
        for step in range(first, min(depth, first + STEPS)):
            line = carray(moved(lines, step * depth_step), (rows,))
            for row in range(rows):
                part[row] += line[row]
        sums += part


@jit
def _multiply_tile(a: Any, row_step: int, depth_step: int, packed: bool, b: Any, b_step: int, column_step: int, copied: bool,
                   depth: int, block: int, rows: int, columns: int, c: Any, pitch: int, free: bool, bias: Any) -> None:
    """`rows` and `columns` of c are a @ b + bias, `block` steps at a time; no bias if that is empty.

    Rows are `packed` into panels of a vector's lanes, columns `copied` strip by strip, if that is said.
    """
    item = bias.itemsize
    lanes = VECTOR_BYTES // item
    width, row_panel = MOST_VECTORS * lanes, lanes if packed else rows
    strip = aligned_empty(block * width if copied or not _IS_WIDE else 0, bias)
    panels = aligned_empty((rows + lanes - 1) // lanes * lanes * block if packed else 0, bias)
    for first in range(0, depth, block):
        count = min(block, depth - first)
        lines, line_step, step = moved(a, first * depth_step), row_step, depth_step
        if packed:
            source, lines, line_step, step = lines, pointer(bias, panels.ctypes.data), 1, lanes
            pack_rows(source, depth_step, rows, count, lanes, lines)
        j = 0
        while j < columns:
            # Of four vectors two and two: blocks of one have too few sums to hide the latency of an addition.
            have = min(2 * lanes if width < columns - j <= 4 * lanes else width, columns - j)
            right, right_pitch = moved(b, j * column_step + first * b_step), b_step
            if copied or (not _IS_WIDE and have % lanes != 0):
                source, right, right_pitch = right, pointer(bias, strip.ctypes.data), width
                copy_strip(source, column_step, b_step, have, count, lanes, right, width)
            for i in range(0, rows, row_panel):
                target = moved(c, i * pitch + j)
                added, added_pitch = target, pitch
                if first == 0:
                    added, added_pitch = pointer(bias, bias.ctypes.data + j * item), 0
                multiply_strip(moved(lines, i * (count if packed else 1)), line_step, step, right, right_pitch, count,
                                min(row_panel, rows - i), have, target, pitch, first > 0 or bias.size > 0, added, added_pitch,
                                free, lanes)  # fmt: skip
            j += have


@jit_parallel
def _multiply(a: int, row_step: int, depth_step: int, packed: bool, b: int, b_step: int, column_step: int, copied: bool, m: int,
              n: int, depth: int, block: int, tile_rows: int, tile_columns: int, turned: bool, bias: Any, row_sums: Any,
              c: Any) -> None:
    """c (m, n), or (n, m) if `turned`, is a @ b + bias for the addresses of both and their steps; no bias if that is empty.

    The sums of the rows of a, whose elements of one step are contiguous then, are added to `row_sums` unless that is empty.

    Tiles are in such an order that a thread reads the part of a linear layer's weight, and computes that of its gradient, that it
    has in the optimizer's loop: lines that another core has written come late. A step of a perceptron of 784, 256 and 10 takes
    0.84 of the time.
    """
    down, across = (m + tile_rows - 1) // tile_rows, (n + tile_columns - 1) // tile_columns
    by_rows = turned or depth_step != 1
    for tile in numba.prange(down * across):
        number = np.int64(tile)
        i, j = (number // across, number % across) if by_rows else (number % down, number // down)
        row, column = i * tile_rows, j * tile_columns
        rows: Any = min(tile_rows, m - row)
        columns: Any = min(tile_columns, n - column)
        item = c.itemsize
        lanes = VECTOR_BYTES // item
        left, right = pointer(c, a + row * row_step * item), pointer(c, b + column * column_step * item)
        if row_sums.size > 0 and column == 0:
            _add_up_rows(left, depth_step, rows, depth, row_sums[row : row + rows])
        place = column * c.shape[1] + row if turned else row * c.shape[1] + column
        there = pointer(c, c.ctypes.data + place * item)
        padded = (columns + lanes - 1) // lanes * lanes
        sums = aligned_empty(rows * padded if turned else 0, c)
        target, pitch, part = there, c.shape[1], bias[column:]
        if turned:
            target, pitch, part = pointer(c, sums.ctypes.data), padded, bias[:0]
        _multiply_tile(left, row_step, depth_step, packed, right, b_step, column_step, copied, depth, block, rows, columns,
                       target, pitch, turned, part)  # fmt: skip
        if turned:
            turn(sums, padded, rows, columns, bias[row : row + rows], there, c.shape[1])


def why_not(problem: Problem) -> str | None:
    return unmet(
        (WHOLE_VECTORS, "no vectors of AVX2 or AVX-512"),
        (problem.is_real, "complex numbers"),
        (problem.right[1] >= tuning.BLOCKED_FEWEST_COLUMNS or not problem.has_contiguous_rows, "few columns, contiguous rows"),
    )


def matmul(a: Array, b: Array, bias: Array | None = None, out: Array | None = None) -> Array:
    """``a @ b + bias``, bit for bit the same on any number of threads, for matrices of float32 or of float64, not empty.

    `a` (m, k) and `b` (k, n) are copied unless they have unit steps along rows or columns. `bias` (n,) and `out` are contiguous.
    """
    a, b = with_unit_steps(a), with_unit_steps(b)
    return _product(a, b, _plan(a, b), bias, _NO_SUMS, out)


def matmul_and_sums(a: Array, b: Array) -> tuple[Array, Array | None]:
    """``a @ b``, and the sums of the rows of `a`, or None where the product reads them in another order. They are added up in
    float64, right before the product needs them.
    """
    a, b = with_unit_steps(a), with_unit_steps(b)
    plan = _plan(a, b)
    if a.strides[1] == a.itemsize or plan.turned:
        return _product(a, b, plan, None, _NO_SUMS, None), None
    sums = np.zeros(a.shape[0])
    return _product(a, b, plan, None, sums, None), sums.astype(a.dtype)


def _plan(a: Array, b: Array) -> Plan:
    return plan_of(a.shape, b.shape[1], a.strides, b.strides, a.itemsize, THREADS.value)


def _product(a: Array, b: Array, plan: Plan, bias: Array | None, row_sums: Array, out: Array | None) -> Array:
    c, item, k = empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out, a.itemsize, a.shape[1]
    if plan.turned:
        a, b = b.T, a.T
    _multiply(address_of(a), a.strides[0] // item, a.strides[1] // item, plan.packs_rows, address_of(b), b.strides[0] // item,
              b.strides[1] // item, plan.copies_columns, a.shape[0], b.shape[1], k, -(-k // -(-k // STEPS)), plan.rows,
              plan.columns, plan.turned, c[0, :0] if bias is None else bias, row_sums, c)  # fmt: skip
    return c
