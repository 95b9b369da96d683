"""Depthwise convolution of small planes: the channels are the lanes.

The planes of as many channels as a vector has lanes are transposed on the way through the L1 cache. A pixel is a vector then, and
no lane is idle, however short the rows are: rows of 7 pixels leave half of a vector empty, strides three quarters, and loops over
rows take two to six times as long. Which pixels meet in which tap is a list, the same for the result and both gradients, in
another order.
"""
from __future__ import annotations

import functools

import numba
import numpy as np

from ._aligned import aligned_empty
from ._compile import jit, jit_parallel
from ._lane_microkernels import sum_products
from ._layout import PARALLEL_FROM, Array
from ._microkernels import VECTOR_BYTES
from ._row_copies import Window
from ._strided_microkernels import copy_elements, copy_tiles
from .strided_copy import transpose_panel

# Bytes of the transposed planes of both arrays: about an L1 cache.
_BLOCK_BYTES = 64 << 10


def suits(shape: tuple[int, ...], outputs: int, window: Window, itemsize: int, widest: float) -> bool:
    """Whether planes of the input shape (N, C, H, W), one output each, are small and many enough.

    `widest` is the share of a vector that their results may be wide: beyond, the loops over rows are as fast.
    """
    _, channels, height, width = shape
    lanes = VECTOR_BYTES // itemsize
    pixels = height * width + window.out_height * window.out_width
    return lanes <= channels == outputs and window.out_width <= widest * lanes and pixels * VECTOR_BYTES <= _BLOCK_BYTES


@functools.lru_cache(maxsize=64)
def _meetings(window: Window, height: int, width: int, lanes: int, by: int) -> tuple[Array, Array]:
    """The pairs that make each output (`by` 0), pixel (1) or tap (2), and where they begin and end.

    A pair has the places of the first and the second of the other two.
    """
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    i, j, a, b = np.indices((out_height, out_width, kh, kw)).reshape(4, -1)
    row, column = i * sh + a * dh - ph, j * sw + b * dw - pw
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    met = np.stack([i * out_width + j, row * width + column, a * kw + b])[:, inside]
    met = met[:, np.argsort(met[by], kind="stable")]
    count = (out_height * out_width, height * width, kh * kw)[by]
    ends = np.searchsorted(met[by], np.arange(count + 1))
    return (np.delete(met, by, 0).T * lanes).astype(np.uint32).reshape(-1), ends


@jit
def _transpose(kind, source, pitch, size, lanes, target, ahead):
    """Rows of `size` elements, `pitch` bytes apart from an address on, one for each lane, to vectors."""
    step = kind.itemsize
    if size < lanes:
        copy_elements(kind, source, pitch, target, lanes * step, lanes, size)
        return
    for column in range(0, size, lanes):
        column = min(column, size - lanes)  # the last tile may overlap the one before
        copy_tiles(kind, source + column * step, pitch, target + column * lanes * step, lanes * step, 1, ahead, False)


@jit
def _scales(weight):
    """The taps of each block of channels of weight (C, taps) as vectors: (blocks, taps * lanes)."""
    channels, taps = weight.shape
    size = weight.itemsize
    lanes = VECTOR_BYTES // size
    blocks = (channels + lanes - 1) // lanes
    scales = aligned_empty(blocks * taps * lanes, weight)
    for block in range(blocks):
        first = weight.ctypes.data + min(block * lanes, channels - lanes) * taps * size
        _transpose(weight, first, taps * size, taps, lanes, scales.ctypes.data + block * taps * lanes * size, 0)
    return scales.reshape(blocks, taps * lanes)


