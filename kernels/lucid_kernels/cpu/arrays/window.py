"""What convolution and pooling share: which positions of a row a sliding window reaches."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..runtime.jit import jit_exact


@jit_exact
def valid_range(offset, stride, length, count):
    """First and end of the outputs o in 0..count whose input position o * stride + offset lies in 0..length."""
    first = 0 if offset >= 0 else (-offset + stride - 1) // stride
    last = 0 if offset >= length else (length - 1 - offset) // stride + 1
    last = min(last, count)
    return min(first, last), last


@jit_exact
def valid_ranges(taps, padding, dilation, stride, length, count):
    """(taps, 3): for each tap along a row its first output, the end of its outputs, and the input position of the first.

    Computed once a plane: the divisions cost as much as a short row of 56 outputs.
    """
    ranges = np.empty((taps, 3), np.int64)
    for b in range(taps):
        offset = b * dilation - padding
        first, last = valid_range(offset, stride, length, count)
        ranges[b, 0] = first
        ranges[b, 1] = last
        ranges[b, 2] = first * stride + offset if first < last else 0
    return ranges


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


def turned_window(window: Window, shape: tuple[int, ...]) -> Window:
    """That of the convolution with turned taps that is the input gradient (..., H, W), for strides of 1."""
    kh, kw, _, _, ph, pw, dh, dw, _, _ = window
    return Window(kh, kw, 1, 1, (kh - 1) * dh - ph, (kw - 1) * dw - pw, dh, dw, *shape[-2:])
