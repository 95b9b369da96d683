"""Matrix products of our own for processors with AVX-512, faster than OpenBLAS where one operand fits into the cache of a core.

The right operand is packed into panels once, by all threads; then they share tiles of the result, small enough that a core
which something else disturbs leaves the rest of its tiles to the other. A panel stays in the L1 cache for the rows of a tile.
Rows of the left operand are read where they lie: their way from the L3 cache goes on behind the arithmetic, while packing them
takes 5 %. Only one with contiguous columns is packed, tile by tile: its elements would push each other out of the cache.

In the products of a GPT's training step this runs at 200 to 230 GFLOP/s a thread in float32, OpenBLAS at 190 to 220; fused
multiply-adds alone reach 250. It takes 0.92 of the time of `gemm`'s tiles on two threads, 0.96 to 0.98 on one (0.88 in float64).
The order of each sum depends on its length only, not on tiles or threads.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._microkernels import VECTOR_BYTES
from ._panels import COLUMN_PANEL_BYTES, ROW_PANEL, moved, multiply_block, pack_columns, pack_rows, pointer
from ._pool import empty

Array = np.ndarray[Any, Any]
# Steps of a sum that are computed at a time: a panel of them, 32 KiB, stays in the L1 cache of 48 KiB.
_DEPTH_BYTES = 1024
# The sides of a tile.
_TILE_ROWS = 64
_TILE_BYTES = 2048
_PACKED = 128  # columns that one task packs
_LEAST_ROWS = 32  # fewer do not pay for packing
_MOST_PACKED = 1 << 18  # elements
_WIDE = 64  # bytes of a vector with AVX-512
_LINE = 64  # bytes of a cache line


@jit_parallel
def _pack(b: int, depth_step: int, column_step: int, depth: int, block: int, target: int, c: Any) -> None:
    """The columns of the matrix at the address `b`, as many as c has, in panels of `block` steps, the first steps first."""
    item, n = c.itemsize, c.shape[1]
    width = COLUMN_PANEL_BYTES // item
    padded, groups = (n + width - 1) // width * width, (n + _PACKED - 1) // _PACKED
    for task in numba.prange(groups * ((depth + block - 1) // block)):
        column, start = np.int64(task) % groups * _PACKED, np.int64(task) // groups * block
        count, columns = min(block, depth - start), min(_PACKED, n - column)
        source = pointer(c, b + (column * column_step + start * depth_step) * item)
        panels = pointer(c, target + (start * padded + column * count) * item)
        pack_columns(source, column_step, depth_step, columns, count, width, VECTOR_BYTES // item, panels)


@jit
def _multiply_edge(a: Any, packed: bool, line_step: int, b: Any, count: int, skipped: int, c: Any, columns: int, add: bool,
                   bias: Any) -> None:
    """A block of which c (rows, columns) is only a part: its rows come after `skipped` others, and not all columns are there."""
    whole = np.empty((ROW_PANEL, COLUMN_PANEL_BYTES // c.itemsize), c.dtype)
    target = pointer(c, whole.ctypes.data)
    multiply_block(a, packed, line_step, b, count, target, whole.shape[1], False, target, 0)
    for r in range(c.shape[0]):
        line, values = c[r], whole[skipped + r]
        if not add:
            line[:columns] = values[:columns]
        elif bias.size > 0:
            line[:columns] = values[:columns] + bias[:columns]
        else:
            line[:columns] += values[:columns]


@jit
def _multiply_tile(a: Any, packed: bool, line_step: int, panel_step: int, b: Any, count: int, c: Any, row: int,
                   rows: int, column: int, columns: int, add: bool, bias: Any) -> None:
    """`rows` and `columns` of c are a @ b for `count` steps, with `add` plus `bias`, or plus c if that is empty.

    Blocks of rows begin `panel_step` after each other in `a`. Those of a packed matrix are complete; the last one of another
    takes the rows before along.
    """
    width, n = COLUMN_PANEL_BYTES // c.itemsize, c.shape[1]
    for j in range(column, column + columns, width):
        panel = moved(b, (j - column) * count)
        rest = column + columns - j
        for i in range(row, row + rows, ROW_PANEL):
            block = moved(a, (i - row) // ROW_PANEL * panel_step)
            have = row + rows - i
            if have >= ROW_PANEL and rest >= width:
                target = pointer(c, c.ctypes.data + (i * n + j) * c.itemsize)
                added, added_pitch = target, n
                if bias.size > 0:
                    added, added_pitch = pointer(c, bias.ctypes.data + j * c.itemsize), 0
                multiply_block(block, packed, line_step, panel, count, target, n, add, added, added_pitch)
            else:
                have = min(have, ROW_PANEL)
                skipped = 0 if packed else ROW_PANEL - have
                _multiply_edge(moved(block, -skipped * line_step), packed, line_step, panel, count, skipped,
                               c[i : i + have, j:], min(width, rest), add, bias[j:])  # fmt: skip


@jit_parallel
def _multiply(a: int, line_step: int, depth_step: int, b: int, depth: int, block: int, bias: Any, c: Any) -> None:
    """c = a @ b + bias for the address of `a`, its steps, and the address of the packed b; no bias if that is empty."""
    (m, n), item = c.shape, c.itemsize
    width, tile_columns, packed = COLUMN_PANEL_BYTES // item, _TILE_BYTES // item, depth_step != 1
    across, padded = (n + tile_columns - 1) // tile_columns, (n + width - 1) // width * width
    for tile in numba.prange((m + _TILE_ROWS - 1) // _TILE_ROWS * across):
        row, column = np.int64(tile) // across * _TILE_ROWS, np.int64(tile) % across * tile_columns
        rows, columns = min(_TILE_ROWS, m - row), min(tile_columns, n - column)
        room = np.empty(_TILE_ROWS * block if packed else 0, c.dtype)
        for start in range(0, depth, block):
            count = min(block, depth - start)
            lines = pointer(c, a + (row * line_step + start * depth_step) * item)
            panel_step = ROW_PANEL * line_step
            if packed:
                own = pointer(c, room.ctypes.data)
                pack_rows(lines, depth_step, rows, count, own)
                lines, panel_step = own, ROW_PANEL * count
            panels = pointer(c, b + (start * padded + column * count) * item)
            _multiply_tile(lines, packed, line_step, panel_step, panels, count, c, row, rows, column, columns,
                           start > 0 or bias.size > 0, bias if start == 0 else bias[:0])  # fmt: skip


def _steps(matrix: Array) -> tuple[int, int]:
    """Of the rows and of the columns, in elements."""
    return matrix.strides[0] // matrix.itemsize, matrix.strides[1] // matrix.itemsize


def suits(a: Array, b: Array) -> bool:
    """Whether this is faster than OpenBLAS.

    It is with wide vectors, a packed operand of the size of an L2 cache (beyond, it takes 1.05 to 1.1 of OpenBLAS's time), and a
    last panel that does not waste much of the work.
    """
    n, width = b.shape[1], COLUMN_PANEL_BYTES // a.itemsize
    return VECTOR_BYTES == _WIDE and a.shape[0] >= _LEAST_ROWS and b.size <= _MOST_PACKED and -n % width * 16 <= n


def matmul(a: Array, b: Array, bias: Array | None = None) -> Array:
    """``a @ b + bias``, bit for bit the same on any number of threads, for matrices of float32 or of float64, not empty.

    `a` (m, k) has at least ROW_PANEL rows; it and `b` (k, n) have unit steps along rows or columns. `bias` (n,) is contiguous.
    """
    (m, k), n = a.shape, b.shape[1]
    result = empty((m, n), a.dtype)
    longest, width = _DEPTH_BYTES // a.itemsize, COLUMN_PANEL_BYTES // a.itemsize
    block = -(-k // -(-k // longest))
    room = empty((-(-n // width) * width * k + _LINE // a.itemsize,), a.dtype)
    panels = -(-room.ctypes.data // _LINE) * _LINE
    _pack(b.ctypes.data, *_steps(b), k, block, panels, result)
    _multiply(a.ctypes.data, *_steps(a), panels, k, block, result[0, :0] if bias is None else bias, result)
    return result
