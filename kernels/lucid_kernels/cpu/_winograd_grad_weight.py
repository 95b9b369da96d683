"""Weight gradient of a 3x3 convolution by Winograd's transforms: 16 products for a tile of 2x2 outputs instead of 36.

The adjoint of `_winograd`: the gradient of G w G^T, entry by entry, is a product of matrices, the transformed gradients of the
outputs by the transformed pixels, summed over the tiles. Both are computed for some hundred tiles at a time.
"""
from __future__ import annotations

import numba
import numpy as np

from . import _direct_grad_weight
from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import DOT_ROWS, DOT_SUMS, DOT_TAPS, dot_block
from ._row_copies import Window
from ._winograd import count_tiles, is_possible
from ._winograd_transforms import LANES, PRODUCTS, runs_of_tiles, transform_gradients, transform_pixels

# Bytes of transformed pixels and gradients: they are written once and read once, in the L3 cache.
_TILES_BYTES = 1 << 25
# Tiles of a sum in registers: fewer, and adding up its lanes shows.
_TILES = 512
# Bytes of transformed gradients that stay in the L2 cache.
_ROWS_BYTES = 1 << 19
# Tasks that share the channels of the pixels, and those of the gradients.
_TASKS = 8
# With fewer channels or tiles, what is added up and transformed back at the end outweighs the saved products: against direct dot
# products 1.2 of the time with 32 channels and 0.7 to 0.9 with 64 to 512; 64 channels take 1.4 with 49 tiles and 0.6 with 64.
_LEAST_CHANNELS = 64
_LEAST_TILES = 64


def suits(x: Array, window: Window, groups: int, out_channels: int) -> bool:
    """Whether to call `grad_weight`."""
    return (
        is_possible(x, window, groups, out_channels)
        and min(x.shape[1], out_channels) >= _LEAST_CHANNELS and count_tiles(x, window) >= _LEAST_TILES
    )


@jit
def _transform(x, first_channel, last_channel, top, left, runs, of_pixels, pitch, step, out):
    """Transform some channels of x at the tiles `runs`; those of the first row and column start at (top, left)."""
    channels, height, width = x.shape[1:]
    some = last_channel - first_channel
    flat = x.reshape(-1)
    place = first_channel * pitch
    for n, row, column, count in runs:
        start = (n * channels + first_channel) * height * width
        i, j = top + 2 * row, left + 2 * column
        if of_pixels:
            transform_pixels(flat, start, height, width, i, j, some, count, out, place, pitch, step)
        else:
            transform_gradients(flat, start, height, width, i, j, some, count, out, place, pitch, step)
        place += count


