"""Products of a few rows with the same matrix again and again, which is packed once: the steps of a recurrent network.

A product of 8 rows takes OpenBLAS twice as long as the arithmetic, as it packs the matrix each time.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.jit import jit_parallel
from ..simd.address import address_of
from ..simd.aligned import aligned
from ..simd.cpu_features import VECTOR_BYTES, WHOLE_VECTORS
from ..simd.pointer import pointer
from .blocked import STEPS, multiply_strip
from .microkernels import MOST_VECTORS
from .packing import copy_strip
from .tiling import BLOCK_ROWS

Array = np.ndarray[Any, Any]
# Vectors of a strip: three of 64 bytes give the threads unequal shares of the usual powers of two, 1.04 of the time.
_VECTORS = 2 if VECTOR_BYTES == 64 else MOST_VECTORS
_STRIP_BYTES = _VECTORS * VECTOR_BYTES
# Multiply-adds of one iteration of a parallel loop: 10 us.
_SHARE = 1 << 19


@jit_parallel
def _pack(b: int, column_step: int, depth_step: int, columns: int, depth: int, packed: Any) -> None:
    """Fill the strips of flat `packed` with the columns at an address."""
    item = packed.itemsize
    width, lanes = _STRIP_BYTES // item, VECTOR_BYTES // item
    for strip in numba.prange((columns + width - 1) // width):
        column = np.int64(strip) * width
        copy_strip(pointer(packed, b + column * column_step * item), column_step, depth_step, min(width, columns - column), depth,
                   lanes, pointer(packed, packed.ctypes.data + column * depth * item), width)  # fmt: skip


@jit_parallel
def _multiply(a: int, rows: int, depth: int, packed: Any, each: int, c: Any) -> None:
    """c = a @ the packed columns, for the address of contiguous `a`; a thread takes `each` strips at least."""
    item, columns = c.itemsize, c.shape[1]
    width, lanes = _STRIP_BYTES // item, VECTOR_BYTES // item
    strips = (columns + width - 1) // width
    for task in numba.prange((strips + each - 1) // each):
        first = np.int64(task) * each
        for strip in range(first, min(strips, first + each)):
            column = strip * width
            target = pointer(c, c.ctypes.data + column * item)
            for begun in range(0, depth, STEPS):
                lines = pointer(c, packed.ctypes.data + (column * depth + begun * width) * item)
                multiply_strip(pointer(c, a + begun * item), depth, 1, lines, width, min(STEPS, depth - begun), rows,
                               min(width, columns - column), target, columns, begun > 0, target, columns, False,
                               lanes)  # fmt: skip


def suits(b: Array, rows: int) -> bool:
    """Whether products of `rows` rows with `b` are faster by `PackedColumns`; small ones of less than a block are not."""
    enough = rows >= BLOCK_ROWS or (rows >= tuning.PREPACKED_LEAST_ROWS and rows * b.size >= tuning.SHARED_FROM)
    return WHOLE_VECTORS and enough and b.size > 0 and b.dtype.char in "fd"


class PackedColumns:
    """The columns of a matrix (k, n) of float32 or float64, of which one of the steps is 1, for products with it."""

    def __init__(self, b: Array) -> None:
        depth, self._columns = b.shape
        width = _STRIP_BYTES // b.itemsize
        self._packed = aligned(-(-self._columns // width) * width * depth, b.dtype)
        _pack(address_of(b), b.strides[1] // b.itemsize, b.strides[0] // b.itemsize, self._columns, depth, self._packed)
        self._work = depth * width

    def product(self, a: Array) -> Array:
        """``a @ matrix`` for a contiguous (m, k) of its dtype."""
        c = empty((len(a), self._columns), a.dtype)
        _multiply(address_of(a), *a.shape, self._packed, max(1, _SHARE // (len(a) * self._work)), c)
        return c
