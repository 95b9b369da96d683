"""Depthwise convolution, of images and of volumes, one plane of the result at a time: each sums the planes of one channel.

A volume is slices, and so are the channels of a group: which of them make a slice of the result is a table (`Slices`).

The common kernels (`plane_microkernels`) read the planes as they are. For the others a plane of the input is copied once,
with its padding, and dealt out by the strides: image (r, c) holds the pixels that are r below and c right of a multiple of the
strides. Each tap then meets, for all output positions, one contiguous run of one of these images, so the sums stay in registers
whatever the strides, the dilation and the width. The last positions of each row of such a run are surplus: they wrap around to
the next row, and are not copied to the result.

Planes with short rows are left to `channels`.
"""
from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numba
import numpy as np

from ...arrays.layout import PARALLEL_FROM, Array
from ...arrays.window import Window, valid_range
from ...runtime.jit import jit, jit_parallel
from ...simd.copy_rows import copy_rows
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.dot import RUN_SUMS, RUN_TAPS, dot_run
from ..direct.microkernels import RUN_VECTORS, multiply_run
from ..im2row import deal_rows, grad_input_by_remainders
from . import channels as lanes
from .channels import Slices
from .plane_grad_microkernels import spread_3, spread_4, spread_5
from .plane_microkernels import (
    correlate_planes,
    correlate_planes_strided,
    filter_3,
    filter_3_strided,
    filter_3x3,
    filter_5,
    filter_5_strided,
    filter_7,
)

# Bytes of the images and of the sums of a band of output rows, in an L1 cache of 32 KiB or more: a plane of 56x56 is one band.
_BAND_BYTES = 28 << 10
_BLOCK_BYTES = RUN_VECTORS * VECTOR_BYTES
# Products that are added up at a time: a sum of 3072, as of the gradient of a pixel that 128 filters of 6x4 taps meet, had nine
# times the largest error of PyTorch's.
_PRODUCTS = 192
# Vectors of products that a weight's gradient adds up one after the other, before float64 takes over: with those of a band,
# several hundred, its largest error was 2.2 to 2.7 times PyTorch's.
_SEQUENCE = 64
# How wide results may be for `channels`, in vectors, by the rows of taps, where the loops here read the planes as they
# are: these take 1.1 to 2.8 times as long up to there, and 0.6 to 0.9 of the time beyond, where more of each vector is used. The
# width of a spread gradient is that of what it is made of.
_WIDEST_FILTERED = {3: 1.25, 5: 4, 7: math.inf} if VECTOR_BYTES == 64 else {3: 2, 5: math.inf, 7: math.inf}
_WIDEST_SPREAD = {3: 1.25, 4: 0.75, 5: 0.75} if VECTOR_BYTES == 64 else {3: 2, 4: 2, 5: 2}
_WIDEST_CORRELATED = 0.75 if VECTOR_BYTES == 64 else 1.25
# The least of these for several slices, whose sums these loops take from memory.
_WIDEST_SLICES = 2
# Whether there are registers for two vectors of results in seven rows.
_BY_TWO = VECTOR_BYTES == 64


class _Cut(NamedTuple):
    """`band` output rows are computed at once, from images of `step` elements: `rows` rows that are `pitch` apart."""

    band: int
    rows: int
    pitch: int
    step: int


