"""Depthwise convolution of small planes and of large windows: the channels are the lanes.

The planes of as many channels as a vector has lanes are transposed on the way through the cache. A pixel is a vector then, and
no lane is idle, however short the rows are: rows of 7 pixels leave half of a vector empty, strides three quarters, and loops over
rows take two to six times as long. Neighbouring results share the loads of a tap, and their sums are in registers. Which pixels
meet in which tap is a list, the same for the result and both gradients, in another order.
"""
from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numba
import numpy as np

from ._aligned import aligned_empty
from ._compile import jit, jit_parallel
from ._lane_microkernels import RUN, sum_products
from ._layout import PARALLEL_FROM, Array
from ._microkernels import VECTOR_BYTES, copy_rows
from ._row_copies import Window
from ._strided_microkernels import copy_elements, copy_tiles
from .strided_copy import transpose_panel

# Bytes of the transposed planes of both arrays: half of an L2 cache of 1 MiB.
_BLOCK_BYTES = 512 << 10
# Products that a tap's gradient adds up one after the other, before float64 takes over: with the 2304 of planes of 48x48 its
# largest error was five to eight times PyTorch's, with 256 up to four times; now it is 0.5 to 1.6 times that.
_SEQUENCE = 64

#: For each slice of a result, the slice of what it is made of for each tap of the depth, -1 for none.
Slices = tuple[tuple[int, ...], ...]


def suits(shape: tuple[int, ...], results: tuple[int, ...], itemsize: int, widest: float) -> bool:
    """Whether volumes of the shape (N, C, D, H, W), with `results` of the shape (N, O, OD, OH, OW), are small and many enough.

    `widest` is the share of a vector that the results may be wide: beyond, the loops over rows are as fast.
    """
    channels, lanes = shape[1], VECTOR_BYTES // itemsize
    pixels = math.prod(shape[2:]) + math.prod(results[2:])
    return lanes <= channels == results[1] and results[4] <= widest * lanes and pixels * VECTOR_BYTES <= _BLOCK_BYTES


class _Meetings(NamedTuple):
    """What makes the results, in runs of neighbours (`sum_products`): `pairs` of places in one array and in another.

    The one has rows of `width` vectors with a `margin` of zeros before each and behind the last; neighbours meet vectors of it
    that are `step` elements apart, and lie `pitch` vectors apart.
    """

    pairs: Array
    runs: Array
    step: int
    pitch: int
    width: int
    margin: int


