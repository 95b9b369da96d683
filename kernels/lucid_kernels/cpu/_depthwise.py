"""Depthwise convolution, one input channel a group: a GEMM with KH * KW rows is slower than these loops."""
from __future__ import annotations

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array
from ._row_copies import Window
from ._sliding import valid_range, valid_ranges

# Planes that share the scratch memory of one task.
_PLANES_PER_TASK = 8


@jit
def _add_scaled(target, values, scale, step):
    """target[j] += scale * values[j * step] for the length of target."""
    if step == 1:
        for j in range(target.shape[0]):
            target[j] += scale * values[j]
    elif step == 2:
        for j in range(target.shape[0]):
            target[j] += scale * values[2 * j]
    else:
        for j in range(target.shape[0]):
            target[j] += scale * values[j * step]


@jit
def _spread_scaled(target, values, scale, step):
    """target[j * step] += scale * values[j] for the length of values."""
    if step == 1:
        for j in range(values.shape[0]):
            target[j] += scale * values[j]
    elif step == 2:
        for j in range(values.shape[0]):
            target[2 * j] += scale * values[j]
    else:
        for j in range(values.shape[0]):
            target[j * step] += scale * values[j]


@jit
def _dot(left, right, step):
    """Sum of left[j] * right[j * step]."""
    total = left.dtype.type(0)
    if step == 1:
        for j in range(left.shape[0]):
            total += left[j] * right[j]
    elif step == 2:
        for j in range(left.shape[0]):
            total += left[j] * right[2 * j]
    else:
        for j in range(left.shape[0]):
            total += left[j] * right[j * step]
    return total


