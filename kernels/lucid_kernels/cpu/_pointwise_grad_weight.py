"""Weight gradient of a 1x1 convolution of planes without padding: a sum over images of products of the gradient and the pixels.

With AVX2 a task adds up some images: it packs what one side has at a few hundred positions, of few enough channels for the panels
to stay in the L2 cache, and reads the other side where it lies. In 0.6 to 0.95 of the time of a product of matrices for each
image, which all threads begin and end together.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from . import blas
from ._compile import jit_parallel
from ._layout import Array, contiguous
from ._microkernels import VECTOR_BYTES
from ._panels import moved, pack_columns, pointer
from ._pointwise_microkernels import PANEL_BYTES, block_count, fills_blocks, first_row, multiply_pixels
from ._pool import empty

# Positions that are added up at a time: a panel of them, 16 KiB, stays in the L1 cache. Twice as many are no faster.
_DEPTH_BYTES = 1024
# Channels of a tile at most: of the side that is packed, and of the other one.
_COLUMNS, _ROWS = 128, 256
# Work is cut into this many tasks at least. The number is fixed, so results do not depend on the number of threads.
_TASKS = 8
_LINE = 64  # bytes of a cache line
# Elements of the weight for each of the planes of an image, from which on images are put side by side, for a single product: to
# add a product to the sum takes longer then.
_SIDE_BY_SIDE = 3


@jit_parallel
def _sum_parts(left: Any, right: Any, positions: int, depth: int, columns: int, down: int, across: int, sums: Any) -> None:
    """sums (parts, rows, whole panels): the products of flat left (N, rows, P) and right (N, columns, P), transposed, each part
    of some of the images.

    Tasks share the rows in `down` parts and the columns in `across` parts. `depth` positions at most are added up at a time.
    """
    item, (parts, rows, pitch) = left.itemsize, sums.shape
    width, lanes = PANEL_BYTES // item, VECTOR_BYTES // item
    images, panels, blocks = left.size // (rows * positions), pitch // width, block_count(rows)
    for task in numba.prange(parts * down * across):
        part, high, side = np.int64(task) // (down * across), np.int64(task) // across % down, np.int64(task) % across
        first_panel, last_panel = side * panels // across, (side + 1) * panels // across
        first, last = first_panel * width, min(columns, last_panel * width)
        room = np.empty((last_panel - first_panel) * width * depth + _LINE // item, left.dtype)
        address = np.int64(room.ctypes.data)
        packed = pointer(left, address + (_LINE - address % _LINE))
        begin, end = part * images // parts, (part + 1) * images // parts
        for n in range(begin, end):
            for start in range(0, positions, depth):
                count = min(depth, positions - start)
                planes = pointer(left, right.ctypes.data + ((n * columns + first) * positions + start) * item)
                pack_columns(planes, positions, 1, last - first, count, width, lanes, packed)
                for block in range(high * blocks // down, (high + 1) * blocks // down):
                    row = first_row(block, rows)
                    lines = pointer(left, left.ctypes.data + ((n * rows + row) * positions + start) * item)
                    for panel in range(first_panel, last_panel):
                        target = pointer(left, sums.ctypes.data + ((part * rows + row) * pitch + panel * width) * item)
                        multiply_pixels(first_row(block + 1, rows) - row, lines, positions,
                                        moved(packed, (panel - first_panel) * width * count), False, count, target, pitch,
                                        n > begin or start > 0, target, pitch, lines, 0, 0)  # fmt: skip


def grad_weight(g: Array, x: Array, dweight: Array) -> None:
    """Fill dweight (O, C, 1, 1) from g (N, O, H, W) and x (N, C, H, W), contiguous."""
    left, right = (g, x) if g.shape[1] >= x.shape[1] else (x, g)  # packing the fewer channels takes less time
    (images, rows, *plane), columns = left.shape, right.shape[1]
    down, across = -(-rows // _ROWS), -(-columns // _COLUMNS)
    if VECTOR_BYTES == 64 or images * down * across < _TASKS or not fills_blocks(rows):
        _add_products(g, x, dweight)
        return
    positions, width = plane[0] * plane[1], PANEL_BYTES // x.itemsize
    depth = -(-positions // -(-positions // (_DEPTH_BYTES // x.itemsize)))
    sums = empty((min(images, -(-_TASKS // (down * across))), rows, -(-columns // width) * width), x.dtype)
    _sum_parts(left.reshape(-1), right.reshape(-1), positions, depth, columns, down, across, sums)
    total = dweight.reshape(dweight.shape[:2])
    sums[:, :, :columns].sum(0, out=total if left is g else total.T)


def _add_products(g: Array, x: Array, dweight: Array) -> None:
    """`grad_weight`, a product for each image: with AVX-512 0.65 to 0.85 of the time of dot products, which share fewer loads."""
    outputs, channels = dweight.shape[:2]
    gradients, pixels = g.reshape(*g.shape[:2], -1), x.reshape(*x.shape[:2], -1)
    if _SIDE_BY_SIDE * (gradients[0].size + pixels[0].size) < dweight.size:
        gradients, pixels = (contiguous(planes.swapaxes(0, 1)).reshape(1, planes.shape[1], -1) for planes in (gradients, pixels))
    total = dweight.reshape(outputs, channels)
    blas.matmul(gradients[0], pixels[0].T, out=total)
    for one, other in zip(gradients[1:], pixels[1:], strict=True):
        total += blas.matmul(one, other.T)
