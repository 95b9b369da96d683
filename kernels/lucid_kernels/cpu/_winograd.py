"""Convolution with 3x3 taps and strides of 1 by Winograd's F(2x2, 3x3): 16 products for a tile of 2x2 outputs instead of 36.

A task takes a run of tiles of all images, so that small planes fill vectors as well as large ones: it transforms their pixels,
multiplies them by the transformed weight, 16 products of matrices, and transforms the sums to outputs. Larger tiles would save
more, but F(4x4, 3x3) makes rounding errors eight times as large as direct convolution does; those of F(2x2, 3x3) are alike.
"""
from __future__ import annotations

import numba
import numpy as np

from . import _direct
from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import ROWS, VECTORS, multiply_block
from ._pool import empty
from ._row_copies import Window
from ._winograd_transforms import LANES, PRODUCTS, runs_of_tiles, transform_pixels, transform_sums, transform_weight

# Tiles that are multiplied at once.
_BLOCK = VECTORS * LANES
# Channels that a sum in registers runs over: with more, rounding errors grow and the pixels leave the L1 cache.
_CHANNELS = 64
# Blocks of tiles of a task: few, for pixels and sums to stay in the L2 cache; more where the weight is so large that each task
# reads it from the L3 cache or memory.
_BLOCKS, _MANY_BLOCKS = 3, 9
_LARGE_WEIGHT_BYTES = 1 << 23
# Work is cut into about this many tasks at least.
_TASKS = 8
# Bytes of the largest transformed weight, 1.8 times the weight itself.
_WEIGHT_BYTES = 1 << 26
# With fewer channels the transforms take longer than the products that they save: 0.9 to 1.7 of the time of direct convolution
# with 8 channels, 0.5 to 1.3 with 16, 0.5 to 0.8 with 32 to 512 (8x8 pixels, which fill blocks exactly, up to 1.0).
_LEAST_CHANNELS = 32
# With fewer tiles the weight's transform is not paid back: 256 channels take 1.3 of the time with 1 tile, 0.7 with 16.
_LEAST_TILES = 16


