"""Products of a few rows with the same matrix again and again, which is packed once: the steps of a recurrent network.

A product of 8 rows takes OpenBLAS twice as long as the arithmetic, as it packs the matrix each time. Fewer rows are filled up
with zeros.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ._address import address_of
from ._compile import jit_parallel
from ._microkernels import VECTOR_BYTES, WHOLE_VECTORS
from ._panel_product import LINE, multiply_panel
from ._panels import COLUMN_PANEL_BYTES, ROW_BLOCK, pack_columns, pointer
from ._pool import empty
from .blas import TILES_FROM

Array = np.ndarray[Any, Any]
# Fewer rows are multiplied with the matrix as it lies in less time than a block that is filled up.
LEAST_ROWS = 4
# Multiply-adds of one iteration of a parallel loop: 10 us.
_SHARE = 1 << 19


@jit_parallel
def _pack(b: int, column_step: int, depth_step: int, columns: int, depth: int, packed: Any, start: int) -> None:
    item = packed.itemsize
    width, lanes = COLUMN_PANEL_BYTES // item, VECTOR_BYTES // item
    for panel in numba.prange((columns + width - 1) // width):
        column = np.int64(panel) * width
        have = min(width, columns - column)
        pack_columns(pointer(packed, b + column * column_step * item), column_step, depth_step, have, depth,
                     lanes if have <= lanes else width, lanes, pointer(packed, start + column * depth * item))  # fmt: skip


@jit_parallel
def _multiply(a: int, rows: int, depth: int, packed: int, each: int, c: Any) -> None:
    """c = a @ the packed columns, for the addresses of both; a thread takes `each` panels at least."""
    item, columns = c.itemsize, c.shape[1]
    width = COLUMN_PANEL_BYTES // item
    panels = (columns + width - 1) // width
    for task in numba.prange((panels + each - 1) // each):
        spare = np.empty(ROW_BLOCK * width, c.dtype)
        first = np.int64(task) * each
        for panel in range(first, min(panels, first + each)):
            column = panel * width
            multiply_panel(pointer(c, a), False, depth, pointer(c, packed + column * depth * item), depth, rows,
                           min(width, columns - column), pointer(c, c.ctypes.data + column * item), columns, False, False,
                           c[0, :0], pointer(c, spare.ctypes.data), pointer(c, packed), 0)  # fmt: skip


def suits(b: Array, rows: int) -> bool:
    """Whether products of `rows` rows with `b` are faster by `PackedColumns`; small ones of less than a block are not."""
    enough = rows >= ROW_BLOCK or (rows >= LEAST_ROWS and rows * b.size >= TILES_FROM)
    return WHOLE_VECTORS and enough and b.size > 0 and b.dtype.char in "fd"


class PackedColumns:
    """The columns of a matrix (k, n) of float32 or float64, of which one of the steps is 1, for products with it."""

    def __init__(self, b: Array) -> None:
        depth, columns = b.shape
        self._columns = columns
        width = COLUMN_PANEL_BYTES // b.itemsize
        self._room = empty((-(-columns // width) * width * depth + LINE // b.itemsize,), b.dtype)
        address = address_of(self._room)
        self._start = address + -address % LINE
        _pack(address_of(b), b.strides[1] // b.itemsize, b.strides[0] // b.itemsize, columns, depth, self._room, self._start)
        self._work = depth * width

    def product(self, a: Array) -> Array:
        """``a @ matrix`` for a contiguous (m, k) of its dtype."""
        wanted, depth = a.shape
        rows = max(wanted, ROW_BLOCK)
        if wanted < rows:
            a, given = np.zeros((rows, depth), a.dtype), a
            a[:wanted] = given
        c = empty((rows, self._columns), a.dtype)
        _multiply(address_of(a), rows, depth, self._start, max(1, _SHARE // (rows * self._work)), c)
        return c[:wanted]
