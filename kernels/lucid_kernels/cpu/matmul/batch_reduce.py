"""Sums over images of products of matrices, whose left rows are planes: weight gradients of convolutions.

A task adds up some images, for a tile of the result: it packs panels of columns at a few hundred positions, straight from the
image, and reads the rows where they lie, each block of them once for all panels. Sums and panels stay in the L2 cache. In 0.4
to 0.9 of the time of a product of matrices for each image, which all threads begin and end together. Panel by panel, for all
rows, it took 1.1 times as long with AVX2, and as long with AVX-512.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ..arrays.layout import Array
from ..runtime.allocator import empty
from ..runtime.jit import jit, jit_parallel
from ..simd.aligned import aligned_empty, whole_vectors
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.pointer import moved, pointer
from .blocked import turn
from .packing import copy_strip
from .panel_microkernels import PANEL_BYTES, block_count, filled, first_row, multiply_pixels

# Steps of a sum that are added up at a time: a panel of them, with AVX2, stays in the L1 cache. Twice as many are no faster.
_DEPTH_BYTES = 1024
# Columns and rows of a tile at most, and columns at least, where there are few tiles.
_COLUMNS, _ROWS, _FEWEST_COLUMNS = 128, 256, 64
# Work is cut into this many tasks at least. The number is fixed, so results do not depend on the number of threads.
_TASKS = 8


@jit
def _add_images(left: int, left_step: int, right: int, right_step: int, positions: int, depth: int, rows: int, columns: int,
                images: int, packed: Any, sums: Any, pitch: int) -> None:
    """Fill sums (rows, whole panels) with the products of the rows and columns of some images at two addresses, `left_step` and
    `right_step` elements apart from one image to the next.
    """
    item = sums.itemsize
    width, lanes = PANEL_BYTES // item, VECTOR_BYTES // item
    for n in range(images):
        for start in range(0, positions, depth):
            count = min(depth, positions - start)
            for column in range(0, columns, width):
                have = min(width, columns - column)
                wide = lanes if have <= lanes else width
                planes = pointer(sums, right + (n * right_step + column * positions + start) * item)
                copy_strip(planes, positions, 1, have, count, lanes, moved(packed, column * count), wide)
            for block in range(block_count(rows)):
                row = first_row(block, rows)
                lines = pointer(sums, left + (n * left_step + row * positions + start) * item)
                for column in range(0, columns, width):
                    target = pointer(sums, sums.ctypes.data + (row * pitch + column) * item)
                    multiply_pixels(first_row(block + 1, rows) - row, lines, positions, moved(packed, column * count),
                                    columns - column <= lanes, count, target, pitch, n > 0 or start > 0, target, pitch, lines, 0,
                                    0)  # fmt: skip


@jit_parallel
def _sum_parts(left: Any, right: Any, positions: int, depth: int, rows: int, columns: int, down: int, across: int, turned: bool,
               result: Any) -> None:
    """result (parts, rows, columns), or transposed if `turned`: the products of flat left (N, rows, P) and right
    (N, columns, P), each part of some of the images.

    Tasks share the rows in `down` parts and the columns in `across` parts. `depth` positions at most are added up at a time.
    """
    item, parts = left.itemsize, result.shape[0]
    width, images, blocks = PANEL_BYTES // item, left.size // (rows * positions), block_count(rows)
    panels = (columns + width - 1) // width
    for task in numba.prange(parts * down * across):
        part, high, side = np.int64(task) // (down * across), np.int64(task) // across % down, np.int64(task) % across
        first, last = side * panels // across * width, min(columns, (side + 1) * panels // across * width)
        top, bottom = first_row(high * blocks // down, rows), first_row((high + 1) * blocks // down, rows)
        begin, end = part * images // parts, (part + 1) * images // parts
        pitch = (last - first + width - 1) // width * width
        room = aligned_empty(depth * pitch + width + (bottom - top) * pitch, left)
        packed, sums = pointer(left, room.ctypes.data), room[depth * pitch + width :]  # a vector more may be written
        _add_images(left.ctypes.data + (begin * rows + top) * positions * item, rows * positions,
                    right.ctypes.data + (begin * columns + first) * positions * item, columns * positions, positions, depth,
                    bottom - top, last - first, end - begin, packed, sums, pitch)  # fmt: skip
        step = rows if turned else columns
        place = part * rows * columns + (first * step + top if turned else top * step + first)
        target = pointer(left, result.ctypes.data + place * item)
        if turned:
            turn(sums, pitch, bottom - top, last - first, left[:0], target, step)
        else:
            for row in range(bottom - top):
                line = carray(moved(target, row * step), (last - first,))
                line[:] = sums[row * pitch : row * pitch + last - first]


def _depth(steps: int, itemsize: int) -> int:
    """The steps of a sum that are added up at a time: equal parts of whole vectors."""
    return whole_vectors(-(-steps // -(-steps // (_DEPTH_BYTES // itemsize))), itemsize)


def sum_products(left: Array, right: Array, result: Array, turned: bool = False) -> None:
    """Fill result (rows, columns), or (columns, rows) if `turned`, from left (N, rows, P) and right (N, columns, P)."""
    (images, given, positions), columns, rows = left.shape, right.shape[1], filled(left.shape[1])
    if rows > given:
        left = np.concatenate([left, np.zeros((images, rows - given, positions), left.dtype)], 1)
    down, across = -(-rows // _ROWS), -(-columns // _COLUMNS)
    across = max(across, min(columns // _FEWEST_COLUMNS, -(-_TASKS // down)))
    parts = min(images, -(-_TASKS // (down * across)))
    shape = (parts, columns, rows) if turned else (parts, rows, columns)
    straight = shape == (1, *result.shape)
    sums = result.reshape(shape) if straight else empty(shape, left.dtype)
    _sum_parts(left.reshape(-1), right.reshape(-1), positions, _depth(positions, left.itemsize), rows, columns, down, across,
               turned, sums)  # fmt: skip
    if not straight:
        sums[:, : len(result), : result.shape[1]].sum(0, out=result)
