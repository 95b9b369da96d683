"""Matrix products of our own, faster than OpenBLAS but where packing takes longer than the products.

The result is cut into tiles (`_product_tiles`), which the threads share. Each packs what it needs itself, right before: a panel
of columns stays in the L1 cache for all rows of the tile. Packing once for all tiles would take a launch more, and the panels
would come from the L3 cache; it took as long for a GPT's products and 10 % longer for those of 64 rows. Rows of the left operand
are read where they lie, as their way from L2 or L3 goes on behind the arithmetic; only one with contiguous columns is packed, as
its elements would push each other out of the cache. With each step of the sum a line of what comes next is asked for: of the
columns of the next panel, unless the steps of these are contiguous, and with AVX-512 of the target and the rows of the next
block. Where that saves packing, the transposed product is computed, and turned.

The order of each sum depends on the shape and layout of the operands only, not on tiles or threads.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ._address import address_of
from ._compile import jit, jit_parallel
from ._microkernels import VECTOR_BYTES, WHOLE_VECTORS
from ._panels import (
    COLUMN_PANEL_BYTES,
    EACH_STEP,
    ROW_BLOCK,
    ROW_PANEL_BYTES,
    add_panel,
    moved,
    multiply_block,
    pack_columns,
    pack_rows,
    pointer,
    transpose_block,
)
from ._pool import empty
from ._product_tiles import Operands, tiles_of, waste
from .threads import THREADS

Array = np.ndarray[Any, Any]
# Steps of a sum that are computed at a time: a panel of them, 32 KiB, stays in the L1 cache of 48 KiB.
_DEPTH_BYTES = 1024
# AVX2 reads so little in a cycle that a panel of 48 or 96 KiB may come from the L2 cache: with rows that are not packed products
# take 0.9 to 0.95 of the time of panels of 24 KiB on a Zen 3, as rows 4 KiB apart push each other out of the L1 cache of 32 KiB.
# Of float32 1024 steps would save 0.04 more, with rounding errors 2.3 times as large as those of OpenBLAS.
_DEPTH_OF_READ_ROWS = 512
_LEAST_SIDE = 8  # rows and columns
# Beyond this share of packing and padding, OpenBLAS is faster: for few rows or columns. It takes twice as long where the steps
# of the right operand are contiguous.
_MOST_WASTE, _MOST_WASTE_CONTIGUOUS = 0.3, 0.6
LINE = 64  # bytes of a cache line


@jit
def _deliver(block: Any, width: int, rows: int, columns: int, target: Any, pitch: int, add: bool, bias: Any) -> None:
    """Part of a register block, whose rows are `width` apart, goes to the target; with `add` plus `bias`, or plus the target."""
    for r in range(rows):
        line, values = carray(moved(target, r * pitch), (columns,)), carray(moved(block, r * width), (columns,))
        for j in range(columns):
            if not add:
                line[j] = values[j]
            elif bias.size > 0:
                line[j] = values[j] + bias[j]
            else:
                line[j] += values[j]


@jit
def multiply_panel(a: Any, packed: bool, line_step: int, panel: Any, count: int, rows: int, columns: int, target: Any,
                   pitch: int, padded: bool, add: bool, bias: Any, spare: Any, later: Any, later_step: int) -> None:
    """`rows` and `columns`, at most those of a panel, of the target are a @ panel for `count` steps; with `add` plus `bias`, or
    plus the target if that is empty. A `padded` target has room for whole blocks; else those at the edges go through `spare`.

    Blocks of packed rows are complete; the last one of others takes the rows before along. Meanwhile the columns of the next
    panel are asked for at `later`, whose steps of the sum are `later_step` apart; 0 for none.
    """
    lanes = VECTOR_BYTES // bias.itemsize
    narrow = columns <= lanes
    width = lanes if narrow else COLUMN_PANEL_BYTES // bias.itemsize
    for i in range(0, rows, ROW_BLOCK):
        have = min(ROW_BLOCK, rows - i)
        skipped = 0 if packed else ROW_BLOCK - have
        block = moved(a, i // lanes * lanes * count + i % lanes if packed else (i - skipped) * line_step)
        whole, there = padded or (have == ROW_BLOCK and columns == width), moved(target, i * pitch)
        to, to_pitch = there, pitch
        if not whole:
            to, to_pitch = spare, width
        added, added_pitch = there, pitch
        if bias.size > 0:
            added, added_pitch = pointer(bias, bias.ctypes.data), 0
        number = i // ROW_BLOCK
        asked = moved(later, lanes - 1 + number * count // 2 * later_step if number < 2 else 0)
        multiply_block(block, packed, line_step, panel, narrow, count, to, to_pitch, add and whole, added, added_pitch, asked,
                       later_step, EACH_STEP if number < 2 else 0)  # fmt: skip
        if not whole:
            _deliver(moved(spare, skipped * width), width, have, columns, there, pitch, add, bias)


@jit
def _multiply_tile(a: int, line_step: int, depth_step: int, b: int, b_step: int, column_step: int, depth: int, block: int,
                   rows: int, columns: int, room: Any, target: Any, pitch: int, padded: bool, bias: Any, sums: Any) -> None:
    """`rows` and `columns` of the target are a @ b + bias for addresses of the first row and column; `room` is for packing.

    The sums of packed rows are added to `sums`, whole vectors, unless that is empty.
    """
    item, packed = room.itemsize, depth_step != 1
    width, lanes = COLUMN_PANEL_BYTES // item, VECTOR_BYTES // item
    address = np.int64(room.ctypes.data)
    start = address + (LINE - address % LINE)
    spare, panel = pointer(room, start), pointer(room, start + ROW_BLOCK * width * item)
    packed_rows = pointer(room, start + (ROW_BLOCK + block) * width * item)
    for first in range(0, depth, block):
        count = min(block, depth - first)
        lines = pointer(room, a + first * depth_step * item)
        if packed:
            pack_rows(lines, depth_step, rows, count, ROW_PANEL_BYTES // item, packed_rows)
            lines = packed_rows
            for i in range(0, sums.size, lanes):
                add_panel(moved(lines, i * count), count, pointer(sums, sums.ctypes.data + i * sums.itemsize))
        for j in range(0, columns, width):
            have = min(width, columns - j)
            source = pointer(room, b + (j * column_step + first * b_step) * item)
            pack_columns(source, column_step, b_step, have, count, lanes if have <= lanes else width, lanes, panel)
            part = bias[j:] if first == 0 else bias[:0]
            multiply_panel(lines, packed, line_step, panel, count, rows, have, moved(target, j), pitch, padded,
                           first > 0 or part.size > 0, part, spare, moved(source, width * column_step),
                           b_step if column_step == 1 and j + width < columns else 0)  # fmt: skip


@jit
def turn(sums: Any, pitch: int, rows: int, columns: int, skipped: int, bias: Any, target: Any, step: int) -> None:
    """target[j, i] = sums[i, j] + bias[i] for rows `step` apart.

    In the sums the last `rows` % ROW_BLOCK rows come after `skipped` others.
    """
    item = sums.itemsize
    lanes, blocks = VECTOR_BYTES // item, rows - rows % ROW_BLOCK
    whole_rows, whole_columns = blocks - blocks % lanes, columns - columns % lanes
    for j in range(0, whole_columns, lanes):
        for i in range(0, whole_rows, lanes):
            block = pointer(sums, sums.ctypes.data + (i * pitch + j) * item)
            transpose_block(block, pitch, moved(target, j * step + i), step)
    for j in range(columns):
        line = carray(moved(target, j * step), (rows,))
        for i in range(whole_rows if j < whole_columns else 0, rows):
            line[i] = sums[(i if i < blocks else i + skipped) * pitch + j]
        for i in range(bias.size):
            line[i] += bias[i]


@jit_parallel
def _multiply(a: int, line_step: int, depth_step: int, b: int, b_step: int, column_step: int, m: int, n: int, depth: int,
              block: int, tile_rows: int, tile_columns: int, turned: bool, bias: Any, row_sums: Any, c: Any) -> None:
    """c (m, n), or (n, m) if `turned`, is a @ b + bias for the addresses of both and their steps; no bias if that is empty.

    The sums of the rows of a, if they are packed, are added to `row_sums` (m rounded up to whole vectors), unless that is empty.

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
        item, packed = c.itemsize, depth_step != 1
        width, lanes = COLUMN_PANEL_BYTES // item, VECTOR_BYTES // item
        lines, padded = (rows + lanes - 1) // lanes * lanes, (columns + width - 1) // width * width  # whole panels
        room = np.empty((ROW_BLOCK + block) * width + (lines * block if packed else 0) + LINE // item, c.dtype)
        sums = np.empty(lines * padded if turned else 0, c.dtype)
        place = column * c.shape[1] + row if turned else row * c.shape[1] + column
        there = pointer(c, c.ctypes.data + place * item)
        target, pitch, part = there, c.shape[1], bias[column:]
        if turned:
            target, pitch, part = pointer(c, sums.ctypes.data), padded, bias[:0]
        _multiply_tile(a + row * line_step * item, line_step, depth_step, b + column * column_step * item, b_step, column_step,
                       depth, block, rows, columns, room, target, pitch, turned, part,
                       row_sums[row : row + lines] if column == 0 else row_sums[:0])  # fmt: skip
        if turned:
            skipped = 0 if packed else -rows % ROW_BLOCK
            turn(sums, padded, rows, columns, skipped, bias[row : row + rows], there, c.shape[1])


def _operands(a: Array, b: Array) -> Operands:
    item = a.itemsize
    return Operands(a.shape[0], a.shape[1], b.shape[1], a.strides[1] == item, b.strides[0] == item, item)


def suits(a: Array, b: Array) -> bool:
    """Whether this is faster than OpenBLAS: with vectors of AVX2 or AVX-512, where most of the time goes into wanted products."""
    if not WHOLE_VECTORS or min(a.shape[0], b.shape[1]) < _LEAST_SIDE:
        return False
    operands = _operands(a, b)
    return waste(operands) <= (_MOST_WASTE_CONTIGUOUS if operands.right_contiguous else _MOST_WASTE)


def matmul(a: Array, b: Array, bias: Array | None = None, out: Array | None = None) -> Array:
    """``a @ b + bias``, bit for bit the same on any number of threads, for matrices of float32 or of float64, not empty.

    `a` (m, k) and `b` (k, n) have at least 8 rows and 8 columns and unit steps along rows or columns. `bias` (n,) and `out` are
    contiguous.
    """
    return _product(a, b, bias, np.empty(0), out)


def matmul_and_sums(a: Array, b: Array) -> tuple[Array, Array | None]:
    """``a @ b``, and the sums of the rows of `a`, or None where these are not packed. They are added up in float64.

    Reading the packed rows once more takes half of the time of a sum of its own.
    """
    if a.strides[1] == a.itemsize or tiles_of(_operands(a, b), 1).turned:
        return matmul(a, b), None
    lanes, m = VECTOR_BYTES // a.itemsize, a.shape[0]
    sums = np.zeros(-(-m // lanes) * lanes)
    return _product(a, b, None, sums, None), sums[:m].astype(a.dtype)


def _product(a: Array, b: Array, bias: Array | None, row_sums: Array, out: Array | None) -> Array:
    result, item, k = empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out, a.itemsize, a.shape[1]
    turned, rows, columns = tiles_of(_operands(a, b), THREADS.value)
    if turned:
        a, b = b.T, a.T
    longest = _DEPTH_OF_READ_ROWS if VECTOR_BYTES == 32 and a.strides[1] == item else _DEPTH_BYTES // item
    _multiply(address_of(a), a.strides[0] // item, a.strides[1] // item, address_of(b), b.strides[0] // item,
              b.strides[1] // item, a.shape[0], b.shape[1], k, -(-k // -(-k // longest)), rows, columns, turned,
              result[0, :0] if bias is None else bias, row_sums, result)  # fmt: skip
    return result