@jit
def _depthwise_planes(x, weight, bias, window, y, first, last):
    """Planes first..last (n * O + o) of y (N, O, OH, OW); weight is (O, KH, KW), channel o reads o // (O // C)."""
    _, channels, height, width = x.shape
    _, out_channels, out_height, out_width = y.shape
    kh, kw, sh, sw, ph, pw, dh, dw, _, _ = window
    ranges = valid_ranges(kw, pw, dw, sw, width, out_width)
    for p in range(first, last):
        n = p // out_channels
        o = p % out_channels
        plane = x[n, o // (out_channels // channels)]
        for oh in range(out_height):
            total = y[n, o, oh]
            for j in range(out_width):
                total[j] = bias[o]
            for a in range(kh):
                ih = oh * sh - ph + a * dh
                if ih < 0 or ih >= height:
                    continue
                for b in range(kw):
                    lo, hi, start = ranges[b]
                    if lo < hi:
                        _add_scaled(total[lo:hi], plane[ih, start:], weight[o, a, b], sw)


@jit_parallel
def _depthwise_planes_parallel(x, weight, bias, window, y):
    for p in numba.prange(y.shape[0] * y.shape[1]):
        _depthwise_planes(x, weight, bias, window, y, p, p + 1)


@jit
def _set_rows(flat, pitch, start, plane):
    """Copy the rows of a plane into flat memory, `pitch` elements apart from `start` on."""
    for i in range(plane.shape[0]):
        row = plane[i]
        target = flat[start + i * pitch : start + i * pitch + row.shape[0]]
        for j in range(row.shape[0]):
            target[j] = row[j]


@jit
def _depthwise_unit_planes(x, weight, bias, window, y, first, last):
    """`_depthwise_planes` for strides of 1: a tap is one loop along the whole padded plane.

    The outputs are computed with the row length of the padded input; the surplus ones at the end of each row are never
    copied to y. Short rows, which the vectoriser leaves to scalar code, do not matter then.
    """
    _, channels, height, width = x.shape
    _, out_channels, out_height, out_width = y.shape
    kh, kw, _, _, ph, pw, dh, dw, _, _ = window
    pitch = width + 2 * pw
    padded = np.zeros((height + 2 * ph) * pitch, x.dtype)
    totals = np.empty((out_height - 1) * pitch + out_width, x.dtype)
    for p in range(first, last):
        n = p // out_channels
        o = p % out_channels
        _set_rows(padded, pitch, ph * pitch + pw, x[n, o // (out_channels // channels)])
        start = bias[o]
        for i in range(totals.shape[0]):
            totals[i] = start
        for a in range(kh):
            for b in range(kw):
                _add_scaled(totals, padded[a * dh * pitch + b * dw :], weight[o, a, b], 1)
        for oh in range(out_height):
            target = y[n, o, oh]
            row = totals[oh * pitch : oh * pitch + out_width]
            for j in range(row.shape[0]):
                target[j] = row[j]


@jit_parallel
def _depthwise_unit_planes_parallel(x, weight, bias, window, y):
    planes = y.shape[0] * y.shape[1]
    groups = (planes + _PLANES_PER_TASK - 1) // _PLANES_PER_TASK
    for task in numba.prange(groups):
        _depthwise_unit_planes(
            x, weight, bias, window, y, task * _PLANES_PER_TASK, min(planes, (task + 1) * _PLANES_PER_TASK)
        )


@jit
def _depthwise_grad_input_planes(g, weight, window, dx, first, last):
    """Planes first..last (n * C + c) of dx (N, C, H, W), each from the outputs of its channel."""
    _, channels, height, width = dx.shape
    _, out_channels, out_height, out_width = g.shape
    kh, kw, sh, sw, ph, pw, dh, dw, _, _ = window
    ranges = valid_ranges(kw, pw, dw, sw, width, out_width)
    multiplier = out_channels // channels
    for p in range(first, last):
        n = p // channels
        c = p % channels
        plane = dx[n, c]
        for ih in range(height):
            row = plane[ih]
            for j in range(width):
                row[j] = 0
        for o in range(c * multiplier, (c + 1) * multiplier):
            for oh in range(out_height):
                for a in range(kh):
                    ih = oh * sh - ph + a * dh
                    if ih < 0 or ih >= height:
                        continue
                    for b in range(kw):
                        lo, hi, start = ranges[b]
                        if lo < hi:
                            _spread_scaled(plane[ih, start:], g[n, o, oh, lo:hi], weight[o, a, b], sw)


@jit_parallel
def _depthwise_grad_input_planes_parallel(g, weight, window, dx):
    for p in numba.prange(dx.shape[0] * dx.shape[1]):
        _depthwise_grad_input_planes(g, weight, window, dx, p, p + 1)


@jit
def _depthwise_grad_weight_channels(g, x, window, dweight, first, last):
    """Output channels first..last of dweight (O, KH, KW); rows are summed in their dtype, across rows in float64."""
    samples, channels, height, width = x.shape
    _, out_channels, out_height, out_width = g.shape
    kh, kw, sh, sw, ph, pw, dh, dw, _, _ = window
    ranges = valid_ranges(kw, pw, dw, sw, width, out_width)
    for o in range(first, last):
        c = o // (out_channels // channels)
        for a in range(kh):
            for b in range(kw):
                lo, hi, start = ranges[b]
                top, bottom = valid_range(a * dh - ph, sh, height, out_height if lo < hi else 0)
                total = 0.0
                for n in range(samples):
                    for oh in range(top, bottom):
                        total += _dot(g[n, o, oh, lo:hi], x[n, c, oh * sh - ph + a * dh, start:], sw)
                dweight[o, a, b] = total


@jit_parallel
def _depthwise_grad_weight_channels_parallel(g, x, window, dweight):
    for o in numba.prange(dweight.shape[0]):
        _depthwise_grad_weight_channels(g, x, window, dweight, o, o + 1)


@jit
def _depthwise_grad_weight_unit_channels(g, x, window, dweight, first, last):
    """`_depthwise_grad_weight_channels` for strides of 1: one dot product along the whole padded plane for each tap.

    The rows of g are spaced as those of the padded input, with zeros between them. An inf or NaN of x would meet those
    zeros, so a channel that comes out as inf or NaN is computed again row by row.
    """
    samples, channels, height, width = x.shape
    _, out_channels, out_height, out_width = g.shape
    kh, kw, _, _, ph, pw, dh, dw, _, _ = window
    pitch = width + 2 * pw
    padded = np.zeros((height + 2 * ph) * pitch, x.dtype)
    spaced = np.zeros((out_height - 1) * pitch + out_width, x.dtype)
    totals = np.empty((kh, kw))
    for o in range(first, last):
        totals[:] = 0.0
        for n in range(samples):
            _set_rows(padded, pitch, ph * pitch + pw, x[n, o // (out_channels // channels)])
            _set_rows(spaced, pitch, 0, g[n, o])
            for a in range(kh):
                for b in range(kw):
                    totals[a, b] += _dot(spaced, padded[a * dh * pitch + b * dw :], 1)
        finite = True
        for a in range(kh):
            for b in range(kw):
                dweight[o, a, b] = totals[a, b]
                finite &= np.isfinite(totals[a, b])
        if not finite:
            _depthwise_grad_weight_channels(g, x, window, dweight, o, o + 1)


@jit_parallel
def _depthwise_grad_weight_unit_channels_parallel(g, x, window, dweight):
    for o in numba.prange(dweight.shape[0]):
        _depthwise_grad_weight_unit_channels(g, x, window, dweight, o, o + 1)


# ---- the kernel for a convolution ----------------------------------------------------------------------------------


def depthwise(x: Array, weight: Array, bias: Array, window: Window, y: Array) -> None:
    serial, parallel = (
        (_depthwise_unit_planes, _depthwise_unit_planes_parallel)
        if (window.sh, window.sw) == (1, 1)
        else (_depthwise_planes, _depthwise_planes_parallel)
    )
    if y.size < PARALLEL_FROM:
        serial(x, weight, bias, window, y, 0, y.shape[0] * y.shape[1])
    else:
        parallel(x, weight, bias, window, y)


def depthwise_grad_input(g: Array, weight: Array, window: Window, dx: Array) -> None:
    """Fill dx from weight (O, KH, KW); where strides are 1 it is the convolution of g with the flipped weight."""
    ph = window.dh * (window.kh - 1) - window.ph
    pw = window.dw * (window.kw - 1) - window.pw
    if (window.sh, window.sw) == (1, 1) and g.shape[1] == dx.shape[1] and ph >= 0 and pw >= 0:
        flipped = window._replace(ph=ph, pw=pw, out_height=dx.shape[2], out_width=dx.shape[3])
        depthwise(g, weight[:, ::-1, ::-1].copy(), np.zeros(dx.shape[1], g.dtype), flipped, dx)
        return
    if dx.size < PARALLEL_FROM:
        _depthwise_grad_input_planes(g, weight, window, dx, 0, dx.shape[0] * dx.shape[1])
    else:
        _depthwise_grad_input_planes_parallel(g, weight, window, dx)


def depthwise_grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    serial, parallel = (
        (_depthwise_grad_weight_unit_channels, _depthwise_grad_weight_unit_channels_parallel)
        if (window.sh, window.sw) == (1, 1)
        else (_depthwise_grad_weight_channels, _depthwise_grad_weight_channels_parallel)
    )
    if g.size < PARALLEL_FROM:
        serial(g, x, window, dweight, 0, dweight.shape[0])
    else:
        parallel(g, x, window, dweight)