def _cut(count: int, longest: int) -> list[tuple[int, int]]:
    """The first and the size of runs of about equal sizes."""
    parts = -(-count // longest)
    ends = [part * count // parts for part in range(parts + 1)]
    return [(first, end - first) for first, end in itertools.pairwise(ends)]


class _Run(NamedTuple):
    """The first of neighbouring results and how many they are; rows and columns of what the first meets in the one array, each
    with its share of a place in the other.
    """

    place: int
    size: int
    rows: list[tuple[int, int]]
    columns: list[tuple[int, int]]


def _meetings(runs: list[_Run], step: int, pitch: int, width: int, least: int, most: int, lanes: int) -> _Meetings:
    """For runs whose results meet the columns `least` to `most`."""
    margin = max(0, -least, most - width + 1)
    pairs, ends = [], [0]
    for run in runs:
        rows, columns = (np.array(some, np.int64).reshape(-1, 2) for some in (run.rows, run.columns))
        if run.size == 1:  # of what is inside only
            columns = columns[(columns[:, 0] >= 0) & (columns[:, 0] < width)]
        rows[:, 0] = rows[:, 0] * (width + margin) + margin
        pairs.append((rows[:, None] + columns).reshape(-1, 2))
        ends.append(ends[-1] + len(pairs[-1]))
    numbers = [(begin, end, run.place, run.size) for (begin, end), run in zip(itertools.pairwise(ends), runs, strict=True)]
    places = (np.concatenate(pairs) * lanes).astype(np.uint32)
    return _Meetings(places, np.array(numbers, np.int64), step * lanes, pitch, width, margin)


@functools.lru_cache(maxsize=64)
def _results(window: Window, slices: Slices, height: int, width: int, lanes: int, longest: int) -> _Meetings:
    """For results from pixels and taps; slices (OD, KD) are those of the pixels."""
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    runs = []
    for one, i in itertools.product(range(len(slices)), range(out_height)):
        rows = [(other * height + i * sh + a * dh - ph, (d * kh + a) * kw) for d, other in enumerate(slices[one]) if other >= 0
                for a in range(kh) if 0 <= i * sh + a * dh - ph < height]
        runs += [_Run((one * out_height + i) * out_width + first, size, rows,
                      [(first * sw + b * dw - pw, b) for b in range(kw)]) for first, size in _cut(out_width, longest)]
    return _meetings(runs, sw, 1, width, -pw, (out_width - 1) * sw + (kw - 1) * dw - pw, lanes)


@functools.lru_cache(maxsize=64)
def _pixels(window: Window, slices: Slices, height: int, width: int, lanes: int, longest: int) -> _Meetings:
    """For the gradient of pixels from that of results and taps; slices (D, KD) are those of the results."""
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    runs, met = [], [0]
    for one, row, phase in itertools.product(range(len(slices)), range(height), range(min(sw, width))):
        rows = [(other * out_height + (row + ph - a * dh) // sh, (d * kh + a) * kw)
                for d, other in enumerate(slices[one]) if other >= 0 for a in range(kh)
                if (row + ph - a * dh) % sh == 0 and 0 <= (row + ph - a * dh) // sh < out_height]
        columns = [((phase + pw - b * dw) // sw, b) for b in range(kw) if (phase + pw - b * dw) % sw == 0]
        count = -(-(width - phase) // sw)
        met += [column + end for column, _ in columns for end in (0, count - 1)]
        runs += [_Run((one * height + row) * width + phase + first * sw, size, rows,
                      [(column + first, b) for column, b in columns]) for first, size in _cut(count, longest)]
    return _meetings(runs, 1, sw, out_width, min(met), max(met), lanes)


@functools.lru_cache(maxsize=64)
def _taps(window: Window, height: int, width: int, lanes: int, longest: int) -> _Meetings:
    """For the gradient of taps from pixels and that of results, which are those of pieces of a plane: one after the other."""
    kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width = window
    runs = []
    pieces = _cut(out_height, max(1, _SEQUENCE // out_width))
    for (piece, (top, count)), a, (first, size) in itertools.product(enumerate(pieces), range(kh), _cut(kw, longest)):
        rows = [(i * sh + a * dh - ph, i * out_width) for i in range(top, top + count) if 0 <= i * sh + a * dh - ph < height]
        place = (piece * kh + a) * kw + first
        runs.append(_Run(place, size, rows, [(j * sw + first * dw - pw, j) for j in range(out_width)]))
    return _meetings(runs, dw, 1, width, -pw, (out_width - 1) * sw + (kw - 1) * dw - pw, lanes)


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
def _widen(vectors, width, margin, lanes, widened):
    """Rows of `width` vectors with a margin before each, which is left as it is."""
    copy_rows(vectors, 0, width * lanes, widened, margin * lanes, (width + margin) * lanes, vectors.shape[0] // (width * lanes),
              width * lanes)


@jit
def _room(vectors, width, margin, lanes):
    """Zeros for `_widen`."""
    rows = vectors.shape[0] // (width * lanes)
    widened = aligned_empty((rows * (width + margin) + margin) * lanes, vectors)
    widened[:] = 0
    return widened


@jit
def _convolve(source, scales, bias, meetings, target, first, last):
    """Units first..last (n * blocks + block) of target (N, C, results), from source (N, C, pixels) and bias (C,)."""
    channels, pixels = source.shape[1:]
    results, blocks, size = target.shape[2], scales.shape[0], source.itemsize
    lanes = VECTOR_BYTES // size
    vectors, sums = aligned_empty(pixels * lanes, source), aligned_empty(results * lanes, source)
    widened = _room(vectors, meetings.width, meetings.margin, lanes)
    for unit in range(first, last):
        block, n = unit % blocks, unit // blocks
        channel = min(block * lanes, channels - lanes)
        plane, result = (n * channels + channel) * pixels * size, (n * channels + channel) * results * size
        _transpose(source, source.ctypes.data + plane, pixels * size, pixels, lanes, vectors.ctypes.data, lanes * pixels * size)
        _widen(vectors, meetings.width, meetings.margin, lanes, widened)
        here = target.ctypes.data + result
        sum_products(widened, scales[block], meetings.pairs, meetings.runs, meetings.step, meetings.pitch, bias[channel:], sums,
                     here)
        transpose_panel(source, sums.ctypes.data, lanes * size, here, results * size, results, lanes, lanes, 0, False)


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
    widened = _room(vectors, meetings.width, meetings.margin, lanes)
    last, nothing = meetings.runs[-1], np.zeros(lanes, x.dtype)
    sums = aligned_empty((last[2] + last[3]) * lanes, x)
    totals = np.zeros(taps * lanes)
    channel = min(block * lanes, channels - lanes)
    for n in range(samples):
        plane = n * channels + channel
        _transpose(x, x.ctypes.data + plane * pixels * size, pixels * size, pixels, lanes, vectors.ctypes.data,
                   channels * pixels * size)
        _widen(vectors, meetings.width, meetings.margin, lanes, widened)
        _transpose(x, g.ctypes.data + plane * results * size, results * size, results, lanes, upstream.ctypes.data,
                   channels * results * size)
        sum_products(widened, upstream, meetings.pairs, meetings.runs, meetings.step, meetings.pitch, nothing, sums,
                     sums.ctypes.data)
        for piece in range(0, sums.shape[0], totals.shape[0]):
            for i in range(totals.shape[0]):
                totals[i] += sums[piece + i]
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


def _longest(factors: Array) -> int:
    """How long runs may be: those of several results meet zeros in the margin, and what is not finite makes NaN of them."""
    return RUN if np.isfinite(factors).all() else 1


def _apply(source: Array, weight: Array, bias: Array, meetings: _Meetings, target: Array) -> None:
    samples, channels = source.shape[:2]
    pixels = max(source.size, target.size) // (samples * channels)
    each = max(1, PARALLEL_FROM // (pixels * (VECTOR_BYTES // source.itemsize)))
    _convolve_parallel(_flat(source), weight.reshape(channels, -1), bias, meetings, _flat(target), each)


def convolve(x: Array, weight: Array, bias: Array, window: Window, slices: Slices, y: Array) -> None:
    """Fill y (N, C, OD, OH, OW) from x (N, C, D, H, W), weight (C, KD, KH, KW), bias (C,) and slices (OD, KD) of x."""
    _apply(x, weight, bias, _results(window, slices, *x.shape[3:], VECTOR_BYTES // x.itemsize, _longest(weight)), y)


def grad_input(g: Array, weight: Array, window: Window, slices: Slices, dx: Array) -> None:
    """Fill dx (N, C, D, H, W) from g (N, C, OD, OH, OW), weight (C, KD, KH, KW) and slices (D, KD) of g."""
    meetings = _pixels(window, slices, *dx.shape[3:], VECTOR_BYTES // g.itemsize, _longest(weight))
    _apply(g, weight, np.zeros(g.shape[1], g.dtype), meetings, dx)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (C, 1, KH, KW) from g (N, C, OH, OW) and x (N, C, H, W)."""
    lanes, rows = VECTOR_BYTES // x.itemsize, dweight.reshape(dweight.shape[0], -1)
    for longest in (RUN, 1):
        _correlate_parallel(_flat(g), _flat(x), _taps(window, *x.shape[2:], lanes, longest), rows, -(-x.shape[1] // lanes))
        if _longest(rows) >= longest:
            break