@jit_parallel
def _transform_parallel(x, g, window, first, last, tasks, pitch, pixels_step, pixels, gradients_step, gradients):
    """The transforms of the tiles first..last; the rows of the flat results are `pitch` apart."""
    across = (window.out_width + 1) // 2
    runs = runs_of_tiles(first, last, across, (window.out_height + 1) // 2 * across)
    for task in numba.prange(2 * tasks):
        part = task // 2
        if task % 2 == 0:
            channels = x.shape[1]
            _transform(x, part * channels // tasks, (part + 1) * channels // tasks, -window.ph, -window.pw, runs, True, pitch,
                       pixels_step, pixels)
        else:
            channels = g.shape[1]
            _transform(g, part * channels // tasks, (part + 1) * channels // tasks, 0, 0, runs, False, pitch, gradients_step,
                       gradients)


@jit_parallel
def _multiply_parallel(pixels, pixels_step, gradients, gradients_step, pitch, count, each, parts, rows, taps, sums):
    """Add to sums (PRODUCTS, blocks of rows, blocks of taps, DOT_SUMS) the products of `count` tiles.

    A task takes one entry and `each` blocks of rows; `rows` and `taps` say where the rows of a block lie.
    """
    for task in numba.prange(PRODUCTS * parts):
        e, first = task // parts, task % parts * each
        for t in range(sums.shape[2]):
            for b in range(first, min(sums.shape[1], first + each)):
                dot_block(gradients, e * gradients_step + b * DOT_ROWS * pitch, rows,
                          pixels, e * pixels_step + t * DOT_TAPS * pitch, taps, 1, 0, 0, count, sums[e, b, t])


@jit
def _untransform(a, b, c, d, first, second, third):
    """(first, second, third) = G^T (a, b, c, d)."""
    for i in range(DOT_SUMS):
        total, difference = b[i] + c[i], (b[i] - c[i]) / 2
        first[i], second[i], third[i] = a[i] + total / 2, difference, total / 2 + d[i]


@jit_parallel
def _untransform_parallel(sums, dweight, finite):
    """dweight (O, C, 9) = G^T sums G; finite[b] says whether those of a block of rows are."""
    out_channels, channels, _ = dweight.shape
    for b in numba.prange(sums.shape[1]):
        half, taps = np.empty((12, DOT_SUMS), sums.dtype), np.empty((9, DOT_SUMS), sums.dtype)
        check = sums.dtype.type(0)
        for t in range(sums.shape[2]):
            for j in range(4):
                _untransform(sums[j, b, t], sums[4 + j, b, t], sums[8 + j, b, t], sums[12 + j, b, t],
                             half[j], half[4 + j], half[8 + j])
            for i in range(3):
                _untransform(half[4 * i], half[4 * i + 1], half[4 * i + 2], half[4 * i + 3],
                             taps[3 * i], taps[3 * i + 1], taps[3 * i + 2])
            for r in range(min(DOT_ROWS, out_channels - b * DOT_ROWS)):
                for c in range(min(DOT_TAPS, channels - t * DOT_TAPS)):
                    target = dweight[b * DOT_ROWS + r, t * DOT_TAPS + c]
                    for k in range(9):
                        target[k] = taps[k, r * DOT_TAPS + c]
                        check += target[k] * 0  # 0 times infinity or NaN is NaN
        finite[b] = check == 0


def grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (O, C, 3, 3) from g (N, O, OH, OW) and x (N, C, H, W), all contiguous float32.

    Where some of it is not finite, which the transforms may have caused (`_winograd.convolve`), it is computed directly.
    """
    if not _grad_weight(g, x, window, dweight):
        _direct_grad_weight.grad_weight(g, x, window, dweight)


def _grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> bool:
    """Fill dweight; whether all of it is finite."""
    channels, out_channels = x.shape[1], g.shape[1]
    row_blocks, tap_blocks = -(-out_channels // DOT_ROWS), -(-channels // DOT_TAPS)
    rows, taps = row_blocks * DOT_ROWS, tap_blocks * DOT_TAPS
    count = count_tiles(x, window)
    largest = min(_TILES, max(LANES, _TILES_BYTES // (PRODUCTS * x.itemsize * (rows + taps))))
    chunks = -(-count // largest)
    tiles = -(-count // (chunks * LANES)) * LANES
    # A vector more than the tiles, and one more for each entry: rows would compete for the same lines of the cache.
    pitch = tiles + LANES
    pixels_step, gradients_step = taps * pitch + LANES, rows * pitch + LANES
    pixels, gradients = np.empty(PRODUCTS * pixels_step, x.dtype), np.empty(PRODUCTS * gradients_step, x.dtype)
    parts = -(-rows * tiles * x.itemsize // _ROWS_BYTES)
    each = -(-row_blocks // parts)
    parts = -(-row_blocks // each)
    sums = np.zeros((PRODUCTS, row_blocks, tap_blocks, DOT_SUMS), x.dtype)
    for first in range(0, count, tiles):
        last = min(count, first + tiles)
        _transform_parallel(x, g, window, first, last, _TASKS, pitch, pixels_step, pixels, gradients_step, gradients)
        _multiply_parallel(pixels, pixels_step, gradients, gradients_step, pitch, last - first, each, parts,
                           np.arange(DOT_ROWS) * pitch, np.arange(DOT_TAPS) * pitch, sums)
    finite = np.empty(row_blocks, np.bool_)
    _untransform_parallel(sums, dweight.reshape(out_channels, channels, 9), finite)
    return bool(finite.all())
