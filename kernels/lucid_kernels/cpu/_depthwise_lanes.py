"""Depthwise convolution of small planes: the channels are the lanes.

The planes of as many channels as a vector has lanes are transposed on the way through the L1 cache. A pixel is a vector then, and
no lane is idle, however short the rows are: rows of 7 pixels leave half of a vector empty, strides three quarters, and loops over
rows take two to six times as long. Which pixels meet in which tap is a list, the same for the result and both gradients, in
another order.
"""
from __future__ import annotations

import functools
import math

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

# Bytes of the transposed planes of both arrays: about an L1 cache. Those of several slices may fill half of an L2 cache of 1 MiB:
# the loops over rows take a plane of the result up once for each slice, and 1.1 to 4 times as long.
_BLOCK_BYTES, _SLICES_BYTES = 64 << 10, 512 << 10


def suits(shape: tuple[int, ...], results: tuple[int, ...], itemsize: int, widest: float) -> bool:
    """Whether volumes of the shape (N, C, D, H, W), with `results` of the shape (N, O, OD, OH, OW), are small and many enough.

    `widest` is the share of a vector that the results may be wide: beyond, the loops over rows are as fast.
    """
    channels, lanes = shape[1], VECTOR_BYTES // itemsize
    pixels = math.prod(shape[2:]) + math.prod(results[2:])
    most = _BLOCK_BYTES if shape[2] == results[2] == 1 else _SLICES_BYTES
    return lanes <= channels == results[1] and results[4] <= widest * lanes and pixels * VECTOR_BYTES <= most


@functools.lru_cache(maxsize=64)
def _meetings(window: Window, slices: tuple[tuple[int, ...], ...], height: int, width: int, lanes: int, by: int
              ) -> tuple[Array, Array]:
    """The pairs that make each output (`by` 0), pixel (1) or tap (2), and where they begin and end.

    A pair has the places of the first and the second of the other two. slices has a row for each slice of the outputs, or of the
    pixels if they are made, with the slice of the other for each tap of the depth, -1 for none.
    """
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    i, j, a, b = np.indices((out_height, out_width, kh, kw)).reshape(4, -1)
    row, column = i * sh + a * dh - ph, j * sw + b * dw - pw
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    plane = np.stack([i * out_width + j, row * width + column, a * kw + b])[:, inside]
    sizes = (out_height * out_width, height * width, kh * kw)
    met = [plane + np.multiply((other, one, d) if by == 1 else (one, other, d), sizes).reshape(3, 1)
           for one, others in enumerate(slices) for d, other in enumerate(others) if other >= 0]
    pairs = np.concatenate(met or [plane[:, :0]], 1)
    pairs = pairs[:, np.argsort(pairs[by], kind="stable")]
    ends = np.searchsorted(pairs[by], np.arange(sizes[by] * (len(slices[0]) if by == 2 else len(slices)) + 1))
    return (np.delete(pairs, by, 0).T * lanes).astype(np.uint32).reshape(-1), ends


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


def _flat(array: Array) -> Array:
    """(N, C, ...) as (N, C, elements)."""
    return array.reshape(*array.shape[:2], -1)


def _apply(source: Array, weight: Array, bias: Array, meetings: tuple[Array, Array], target: Array) -> None:
    samples, channels = source.shape[:2]
    pixels = max(source.size, target.size) // (samples * channels)
    each = max(1, PARALLEL_FROM // (pixels * (VECTOR_BYTES // source.itemsize)))
    _convolve_parallel(_flat(source), weight.reshape(channels, -1), bias, *meetings, _flat(target), each)


def convolve(x: Array, weight: Array, bias: Array, window: Window, slices: tuple[tuple[int, ...], ...], y: Array) -> None:
    """Fill y (N, C, OD, OH, OW) from x (N, C, D, H, W), weight (C, KD, KH, KW), bias (C,) and slices (OD, KD) of x."""
    _apply(x, weight, bias, _meetings(window, slices, *x.shape[3:], VECTOR_BYTES // x.itemsize, 0), y)


def grad_input(g: Array, weight: Array, window: Window, slices: tuple[tuple[int, ...], ...], dx: Array) -> None:
    """Fill dx (N, C, D, H, W) from g (N, C, OD, OH, OW), weight (C, KD, KH, KW) and slices (D, KD) of g."""
    meetings = _meetings(window, slices, *dx.shape[3:], VECTOR_BYTES // g.itemsize, 1)
    _apply(g, weight, np.zeros(g.shape[1], g.dtype), meetings, dx)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (C, 1, KH, KW) from g (N, C, OH, OW) and x (N, C, H, W)."""
    lanes = VECTOR_BYTES // x.itemsize
    _correlate_parallel(_flat(g), _flat(x), *_meetings(window, ((0,),), *x.shape[2:], lanes, 2),
                        dweight.reshape(dweight.shape[0], -1), -(-x.shape[1] // lanes))