def count_tiles(x: Array, window: Window) -> int:
    """The tiles of 2x2 outputs of all images of x (N, C, H, W), or of g of the same results."""
    return x.shape[0] * (-(-window.out_height // 2)) * (-(-window.out_width // 2))


def is_possible(x: Array, window: Window, groups: int, out_channels: int) -> bool:
    """Whether the transforms are made for this convolution of x (N, C, H, W), and its transformed weight is small enough."""
    return (
        groups == 1 and x.dtype == np.float32 and window[:4] == (3, 3, 1, 1) and (window.dh, window.dw) == (1, 1)
        and PRODUCTS * x.shape[1] * out_channels * x.itemsize <= _WEIGHT_BYTES
    )


def suits(x: Array, window: Window, groups: int, out_channels: int) -> bool:
    """Whether to call `convolve` or `grad_input`, for x or g (N, C, H, W)."""
    return (
        is_possible(x, window, groups, out_channels)
        and min(x.shape[1], out_channels) >= _LEAST_CHANNELS and count_tiles(x, window) >= _LEAST_TILES
    )


@jit_parallel
def _transform_weight(weight, layout, out_channels, channels, transformed):
    """transformed is (blocks, PRODUCTS, C, ROWS); layout says where a tap of the flat weight lies, as for `transform_weight`."""
    offset, by_output, by_channel, by_row, by_column = layout
    for b in numba.prange(transformed.shape[0]):
        transform_weight(weight, offset + b * ROWS * by_output, by_output, by_channel, by_row, by_column,
                         min(ROWS, out_channels - b * ROWS), channels, transformed[b])


@jit
def _multiply(pixels, pixels_step, weight, taps, count, pitch, sums, sums_step):
    """sums[e, r, t] = sum over c of weight[r // ROWS, e, c, r % ROWS] * pixels[e, c, t] for t < count.

    Rows of the flat pixels and sums are `pitch` apart, entries e a step; `taps` says where the rows of some channels lie.
    """
    blocks, _, channels, _ = weight.shape
    zeros = np.zeros(ROWS, pixels.dtype)
    each = taps.shape[0]
    for e in range(PRODUCTS):
        for first in range(0, channels, each):
            last = min(channels, first + each)
            for b in range(blocks):
                part = weight[b, e, first:last]
                for t in range(0, count, _BLOCK):
                    multiply_block(pixels, e * pixels_step + first * pitch + t, taps[: last - first], part, zeros, sums,
                                   e * sums_step + b * ROWS * pitch + t, pitch, first > 0)


@jit
def _transform_tiles(x, window, first, last, pitch, pixels_step, first_channel, last_channel, pixels):
    """The transformed pixels of some channels in the tiles first..last, and zeros up to the end of the last block."""
    channels, height, width = x.shape[1:]
    across = (window.out_width + 1) // 2
    flat = x.reshape(-1)
    t = first_channel * pitch
    for n, row, column, count in runs_of_tiles(first, last, across, (window.out_height + 1) // 2 * across):
        transform_pixels(flat, (n * channels + first_channel) * height * width, height, width, 2 * row - window.ph,
                         2 * column - window.pw, last_channel - first_channel, count, pixels, t, pitch, pixels_step)
        t += count
    end = (last - first + _BLOCK - 1) // _BLOCK * _BLOCK
    for e in range(PRODUCTS):
        for c in range(first_channel, last_channel):
            for i in range(e * pixels_step + c * pitch + last - first, e * pixels_step + c * pitch + end):
                pixels[i] = 0


@jit
def _convolve_tiles(pixels, pixels_step, window, first, last, pitch, taps, weight, bias, first_output, outputs, out_channels, y,
                    finite):
    """Some output channels of the tiles first..last; finite[n] becomes False for an image n with a result that is not finite."""
    out_height, out_width = window.out_height, window.out_width
    across = (out_width + 1) // 2
    sums_step = weight.shape[0] * ROWS * pitch + LANES
    sums = np.empty(PRODUCTS * sums_step, pixels.dtype)
    _multiply(pixels, pixels_step, weight, taps, last - first, pitch, sums, sums_step)
    plane = out_height * out_width
    t = 0
    for n, row, column, count in runs_of_tiles(first, last, across, (out_height + 1) // 2 * across):
        start = (n * out_channels + first_output) * plane + 2 * row * out_width + 2 * column
        if not transform_sums(sums, t, pitch, sums_step, bias, outputs, count, y, start, plane, out_width,
                              min(2 * count, out_width - 2 * column), 2 * row + 1 < out_height):
            finite[n] = False
        t += count


@jit_parallel
def _convolve_parallel(x, window, count, each, pitch, pixels_step, taps, weight, bias, y, finite):
    """Tasks of `each` of the `count` tiles."""
    out_channels = bias.shape[0]
    for task in numba.prange((count + each - 1) // each):
        first, last = task * each, min(count, (task + 1) * each)
        pixels = np.empty(PRODUCTS * pixels_step, x.dtype)
        _transform_tiles(x, window, first, last, pitch, pixels_step, 0, x.shape[1], pixels)
        _convolve_tiles(pixels, pixels_step, window, first, last, pitch, taps, weight, bias, 0, out_channels, out_channels, y,
                        finite)


@jit_parallel
def _transform_parallel(x, window, count, each, pitch, pixels_step, splits, pixels):
    """pixels (tasks, PRODUCTS * pixels_step) for `_convolve_shared`."""
    channels = x.shape[1]
    for task in numba.prange(pixels.shape[0] * splits):
        part, split = task // splits, task % splits
        _transform_tiles(x, window, part * each, min(count, (part + 1) * each), pitch, pixels_step, split * channels // splits,
                         (split + 1) * channels // splits, pixels[part])


@jit_parallel
def _convolve_shared(pixels, window, count, each, pitch, pixels_step, taps, splits, weight, bias, y, finite):
    """Tasks of `each` of the `count` tiles, and of a part of the output channels."""
    blocks, out_channels = weight.shape[0], bias.shape[0]
    for task in numba.prange(pixels.shape[0] * splits):
        part, split = task // splits, task % splits
        some, end = split * blocks // splits, (split + 1) * blocks // splits
        _convolve_tiles(pixels[part], pixels_step, window, part * each, min(count, (part + 1) * each), pitch, taps,
                        weight[some:end], bias[some * ROWS :], some * ROWS, min(out_channels, end * ROWS) - some * ROWS,
                        out_channels, y, finite)


def _convolve(x: Array, weight: Array, layout: tuple[int, ...], bias: Array, window: Window, y: Array) -> Array:
    """Fill y; the numbers of the images where some of it is not finite, and perhaps wrong."""
    (samples, channels), out_channels = x.shape[:2], bias.size
    transformed = np.empty((-(-out_channels // ROWS), PRODUCTS, channels, ROWS), x.dtype)
    _transform_weight(weight.reshape(-1), layout, out_channels, channels, transformed)
    count = count_tiles(x, window)
    blocks = _BLOCKS if transformed.nbytes < _LARGE_WEIGHT_BYTES else _MANY_BLOCKS
    groups = -(-count // (blocks * _BLOCK))
    blocks = -(-count // (groups * _BLOCK))
    # An odd number of blocks: rows that are a multiple of a power of two apart compete for the same lines of the cache.
    pitch = (blocks | 1) * _BLOCK
    splits = min(transformed.shape[0], -(-_TASKS // (2 * groups)))
    taps = np.arange(-(-channels // -(-channels // _CHANNELS))) * pitch
    finite = np.ones(samples, np.bool_)
    each = blocks * _BLOCK
    # A vector more than the rows need: the same row of all entries would compete for the same lines of the cache.
    pixels_step = channels * pitch + LANES
    if splits == 1:
        _convolve_parallel(x, window, count, each, pitch, pixels_step, taps, transformed, bias, y.reshape(-1), finite)
    else:  # few tiles: tasks share their pixels
        pixels = empty((-(-count // each), PRODUCTS * pixels_step), x.dtype)
        _transform_parallel(x, window, count, each, pitch, pixels_step, min(splits, channels), pixels)
        _convolve_shared(pixels, window, count, each, pitch, pixels_step, taps, splits, transformed, bias, y.reshape(-1), finite)
    return np.flatnonzero(~finite)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C, 3, 3) and bias (O,), all contiguous float32.

    The transforms add numbers that direct convolution keeps apart: infinite ones of both signs make NaN there, and large ones
    overflow. Images with a result that is not finite are therefore computed directly.
    """
    channels = weight.shape[1]
    doubtful = _convolve(x, weight, (0, 9 * channels, 9, 3, 1), bias, window, y)
    if doubtful.size:
        part = np.empty((doubtful.size, *y.shape[1:]), y.dtype)
        _direct.convolve(x[doubtful], weight, bias, window, part)
        y[doubtful] = part


def grad_input(g: Array, weight: Array, window: Window, dx: Array) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C, 3, 3), all contiguous float32."""
    channels = weight.shape[1]
    turned = window._replace(ph=2 - window.ph, pw=2 - window.pw, out_height=dx.shape[2], out_width=dx.shape[3])
    doubtful = _convolve(g, weight, (8, 9, 9 * channels, -3, -1), np.zeros(channels, g.dtype), turned, dx)
    if doubtful.size:
        part = np.empty((doubtful.size, *dx.shape[1:]), dx.dtype)
        _direct.grad_input(g[doubtful], weight, window, part)
        dx[doubtful] = part
