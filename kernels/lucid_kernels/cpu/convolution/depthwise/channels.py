"""Depthwise convolution of small planes and of large windows: the channels are the lanes.

The planes of as many channels as a vector has lanes are transposed in the cache. A pixel is a vector then, and
no lane is idle, however short the rows are: rows of 7 pixels leave half of a vector empty, strides three quarters, and loops over
rows take up to three times as long. Neighbouring results have their sums in registers, and so are the taps of a row: a pixel is
loaded once for all that it meets, and the padding is skipped, not multiplied. 7x7 taps of planes of 7x7 take 1.03 of the time
of their multiply-adds. Which pixels meet which taps is a list, the same for the result and both gradients, in another order.
"""
from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numba
import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime import tuning
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned_empty
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.transpose_planes import transpose, transpose_back
from .channel_microkernels import FACTORS, RUN, add_products, sum_products

# Products that a tap's gradient adds up one after the other, before float64 takes over: with the 2304 of planes of 48x48 its
# largest error was five to eight times PyTorch's, with 256 up to four times; now it is 0.5 to 1.6 times that.
_SEQUENCE = 64

#: For each slice of a result, the slice of what it is made of for each tap of the depth, -1 for none.
Slices = tuple[tuple[int, ...], ...]


class _Meetings(NamedTuple):
    """What makes the results, in runs of results that are `pitch` apart: the arguments of `sum_products`."""

    meetings: Array
    runs: Array
    step: int
    width: int
    factor_step: int
    pitch: int


