"""Depthwise convolution of volumes whose results are sums of whole planes: microkernels for the common windows.

An image is a volume of one slice, and so are the channels of a group: which of them make a slice of the result is a table
(`Slices`). Planes are read as they are, row by row (`plane_microkernels`); those with short rows are left to `channels`.
"""
from __future__ import annotations

import numba
import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window, turned_window
from ...runtime import tuning
from ...runtime.jit import jit, jit_parallel
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.dot import RUN_SUMS
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

# Whether there are registers for two vectors of results in seven rows.
_BY_TWO = VECTOR_BYTES == 64


def is_filter(window: Window) -> bool:
    """Whether `convolve` has the microkernel."""
    undilated = window.dh == 1 and (window.sw == 1 or window.dw == 1)
    return undilated and window.sh == window.sw and (window.kh, window.sh) in {(3, 1), (5, 1), (7, 1), (3, 2), (5, 2)}


def is_spread(window: Window) -> bool:
    """Whether `grad_input` has the microkernel for these strides."""
    return window[:4] in {(3, 3, 2, 2), (4, 4, 2, 2), (5, 5, 2, 2)} and (window.dh, window.dw) == (1, 1)


def is_correlated(window: Window) -> bool:
    """Whether `grad_weight` has the microkernel."""
    return window[:4] in {(3, 3, 1, 1), (3, 3, 2, 2)} and (window.dh, window.dw) == (1, 1)


@jit
def _filter_planes(x, weight, bias, window, slices, y, first, last):
    """Planes first..last ((n * O + o) * OD + slice) of y (N, O, OD, OH, OW); weight is (O, KD, KH, KW), x (N, C, D, H, W).

    slices (OD, KD) are those of the input that the taps of a slice of the result meet, -1 for none.
    """
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
    for windows that `is_spread`. slices (D, KD) are those of g that meet a slice of dx, as for `_filter_planes`.
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


@jit
def _correlate_channels(g, x, window, dweight, first, last):
    """Output channels first..last of dweight (O, KH * KW), for 3x3 taps. Planes are added up in float64."""
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
            # The next sample, or after the last one the first of the next channel: prefetching what is not there takes long.
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


def convolve(x: Array, weight: Array, bias: Array, window: Window, slices: Slices, y: Array) -> None:
    """Fill y (N, O, OD, OH, OW) from x (N, C, D, H, W), weight (O, KD, KH, KW) and bias (O,), in C groups.

    slices (OD, KD) are those of the input that the taps of a slice of the result meet, -1 for none.
    """
    # Tasks are large enough for a launch; a single one is none.
    each = max(1, tuning.PARALLEL_FROM // (weight.shape[1] * window.out_height * window.out_width))
    _filter_planes_parallel(x, weight, bias, window, np.array(slices), y, each)


def grad_input(g: Array, weight: Array, window: Window, slices: Slices, dx: Array) -> None:
    """Fill dx (N, C, D, H, W) from g (N, C, OD, OH, OW) and weight (C, KD, KH, KW).

    slices (D, KD) are those of g that the taps of a slice of dx meet, -1 for none.
    """
    if is_spread(window):
        each = max(1, tuning.PARALLEL_FROM // (weight.shape[1] * dx.shape[3] * dx.shape[4]))
        _spread_planes_parallel(g, weight, window, np.array(slices), dx, each)
    else:
        taps = np.ascontiguousarray(weight[:, :, ::-1, ::-1])
        convolve(g, taps, np.zeros(dx.shape[1], g.dtype), turned_window(window, dx.shape), slices, dx)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1) -> None:
    """Fill dweight (O, 1, KH, KW) from g (N, O, OH, OW) and x (N, C, H, W)."""
    each = max(1, tuning.PARALLEL_FROM // (g.size // g.shape[1]))
    _correlate_channels_parallel(g, x, window, dweight.reshape(dweight.shape[0], -1), each)
