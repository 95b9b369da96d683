"""Copies of an image, one for each column of taps: what the direct convolutions read instead of a matrix of columns.

Copy `b` of a channel holds, for every output column, the pixel that column `b` of the taps meets there: KW copies of the
image, shifted sideways, thinned out by the stride, of the row length of the output, with zeros for the padding. A tap of a
row further down is then the same memory some rows further on, and all positions of a band of the image are one contiguous
run: short rows of 8 pixels fill the vectors as well as long ones.

`period` rows of taps have copies of their own. With a vertical stride two rows of taps meet the same rows of pixels only if
they are a multiple of the stride apart: that multiple is the least period. With a period of KH every tap has its own copy:
more to write, but no rows beyond the band, so that the positions of one image follow those of another.
"""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ._compile import jit
from ._layout import Array
from ._sliding import valid_range

# Below this many products the columns, which need no parallel launch, are as fast: about 20 us.
LEAST_PRODUCTS = 1 << 17


class Window(NamedTuple):
    """The attributes of a convolution with the sizes that follow from them. The paddings may be negative here."""

    kh: int
    kw: int
    sh: int
    sw: int
    ph: int
    pw: int
    dh: int
    dw: int
    out_height: int
    out_width: int


def enough_work(x: Array, window: Window, out_channels: int) -> bool:
    """Whether the convolution of x (N, C, H, W) is worth a parallel launch."""
    taps = x.shape[0] * x.shape[1] * window.kh * window.kw
    return taps * out_channels * window.out_height * window.out_width >= LEAST_PRODUCTS


def least_period(window: Window) -> int:
    """The least number of rows of taps that need copies of their own."""
    return min(window.kh, window.sh // math.gcd(window.sh, window.dh))


def extra_rows(window: Window, period: int) -> int:
    """The rows that a band of copies has beyond the output rows: how far the lowest taps look."""
    return (window.kh - 1) // period * (period * window.dh // window.sh)


@functools.lru_cache(maxsize=64)
def tap_starts(channels: int, window: Window, period: int, step: int) -> Array:
    """Where each tap (C, KH, KW) starts in copies that are `step` elements apart; kept, for it takes 4 us."""
    rows = np.arange(window.kh).reshape(-1, 1)
    down = rows // period * (period * window.dh // window.sh) * window.out_width
    copies = np.arange(channels * window.kw).reshape(channels, 1, window.kw) * period
    return ((copies + rows % period) * step + down).reshape(-1)


def copies_of(x: Array, window: Window, period: int, rows: int) -> int:
    """Bytes of `rows` rows of the copies of one channel."""
    return rows * window.out_width * window.kw * period * x.itemsize


@jit
def clear_sides(segment: Any, width: Any, left: Any, right: Any) -> None:
    """Set the first `left` and the last `right` columns of the rows of a flat (rows * width,) segment to 0."""
    for start in range(0, segment.shape[0], width):
        for j in range(start, start + left):
            segment[j] = 0
        for j in range(start + width - right, start + width):
            segment[j] = 0


@jit
def fill_copies(x, first_sample, samples, first_channel, channels, window, period, top, rows, step, copies):
    """The copies (C, KW, period, step) of some samples and channels of x (N, C, H, W), for output rows from `top` on.

    Each holds `rows` rows of every sample, sample after sample. `copies` is flat.
    """
    if window.sh == 1 and window.sw == 1 and window.out_width == x.shape[3]:
        _fill_planes(x, first_sample, samples, first_channel, channels, window, period, top, rows, step, copies)
    else:
        _fill_rows(x, first_sample, samples, first_channel, channels, window, period, top, rows, step, copies)


@jit
def _fill_planes(x, first_sample, samples, first_channel, channels, window, period, top, rows, step, copies):
    """`fill_copies` for results as wide as the input: a plane is copied at once, ten times as fast for 8x8 pixels."""
    height, width = x.shape[2], x.shape[3]
    _, kw, _, _, ph, pw, dh, dw, _, _ = window
    size = rows * width
    planes = x.reshape(x.shape[0], x.shape[1], height * width)
    for b in range(kw):
        offset = b * dw - pw
        for q in range(period):
            shift = (top + q * dh - ph) * width + offset
            start = min(size, max(0, -shift))
            stop = max(start, min(size, height * width - shift)) if abs(offset) < width else start
            for c in range(channels):
                for n in range(samples):
                    here = ((c * kw + b) * period + q) * step + n * size
                    copies[here : here + start] = 0
                    copies[here + stop : here + size] = 0
                    inside = copies[here + start : here + stop]
                    if inside.shape[0] > 0:
                        values = planes[first_sample + n, first_channel + c, start + shift :]
                        for j in range(inside.shape[0]):
                            inside[j] = values[j]
                        if offset != 0:
                            clear_sides(copies[here : here + size], width, max(0, -offset), max(0, offset))


@jit
def _fill_rows(x, first_sample, samples, first_channel, channels, window, period, top, rows, step, copies):
    """`fill_copies` for any stride and size.

    Each row of pixels is padded and dealt out to `sw` lines first, every sw-th pixel to one: what a column of taps meets is
    then contiguous, and the slow steps of `sw` pixels are taken once instead of KW times.
    """
    height = x.shape[2]
    _, kw, sh, sw, ph, pw, dh, dw, _, out_width = window
    size = rows * out_width
    length = ((kw - 1) * dw) // sw + out_width
    lines = np.zeros((sw, length), x.dtype)
    for c in range(channels):
        for n in range(samples):
            here = c * kw * period * step + n * size
            plane = x[first_sample + n, first_channel + c]
            for q in range(period):
                for m in range(rows):
                    ih = (top + m) * sh + q * dh - ph
                    if ih < 0 or ih >= height:
                        for b in range(kw):
                            start = here + (b * period + q) * step + m * out_width
                            copies[start : start + out_width] = 0
            for ih in range(max(0, top * sh - ph), min(height, (top + rows - 1) * sh + (period - 1) * dh - ph + 1)):
                dealt = False
                for q in range(period):
                    down = ih + ph - q * dh - top * sh
                    if down < 0 or down % sh != 0 or down // sh >= rows:
                        continue
                    if not dealt:
                        _deal(plane[ih], pw, lines)
                        dealt = True
                    for b in range(kw):
                        start = here + (b * period + q) * step + down // sh * out_width
                        target = copies[start : start + out_width]
                        values = lines[b * dw % sw, b * dw // sw :]
                        for j in range(target.shape[0]):
                            target[j] = values[j]


@jit
def _deal(row, padding, lines):
    """lines[r, m] = row[m * sw + r - padding] where that is in the row; the rest of `lines` stays as it is."""
    sw, length = lines.shape
    for r in range(sw):
        first, last = valid_range(r - padding, sw, row.shape[0], length)
        target = lines[r, first:last]
        values = row[max(0, first * sw + r - padding) :]
        if sw == 1:
            for j in range(target.shape[0]):
                target[j] = values[j]
        elif sw == 2:
            for j in range(target.shape[0]):
                target[j] = values[2 * j]
        else:
            for j in range(target.shape[0]):
                target[j] = values[sw * j]
