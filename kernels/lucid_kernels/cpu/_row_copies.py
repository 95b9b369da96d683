"""Copies of an image, one for each column of taps: what the direct convolutions read instead of a matrix of columns.

Copy `b` of a channel holds, for every output column, the pixel that column `b` of the taps meets there: KW copies of the
image, shifted sideways, thinned out by the stride, of the row length of the output, with zeros for the padding. With a
vertical stride the rows that different rows of taps meet lie apart: there is one such copy for each `phase`, the remainder
of the row by the stride. A tap of another row is then the same memory some rows further on, and all positions of a band of
the image are one contiguous run: short rows of 8 pixels fill the vectors as well as long ones.
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


def phases(window: Window) -> int:
    """How many remainders by the stride the rows of taps have."""
    return min(window.kh, _period(window.sh, window.dh))


def _period(stride: int, dilation: int) -> int:
    return stride // math.gcd(stride, dilation)


def extra_rows(window: Window) -> int:
    """The rows that a band of copies has beyond the output rows: how far the lowest taps look."""
    return (window.kh - 1) * window.dh // window.sh


@functools.lru_cache(maxsize=64)
def tap_starts(channels: int, window: Window, step: int) -> Array:
    """Where each tap (C, KH, KW) starts in copies that are `step` elements apart; kept, for it takes 4 us."""
    rows = np.arange(window.kh)
    phase = rows % _period(window.sh, window.dh)
    down = rows * window.dh // window.sh * window.out_width
    copies = np.arange(channels * window.kw).reshape(channels, 1, window.kw) * phases(window)
    return ((copies + phase.reshape(-1, 1)) * step + down.reshape(-1, 1)).reshape(-1)


def copies_of(x: Array, window: Window, rows: int) -> int:
    """Bytes of `rows` rows of the copies of one channel."""
    return rows * window.out_width * window.kw * phases(window) * x.itemsize


@jit
def clear_sides(segment: Any, width: Any, left: Any, right: Any) -> None:
    """Set the first `left` and the last `right` columns of the rows of a flat (rows * width,) segment to 0."""
    for start in range(0, segment.shape[0], width):
        for j in range(start, start + left):
            segment[j] = 0
        for j in range(start + width - right, start + width):
            segment[j] = 0


@jit
def fill_copies(x, first_sample, samples, first_channel, channels, window, phases, top, rows, step, copies):
    """The copies (C, KW, phases, step) of some samples and channels of x (N, C, H, W), for output rows from `top` on.

    Each holds `rows` rows of every sample, sample after sample. `copies` is flat. All memory is cleared at once, at 2% of
    the time: simpler than the pixels around each plane.
    """
    height, width = x.shape[2], x.shape[3]
    _, kw, sh, sw, ph, pw, dh, dw, _, out_width = window
    size = rows * out_width
    copies[: channels * kw * phases * step] = 0
    whole_planes = sh == 1 and sw == 1 and out_width == width  # then a plane is copied at once: ten times as fast at 8x8
    planes = x.reshape(x.shape[0], x.shape[1], height * width)
    for b in range(kw):
        offset = b * dw - pw
        lo, hi = valid_range(offset, sw, width, out_width)
        if lo >= hi:
            continue
        shift = (top - ph) * width + offset
        start = max(0, -shift)
        stop = min(size, height * width - shift)
        for c in range(channels):
            for q in range(phases):
                for n in range(samples):
                    here = ((c * kw + b) * phases + q) * step + n * size
                    if whole_planes:
                        if start < stop:
                            inside = copies[here + start : here + stop]
                            values = planes[first_sample + n, first_channel + c, start + shift :]
                            for j in range(inside.shape[0]):
                                inside[j] = values[j]
                            if offset != 0:
                                clear_sides(copies[here : here + size], width, max(0, -offset), max(0, offset))
                        continue
                    plane = planes[first_sample + n, first_channel + c]
                    for m in range(rows):
                        ih = (top + m) * sh + q * dh % sh - ph
                        if ih < 0 or ih >= height:
                            continue
                        inside = copies[here + m * out_width + lo : here + m * out_width + hi]
                        values = plane[ih * width + lo * sw + offset :]
                        if sw == 1:
                            for j in range(inside.shape[0]):
                                inside[j] = values[j]
                        elif sw == 2:
                            for j in range(inside.shape[0]):
                                inside[j] = values[2 * j]
                        else:
                            for j in range(inside.shape[0]):
                                inside[j] = values[j * sw]