@jit
def _convolve(source, scales, bias, pairs, ends, target, first, last):
    """Units first..last (n * blocks + block) of target (N, C, results), from source (N, C, pixels) and bias (C,)."""
    channels, pixels = source.shape[1:]
    results, blocks, size = target.shape[2], scales.shape[0], source.itemsize
    lanes = VECTOR_BYTES // size
    vectors, sums = aligned_empty(pixels * lanes, source), aligned_empty(results * lanes, source)
    for unit in range(first, last):
        block, n = unit % blocks, unit // blocks
        channel = min(block * lanes, channels - lanes)
        plane, result = (n * channels + channel) * pixels * size, (n * channels + channel) * results * size
        _transpose(source, source.ctypes.data + plane, pixels * size, pixels, lanes, vectors.ctypes.data, lanes * pixels * size)
        here = target.ctypes.data + result
        sum_products(vectors, scales[block], pairs, ends, bias[channel:], sums, here)
        transpose_panel(source, sums.ctypes.data, lanes * size, here, results * size, results, lanes, lanes, 0, False)


@jit_parallel
def _convolve_parallel(source, weight, bias, pairs, ends, target, each):
    scales = _scales(weight)
    units = source.shape[0] * scales.shape[0]
    for task in numba.prange((units + each - 1) // each):
        _convolve(source, scales, bias, pairs, ends, target, task * each, min(units, (task + 1) * each))


@jit
def _correlate(g, x, pairs, ends, dweight, block):
    """A block of channels of dweight (C, taps) from g (N, C, results) and x (N, C, pixels), added up in float64."""
    samples, channels, pixels = x.shape
    results, taps, size = g.shape[2], dweight.shape[1], x.itemsize
    lanes = VECTOR_BYTES // size
    vectors, upstream = aligned_empty(pixels * lanes, x), aligned_empty(results * lanes, x)
    sums, nothing = aligned_empty(taps * lanes, x), np.zeros(lanes, x.dtype)
    totals = np.zeros(taps * lanes)
    channel = min(block * lanes, channels - lanes)
    for n in range(samples):
        plane = n * channels + channel
        _transpose(x, x.ctypes.data + plane * pixels * size, pixels * size, pixels, lanes, vectors.ctypes.data,
                   channels * pixels * size)
        _transpose(x, g.ctypes.data + plane * results * size, results * size, results, lanes, upstream.ctypes.data,
                   channels * results * size)
        sum_products(upstream, vectors, pairs, ends, nothing, sums, sums.ctypes.data)
        for i in range(totals.shape[0]):
            totals[i] += sums[i]
    for lane in range(lanes):
        for tap in range(taps):
            dweight[channel + lane, tap] = totals[tap * lanes + lane]


@jit_parallel
def _correlate_parallel(g, x, pairs, ends, dweight, blocks):
    for block in numba.prange(blocks):
        _correlate(g, x, pairs, ends, dweight, block)


def _planes(array: Array) -> Array:
    return array.reshape(*array.shape[:2], -1)


def _apply(source: Array, weight: Array, bias: Array, meetings: tuple[Array, Array], target: Array) -> None:
    samples, channels = source.shape[:2]
    pixels = max(source.size, target.size) // (samples * channels)
    each = max(1, PARALLEL_FROM // (pixels * (VECTOR_BYTES // source.itemsize)))
    _convolve_parallel(_planes(source), weight.reshape(channels, -1), bias, *meetings, _planes(target), each)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array) -> None:
    """Fill y (N, C, OH, OW) from x (N, C, H, W), weight (C, 1, KH, KW) and bias (C,)."""
    _apply(x, weight, bias, _meetings(window, *x.shape[2:], VECTOR_BYTES // x.itemsize, 0), y)


def grad_input(g: Array, weight: Array, window: Window, dx: Array) -> None:
    """Fill dx (N, C, H, W) from g (N, C, OH, OW) and weight (C, 1, KH, KW)."""
    meetings = _meetings(window, *dx.shape[2:], VECTOR_BYTES // g.itemsize, 1)
    _apply(g, weight, np.zeros(g.shape[1], g.dtype), meetings, dx)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (C, 1, KH, KW) from g (N, C, OH, OW) and x (N, C, H, W)."""
    lanes = VECTOR_BYTES // x.itemsize
    _correlate_parallel(_planes(g), _planes(x), *_meetings(window, *x.shape[2:], lanes, 2),
                        dweight.reshape(dweight.shape[0], -1), -(-x.shape[1] // lanes))