@functools.lru_cache(maxsize=64)
def _plan(window: Window, depth: int, itemsize: int) -> tuple[_Cut, Array, Array]:
    """How planes are cut, the images that are needed (number, 2), and where each tap (depth, KH, KW) starts in them."""
    down, right = ([tap * dilation for tap in range(taps)] for taps, dilation in ((window.kh, window.dh), (window.kw, window.dw)))
    rows, columns = sorted({offset % window.sh for offset in down}), sorted({offset % window.sw for offset in right})
    images = np.array([(row, column) for row in rows for column in columns])
    pitch = window.out_width + right[-1] // window.sw
    extra = down[-1] // window.sh
    planes = depth * len(images)
    fitting = (_BAND_BYTES // (pitch * itemsize) - extra * planes) // (planes + 1)
    band = min(window.out_height, max(1, fitting, extra))
    band = -(-window.out_height // -(-window.out_height // band))
    cut = _Cut(band, band + extra, pitch, (band + extra) * pitch)
    starts = [((d * len(rows) + rows.index(a % window.sh)) * len(columns) + columns.index(b % window.sw)) * cut.step
              + a // window.sh * pitch + b // window.sw for d in range(depth) for a in down for b in right]
    return cut, images, np.array(starts)


@jit
def _spans(window, height, width, top, cut, images):
    """(images, 6): the rows first..last and the columns first..last of each image that are inside, and the pixel of the first."""
    spans = np.empty((images.shape[0], 6), np.int64)
    for i in range(images.shape[0]):
        row, column = top * window.sh + images[i, 0] - window.ph, images[i, 1] - window.pw
        spans[i, 0], spans[i, 1] = valid_range(row, window.sh, height, cut.rows)
        spans[i, 2], spans[i, 3] = valid_range(column, window.sw, width, cut.pitch)
        spans[i, 4], spans[i, 5] = row + spans[i, 0] * window.sh, column + spans[i, 2] * window.sw
    return spans


@jit
def _deal(pixels, plane, width, window, cut, spans, first, images):
    """Write what is inside of the images of one plane, which starts at pixels[plane], from images[first] on."""
    for i in range(spans.shape[0]):
        source = plane + spans[i, 4] * width + spans[i, 5]
        target = first + i * cut.step + spans[i, 0] * cut.pitch + spans[i, 2]
        deal_rows(pixels, source, window.sh * width, window.sw, images, target, cut.pitch, spans[i, 1] - spans[i, 0],
                  spans[i, 3] - spans[i, 2])


@jit
def _convolve_planes(x, weight, bias, window, slices, cut, images, taps, y, first, last):
    """Planes first..last ((n * O + o) * OD + slice) of y (N, O, OD, OH, OW); weight is (O, KD * KH * KW), x (N, C, D, H, W).

    slices (OD, KD) are those of the input that the taps of a slice of the result meet, -1 for none.
    """
    channels, slices_in, height, width = x.shape[1:]
    out_channels, slices_out, out_height, out_width = y.shape[1:]
    each = out_channels // channels
    block = _BLOCK_BYTES // x.itemsize
    pixels, flat = x.reshape(-1), y.reshape(-1)
    # The last block of sums reads on for up to a block.
    dealt = np.zeros(slices.shape[1] * images.shape[0] * cut.step + block, x.dtype)
    sums = np.empty(cut.band * cut.pitch + block, x.dtype)
    for top in range(0, out_height, cut.band):
        rows = min(cut.band, out_height - top)
        spans = _spans(window, height, width, top, cut, images)
        if top > 0:  # other rows are outside now
            dealt[:] = 0
        for p in range(first, last):
            n, o = p // slices_out // out_channels, p // slices_out % out_channels
            for d, number in enumerate(slices[p % slices_out]):
                place = d * images.shape[0] * cut.step
                if number < 0:
                    dealt[place : place + images.shape[0] * cut.step] = 0
                else:
                    plane = ((n * channels + o // each) * slices_in + number) * height * width
                    _deal(pixels, plane, width, window, cut, spans, place, dealt)
            for j in range(0, (rows - 1) * cut.pitch + out_width, block):
                for k in range(0, taps.shape[0], _PRODUCTS):
                    multiply_run(dealt, j, taps[k : k + _PRODUCTS], weight[o], k, 0, 1, bias, o, sums, j, 0, k > 0)
            copy_rows(sums, 0, cut.pitch, flat, (p * out_height + top) * out_width, out_width, rows, out_width)


@jit
def _filter_planes(x, weight, bias, window, slices, y, first, last):
    """`_convolve_planes` for windows that `_is_filter`."""
    channels, slices_in, height, width = x.shape[1:]
    out_channels, slices_out, out_height, out_width = y.shape[1:]
    kh, kw, stride, _, top, left, _, dilation, _, _ = window
    each, depth = out_channels // channels, slices.shape[1]
    pixels, flat, scales = x.reshape(-1), y.reshape(-1), weight.reshape(-1)
    spare = np.zeros(width + out_width, x.dtype)
    by_two = _BY_TWO and kh == kw == 3 and stride == dilation == 1 and out_width * x.itemsize > VECTOR_BYTES
    for p in range(first, last):
        n, o = p // slices_out // out_channels, p // slices_out % out_channels
        target, more = p * out_height * out_width, False
        for d, number in enumerate(slices[p % slices_out]):
            if number < 0:
                continue
            plane = ((n * channels + o // each) * slices_in + number) * height * width
            start = (o * depth + d) * kh * kw
            if by_two:
                filter_3x3(pixels, plane, height, width, scales, start, top, left, bias[o], flat, target, out_height, out_width,
                           more, spare)
            elif kh == 3 and stride == 1:
                filter_3(pixels, plane, height, width, scales, start, kw, dilation, top, left, bias[o], flat, target, out_height,
                         out_width, more, spare)
            elif kh == 3:
                filter_3_strided(pixels, plane, height, width, scales, start, kw, dilation, top, left, bias[o], flat, target,
                                 out_height, out_width, more, spare)
            elif kh == 5 and stride == 1:
                filter_5(pixels, plane, height, width, scales, start, kw, dilation, top, left, bias[o], flat, target, out_height,
                         out_width, more, spare)
            elif kh == 5:
                filter_5_strided(pixels, plane, height, width, scales, start, kw, dilation, top, left, bias[o], flat, target,
                                 out_height, out_width, more, spare)
            else:
                filter_7(pixels, plane, height, width, scales, start, kw, dilation, top, left, bias[o], flat, target, out_height,
                         out_width, more, spare)
            more = True
        if not more:
            flat[target : target + out_height * out_width] = bias[o]


@jit_parallel
def _filter_planes_parallel(x, weight, bias, window, slices, y, each):
    planes = y.shape[0] * y.shape[1] * y.shape[2]
    for task in numba.prange((planes + each - 1) // each):
        _filter_planes(x, weight, bias, window, slices, y, task * each, min(planes, (task + 1) * each))


@jit
def _spread_planes(g, weight, window, slices, dx, first, last):
    """Planes first..last ((n * C + c) * D + slice) of dx (N, C, D, H, W), from g (N, C, OD, OH, OW) and weight (C, KD, KH, KW),
    for windows that `_is_spread`. slices (D, KD) are those of g that meet a slice of dx, as for `_convolve_planes`.
    """
    channels, slices_out, height, width = dx.shape[1:]
    slices_in, out_height, out_width = g.shape[2:]
    upstream, flat, scales = g.reshape(-1), dx.reshape(-1), weight.reshape(-1)
    taps, depth = window.kh * window.kw, slices.shape[1]
    spare = np.zeros(out_width + width, g.dtype)
    for p in range(first, last):
        place, more = p // slices_out, False
        for d, number in enumerate(slices[p % slices_out]):
            if number < 0:
                continue
            plane, start = (place * slices_in + number) * out_height * out_width, (place % channels * depth + d) * taps
            if window.kh == 3:
                spread_3(upstream, plane, out_height, out_width, scales, start, window.ph, window.pw, flat,
                         p * height * width, height, width, more, spare)
            elif window.kh == 4:
                spread_4(upstream, plane, out_height, out_width, scales, start, window.ph, window.pw, flat,
                         p * height * width, height, width, more, spare)
            else:
                spread_5(upstream, plane, out_height, out_width, scales, start, window.ph, window.pw, flat,
                         p * height * width, height, width, more, spare)
            more = True
        if not more:
            flat[p * height * width : (p + 1) * height * width] = 0


@jit_parallel
def _spread_planes_parallel(g, weight, window, slices, dx, each):
    planes = dx.shape[0] * dx.shape[1] * dx.shape[2]
    for task in numba.prange((planes + each - 1) // each):
        _spread_planes(g, weight, window, slices, dx, task * each, min(planes, (task + 1) * each))


def _is_spread(window: Window) -> bool:
    """Whether `_spread_planes` has the microkernel."""
    return window[:4] in {(3, 3, 2, 2), (4, 4, 2, 2), (5, 5, 2, 2)} and (window.dh, window.dw) == (1, 1)


def _is_filter(window: Window) -> bool:
    """Whether `_filter_planes` has the microkernel."""
    undilated = window.dh == 1 and (window.sw == 1 or window.dw == 1)
    return undilated and window.sh == window.sw and (window.kh, window.sh) in {(3, 1), (5, 1), (7, 1), (3, 2), (5, 2)}


def _is_correlated(window: Window) -> bool:
    """Whether `_correlate_channels` has the microkernel."""
    return window[:4] in {(3, 3, 1, 1), (3, 3, 2, 2)} and (window.dh, window.dw) == (1, 1)


def _suits_lanes(x: Array, y: Array, depth: int, widest: float) -> bool:
    """Whether `channels` is faster for x (N, C, D, H, W) and y (N, O, OD, OH, OW), whose slices meet `depth` others."""
    return lanes.suits(x.shape, y.shape, x.itemsize, max(widest, _WIDEST_SLICES) if depth > 1 else widest)


@jit_parallel
def _convolve_planes_parallel(x, weight, bias, window, slices, cut, images, taps, y, each):
    planes = y.shape[0] * y.shape[1] * y.shape[2]
    for task in numba.prange((planes + each - 1) // each):
        _convolve_planes(x, weight, bias, window, slices, cut, images, taps, y, task * each, min(planes, (task + 1) * each))


@jit
def _grad_weight_channels(g, x, window, cut, images, taps, dweight, first, last):
    """Output channels first..last of dweight (O, KH * KW); taps are (blocks, RUN_TAPS). Pieces are added up in float64."""
    samples, channels, height, width = x.shape
    out_channels, out_height, out_width = g.shape[1:]
    pixels, flat = x.reshape(-1), g.reshape(-1)
    dealt = np.zeros(images.shape[0] * cut.step, x.dtype)
    sums = np.empty((taps.shape[0], RUN_SUMS), x.dtype)
    row = np.zeros(1, np.int64)
    piece = max(1, _SEQUENCE // -(-out_width * x.itemsize // VECTOR_BYTES))
    for o in range(first, last):
        totals = np.zeros((taps.shape[0], RUN_SUMS))
        for top in range(0, out_height, cut.band):
            rows = min(cut.band, out_height - top)
            spans = _spans(window, height, width, top, cut, images)
            if cut.band < out_height:
                dealt[:] = 0
            for n in range(samples):
                plane = n * channels + o // (out_channels // channels)
                _deal(pixels, plane * height * width, width, window, cut, spans, 0, dealt)
                start = ((n * out_channels + o) * out_height + top) * out_width
                for r in range(0, rows, piece):
                    count, at = min(piece, rows - r), start + r * out_width
                    sums[:] = 0
                    for t in range(taps.shape[0]):
                        dot_run(flat, at, row, dealt, r * cut.pitch, taps[t], count, out_width, cut.pitch, out_width, sums[t])
                    totals += sums
        for k in range(dweight.shape[1]):
            dweight[o, k] = totals[k // RUN_TAPS, k % RUN_TAPS]


@jit
def _correlate_channels(g, x, window, dweight, first, last):
    """`_grad_weight_channels` for 3x3 taps, strides of 1 or 2 and dilations of 1."""
    samples, channels, height, width = x.shape
    out_channels, out_height, out_width = g.shape[1:]
    out_plane = out_height * out_width
    pixels, flat = x.reshape(-1), g.reshape(-1)
    zeros, sums = np.zeros(width, x.dtype), np.empty(RUN_SUMS, x.dtype)
    totals = np.empty(RUN_SUMS)
    for o in range(first, last):
        totals[:] = 0
        for n in range(samples):
            plane = n * channels + o // (out_channels // channels)
            source, start = (n * out_channels + o) * out_plane, plane * height * width
            # The next sample, or after the last one the first of the next channel: asking for what is not there takes long.
            jump = 1 if n + 1 < samples else -n
            ahead = jump * channels * height * width + (0 if n + 1 < samples else height * width)
            g_ahead = jump * out_channels * out_plane + (0 if n + 1 < samples else out_plane)
            if window.sh == 1:
                correlate_planes(flat, source, out_height, out_width, g_ahead, pixels, start, height, width, ahead,
                                 window.ph, window.pw, zeros, sums)
            else:
                correlate_planes_strided(flat, source, out_height, out_width, g_ahead, pixels, start, height, width, ahead,
                                         window.ph, window.pw, zeros, sums)
            totals += sums
        for k in range(9):
            dweight[o, k] = totals[k]


@jit_parallel
def _correlate_channels_parallel(g, x, window, dweight, each):
    channels = dweight.shape[0]
    for task in numba.prange((channels + each - 1) // each):
        _correlate_channels(g, x, window, dweight, task * each, min(channels, (task + 1) * each))


@jit_parallel
def _grad_weight_channels_parallel(g, x, window, cut, images, taps, dweight, each):
    channels = dweight.shape[0]
    for task in numba.prange((channels + each - 1) // each):
        _grad_weight_channels(g, x, window, cut, images, taps, dweight, task * each, min(channels, (task + 1) * each))


# ---- the kernel for a convolution ----------------------------------------------------------------------------------


def convolve_volumes(x: Array, weight: Array, bias: Array, window: Window, slices: Slices, y: Array) -> None:
    """Fill y (N, O, OD, OH, OW) from x (N, C, D, H, W), weight (O, KD, KH, KW) and bias (O,), in C groups.

    slices (OD, KD) are those of the input that the taps of a slice of the result meet, -1 for none.
    """
    if _suits_lanes(x, y, weight.shape[1], _WIDEST_FILTERED[window.kh] if _is_filter(window) else math.inf):
        lanes.convolve(x, weight, bias, window, slices, y)
        return
    # Tasks are large enough for a launch; a single one is none.
    depth = weight.shape[1]
    each = max(1, PARALLEL_FROM // (depth * window.out_height * window.out_width))
    if _is_filter(window):
        _filter_planes_parallel(x, weight, bias, window, np.array(slices), y, each)
        return
    cut, images, taps = _plan(window, depth, x.itemsize)
    rows = weight.reshape(weight.shape[0], -1)
    _convolve_planes_parallel(x, rows, bias, window, np.array(slices), cut, images, taps, y, each)


def grad_input_volumes(g: Array, weight: Array, window: Window, slices: Slices, dx: Array) -> None:
    """Fill dx (N, C, D, H, W) from g (N, C, OD, OH, OW) and weight (C, KD, KH, KW).

    slices (D, KD) are those of g that the taps of a slice of dx meet, -1 for none.
    """
    widest = _WIDEST_SPREAD if _is_spread(window) else _WIDEST_FILTERED if _is_filter(window) else {window.kh: math.inf}
    if _suits_lanes(dx, g, weight.shape[1], widest[window.kh]):
        lanes.grad_input(g, weight, window, slices, dx)
        return
    if _is_spread(window):
        each = max(1, PARALLEL_FROM // (weight.shape[1] * dx.shape[3] * dx.shape[4]))
        _spread_planes_parallel(g, weight, window, np.array(slices), dx, each)
        return
    none = np.zeros(dx.shape[1], g.dtype)

    def convolve(taps: Array, single: Window, part: Array) -> None:
        volumes = part.reshape(*dx.shape[:3], *part.shape[2:])
        convolve_volumes(g, np.ascontiguousarray(taps), none, single, slices, volumes)

    grad_input_by_remainders(weight, window, dx.reshape(dx.shape[0], -1, *dx.shape[3:]), convolve)


# ---- images are volumes of one slice, or their channels are slices -------------------------------------------------


def _volumes(images: Array, depth: int) -> tuple[Array, Slices]:
    """(N, C, H, W) as (N, C / depth, depth, H, W), and its slices, all of which a result of one slice meets."""
    samples, channels, height, width = images.shape
    return images.reshape(samples, channels // depth, depth, height, width), (tuple(range(depth)),)


def depthwise(x: Array, weight: Array, bias: Array, window: Window, y: Array) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, D, KH, KW) and bias (O,), in C / D groups."""
    volumes, slices = _volumes(x, weight.shape[1])
    convolve_volumes(volumes, weight, bias, window, slices, _volumes(y, 1)[0])


def depthwise_grad_input(g: Array, weight: Array, window: Window, dx: Array) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, 1, KH, KW)."""
    channels = dx.shape[1]
    volumes, slices = _volumes(g, g.shape[1] // channels)
    turned = weight.reshape(channels, -1, window.kh, window.kw)
    grad_input_volumes(volumes, turned, window, slices, _volumes(dx, 1)[0])


def depthwise_grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (O, 1, KH, KW) from g (N, O, OH, OW) and x (N, C, H, W)."""
    widest = _WIDEST_CORRELATED if _is_correlated(window) else math.inf
    if _suits_lanes(_volumes(x, 1)[0], _volumes(g, 1)[0], 1, widest):
        lanes.grad_weight(g, x, window, dweight)
        return
    each = max(1, PARALLEL_FROM // (g.size // g.shape[1]))
    if _is_correlated(window):
        _correlate_channels_parallel(g, x, window, dweight.reshape(dweight.shape[0], -1), each)
        return
    cut, images, starts = _plan(window, 1, x.itemsize)
    blocks = -(-starts.size // RUN_TAPS)
    taps = starts[np.minimum(np.arange(blocks * RUN_TAPS), starts.size - 1)].reshape(blocks, RUN_TAPS)
    _grad_weight_channels_parallel(g, x, window, cut, images, taps, dweight.reshape(dweight.shape[0], -1), each)