def _cut(count: int, longest: int) -> list[tuple[int, int]]:
    """The first and the size of runs of about equal sizes."""
    parts = -(-count // longest)
    ends = [part * count // parts for part in range(parts + 1)]
    return [(first, end - first) for first, end in itertools.pairwise(ends)]


def _counts(count: int) -> list[tuple[int, int]]:
    """The first and the number of factors of meetings that have `count` together."""
    found, first = [], 0
    while first < count:
        size = next(size for size in FACTORS if size <= count - first)
        found.append((first, size))
        first += size
    return found


def _every(count: int, phase: int, step: int) -> int:
    """How many of phase, phase + step, ... are below `count`."""
    return -(-(count - phase) // step)


class _Steps(NamedTuple):
    """The least steps for which what a result meets moves on by as many results as by taps: of pixels, of results and of taps."""

    pixels: int
    results: int
    taps: int


def _steps(window: Window) -> _Steps:
    pixels = math.lcm(window.sw, window.dw)
    return _Steps(pixels, pixels // window.sw, pixels // window.dw)


class _Run(NamedTuple):
    """The first of some results and how many they are; the starts of the rows that they meet, each with that of its factors; and
    of the columns that the first result meets the first, its factor and how many there are.
    """

    place: int
    size: int
    rows: list[tuple[int, int]]
    columns: list[tuple[int, int, int]]


def _meetings(runs: list[_Run], step: int, width: int, factor_step: int, pitch: int) -> _Meetings:
    found: list[tuple[int, int, int, int]] = []
    bounds = []
    for run in runs:
        begin = len(found)
        for column, factor, count in run.columns:
            for first, size in _counts(count):
                here, there = column + first * step, factor + first * factor_step
                if here < width and here + (run.size + size - 2) * step >= 0:
                    found += [(row + here, here, factors + there, size) for row, factors in run.rows]
        bounds.append((begin, len(found), run.place, run.size))
    return _Meetings(np.array(found, np.int32).reshape(-1, 4), np.array(bounds, np.int64), step, width, factor_step, pitch)


@functools.lru_cache(maxsize=64)
def _results(window: Window, slices: Slices, height: int, width: int) -> _Meetings:
    """For results from pixels and taps; slices (OD, KD) are those of the pixels."""
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    steps, runs = _steps(window), []
    for one, i, phase in itertools.product(range(len(slices)), range(out_height), range(min(steps.results, out_width))):
        rows = [((other * height + i * sh + a * dh - ph) * width, (d * kh + a) * kw) for d, other in enumerate(slices[one])
                if other >= 0 for a in range(kh) if 0 <= i * sh + a * dh - ph < height]
        for first, size in _cut(_every(out_width, phase, steps.results), RUN):
            j = phase + first * steps.results
            columns = [(j * sw + b * dw - pw, b, _every(kw, b, steps.taps)) for b in range(min(steps.taps, kw))]
            runs.append(_Run((one * out_height + i) * out_width + j, size, rows, columns))
    return _meetings(runs, steps.pixels, width, steps.taps, steps.results)


@functools.lru_cache(maxsize=64)
def _pixels(window: Window, slices: Slices, height: int, width: int) -> _Meetings:
    """For the gradient of pixels from that of results and taps; slices (D, KD) are those of the results."""
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    steps, runs = _steps(window), []
    for one, row, phase in itertools.product(range(len(slices)), range(height), range(min(steps.pixels, width))):
        rows = [((other * out_height + (row + ph - a * dh) // sh) * out_width, (d * kh + a) * kw)
                for d, other in enumerate(slices[one]) if other >= 0 for a in range(kh)
                if (row + ph - a * dh) % sh == 0 and 0 <= (row + ph - a * dh) // sh < out_height]
        lasts = [b + (_every(kw, b, steps.taps) - 1) * steps.taps for b in range(min(steps.taps, kw))]
        for first, size in _cut(_every(width, phase, steps.pixels), RUN):
            pixel = phase + first * steps.pixels
            columns = [((pixel + pw - b * dw) // sw, b, b // steps.taps + 1) for b in lasts if (pixel + pw - b * dw) % sw == 0]
            runs.append(_Run((one * height + row) * width + pixel, size, rows, columns))
    return _meetings(runs, steps.results, out_width, -steps.taps, steps.pixels)


@functools.lru_cache(maxsize=64)
def _taps(window: Window, height: int, width: int) -> _Meetings:
    """For the gradient of taps from pixels and that of results, piece by piece of a plane."""
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    steps, runs = _steps(window), []
    pieces = _cut(out_height, max(1, _SEQUENCE // out_width))
    for (top, count), a, phase in itertools.product(pieces, range(kh), range(min(steps.taps, kw))):
        rows = [((i * sh + a * dh - ph) * width, i * out_width) for i in range(top, top + count)
                if 0 <= i * sh + a * dh - ph < height]
        for first, size in _cut(_every(kw, phase, steps.taps), RUN):
            b = phase + first * steps.taps
            columns = [(j * sw + b * dw - pw, j, _every(out_width, j, steps.results))
                       for j in range(min(steps.results, out_width))]
            runs.append(_Run(a * kw + b, size, rows, columns))
    return _meetings(runs, steps.pixels, width, steps.results, steps.taps)


@jit
def _lines_each(vectors, meetings):
    """How many lines of what is read or written next, as large as some vectors, each run prefetches."""
    return vectors // meetings.runs.shape[0] + 1


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
        transpose(weight, first, taps * size, taps, lanes, scales.ctypes.data + block * taps * lanes * size)
    return scales.reshape(blocks, taps * lanes)


@jit
def _convolve(source, scales, bias, meetings, target, first, last):
    """Units first..last (n * blocks + block) of target (N, C, results), from source (N, C, pixels) and bias (C,)."""
    channels, pixels = source.shape[1:]
    results, blocks, size = target.shape[2], scales.shape[0], source.itemsize
    lanes = VECTOR_BYTES // size
    vectors, sums = aligned_empty(pixels * lanes, source), aligned_empty(results * lanes, source)
    for unit in range(first, last):
        block, n = unit % blocks, unit // blocks
        channel = min(block * lanes, channels - lanes)
        plane, result = (n * channels + channel) * pixels * size, (n * channels + channel) * results * size
        planes, here = source.ctypes.data + plane, target.ctypes.data + result
        transpose(source, planes, pixels * size, pixels, lanes, vectors.ctypes.data)
        sum_products(vectors, scales[block], meetings.meetings, meetings.runs, meetings.step, meetings.width,
                     meetings.factor_step, meetings.pitch, bias[channel:], sums, planes + pixels * VECTOR_BYTES,
                     _lines_each(pixels, meetings), here, _lines_each(results, meetings))
        transpose_back(source, sums.ctypes.data, results, lanes, here, results * size)


@jit_parallel
def _convolve_parallel(source, weight, bias, meetings, target, each):
    scales = _scales(weight)
    units = source.shape[0] * scales.shape[0]
    for task in numba.prange((units + each - 1) // each):
        _convolve(source, scales, bias, meetings, target, task * each, min(units, (task + 1) * each))


@jit
def _correlate(g, x, meetings, dweight, block):
    """A block of channels of dweight (C, taps) from g (N, C, results) and x (N, C, pixels), added up in float64."""
    samples, channels, pixels = x.shape
    results, taps, size = g.shape[2], dweight.shape[1], x.itemsize
    lanes = VECTOR_BYTES // size
    vectors, upstream = aligned_empty(pixels * lanes, x), aligned_empty(results * lanes, x)
    nothing, totals = np.zeros(lanes, x.dtype), np.zeros(taps * lanes)
    channel = min(block * lanes, channels - lanes)
    to_next = channels * size
    for n in range(samples):
        plane = n * channels + channel
        planes, here = x.ctypes.data + plane * pixels * size, g.ctypes.data + plane * results * size
        transpose(x, planes, pixels * size, pixels, lanes, vectors.ctypes.data)
        transpose(x, here, results * size, results, lanes, upstream.ctypes.data)
        add_products(vectors, upstream, meetings.meetings, meetings.runs, meetings.step, meetings.width, meetings.factor_step,
                     meetings.pitch, nothing, totals, planes + to_next * pixels, _lines_each(pixels, meetings),
                     here + to_next * results, _lines_each(results, meetings))
    for lane in range(lanes):
        for tap in range(taps):
            dweight[channel + lane, tap] = totals[tap * lanes + lane]


@jit_parallel
def _correlate_parallel(g, x, meetings, dweight, blocks):
    for block in numba.prange(blocks):
        _correlate(g, x, meetings, dweight, block)


def _flat(array: Array) -> Array:
    """(N, C, ...) as (N, C, elements)."""
    return array.reshape(*array.shape[:2], -1)


def _apply(source: Array, weight: Array, bias: Array, meetings: _Meetings, target: Array) -> None:
    samples, channels = source.shape[:2]
    pixels = max(source.size, target.size) // (samples * channels)
    each = max(1, tuning.PARALLEL_FROM // (pixels * (VECTOR_BYTES // source.itemsize)))
    _convolve_parallel(_flat(source), weight.reshape(channels, -1), bias, meetings, _flat(target), each)


def convolve(x: Array, weight: Array, bias: Array, window: Window, slices: Slices, y: Array) -> None:
    """Fill y (N, C, OD, OH, OW) from x (N, C, D, H, W), weight (C, KD, KH, KW), bias (C,) and slices (OD, KD) of x."""
    _apply(x, weight, bias, _results(window, slices, *x.shape[3:]), y)


def grad_input(g: Array, weight: Array, window: Window, slices: Slices, dx: Array) -> None:
    """Fill dx (N, C, D, H, W) from g (N, C, OD, OH, OW), weight (C, KD, KH, KW) and slices (D, KD) of g."""
    _apply(g, weight, np.zeros(g.shape[1], g.dtype), _pixels(window, slices, *dx.shape[3:]), dx)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1) -> None:
    """Fill dweight (C, 1, KH, KW) from g (N, C, OH, OW) and x (N, C, H, W)."""
    blocks = -(-x.shape[1] * x.itemsize // VECTOR_BYTES)
    _correlate_parallel(_flat(g), _flat(x), _taps(window, *x.shape[2:]), dweight.reshape(dweight.shape[0], -1), blocks)
