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
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, row_chunk
from ..arrays.window import Window, valid_range
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.jit import jit, jit_parallel
from .direct.copy_microkernels import (
    copy_fourth_windows,
    copy_second_windows,
    copy_shifted,
    copy_windows,
    interleave_rows,
)


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
    copies = np.arange(channels).reshape(-1, 1, 1) * period + rows % period
    return ((copies * window.kw + np.arange(window.kw)) * step + down).reshape(-1)


def copies_of(itemsize: int, window: Window, period: int, rows: int) -> int:
    """Bytes of `rows` rows of the copies of one channel."""
    return rows * window.out_width * window.kw * period * itemsize


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
    """The copies (C, period, KW, step) of some samples and channels of x (N, C, H, W), for output rows from `top` on.

    Each holds `rows` rows of every sample, sample after sample. `copies` is flat.
    """
    height, width = x.shape[2], x.shape[3]
    pixels, plane = x.reshape(-1), height * width
    for n in range(samples):
        fill_planes(pixels, ((first_sample + n) * x.shape[1] + first_channel) * plane, plane, height, width, channels, window,
                    period, top, rows, step, copies, n * rows * window.out_width)


@jit
def fill_planes(pixels, start, pitch, height, width, channels, window, period, top, rows, step, copies, target):
    """`fill_copies` for one image, whose planes begin at `start` of flat `pixels`, `pitch` elements apart; they go to `target`
    and what follows it in each copy. Planes without a `height` are zeros.
    """
    if height > 0 and width == window.out_width == window.kw == 1 and window.pw == 0 and window.sh > 1:
        # A column is copied as the row that it is: pixel by pixel 3 taps with a stride of 2 took 1.4 times as long.
        row = Window(1, period, 1, window.sh, 0, window.ph - top * window.sh, 1, window.dh, 1, rows)
        _fill_rows(pixels, start, pitch, 1, height, channels, row, 1, 0, 1, step, copies, target)
    elif window.sh == 1 and window.sw == 1 and window.out_width == width:
        _fill_planes(pixels, start, pitch, height, width, channels, window, period, top, rows, step, copies, target)
    else:
        _fill_rows(pixels, start, pitch, height, width, channels, window, period, top, rows, step, copies, target)


@jit
def _fill_planes(pixels, start, pitch, height, width, channels, window, period, top, rows, step, copies, target):
    """`fill_planes` for results as wide as the input: whole planes are copied, shifted."""
    _, kw, _, _, ph, pw, dh, dw, _, _ = window
    size = rows * width
    for b in range(kw):
        offset = b * dw - pw
        left, right = min(width, max(0, -offset)), min(width, max(0, offset))
        for q in range(period):
            shift = (top + q * dh - ph) * width + offset
            first = min(size, max(0, -shift))
            last = max(first, min(size, height * width - shift))
            copy_shifted(pixels, start + shift, pitch, copies, (q * kw + b) * step + target, kw * period * step, channels,
                         first, last, size, width, left, right)


@jit
def _fill_rows(pixels, start, pitch, height, width, channels, window, period, top, rows, step, copies, target):
    """`fill_planes` for any stride and size, row by row."""
    _, kw, sh, sw, ph, pw, dh, dw, _, out_width = window
    for b in range(kw):
        offset = b * dw - pw
        lo, hi = valid_range(offset, sw, width, out_width)
        for q in range(period):
            row_offset = top * sh + q * dh - ph
            first, last = valid_range(row_offset, sh, height, rows)
            source, place = start + row_offset * width + offset, (q * kw + b) * step + target
            if sw == 1:
                copy_windows(pixels, source, sh * width, pitch, offset, width, copies, place, kw * period * step, channels, rows,
                             first, last, out_width)
            elif sw == 2:
                copy_second_windows(pixels, source, sh * width, pitch, offset, width, copies, place, kw * period * step, channels,
                                    rows, first, last, out_width)
            elif sw == 4:
                copy_fourth_windows(pixels, source, sh * width, pitch, offset, width, copies, place, kw * period * step, channels,
                                    rows, first, last, out_width)
            else:
                for c in range(channels):
                    _copy_sparse(pixels, source + c * pitch, sh * width, sw, copies, place + c * kw * period * step, rows,
                                 out_width, first, last, lo, hi)


@jit
def _copy_sparse(pixels, start, pitch, stride, copies, target, rows, out_width, first, last, lo, hi):
    """One plane of `_fill_rows` for any stride: rows first..last and columns lo..hi are inside."""
    for j in range(target, target + first * out_width):
        copies[j] = 0
    for j in range(target + last * out_width, target + rows * out_width):
        copies[j] = 0
    clear_sides(copies[target + first * out_width : target + last * out_width], out_width, lo, out_width - hi)
    for r in range(first, last):
        for j in range(lo, hi):
            copies[target + r * out_width + j] = pixels[start + r * pitch + j * stride]


@jit_parallel
def _subsample(x, window, each, subsampled):
    """`subsampled` (N * C, OH * OW) from x (N, C, H, W), for one tap; `each` channels at a time."""
    channels, size = x.shape[1], subsampled.shape[1]
    parts = (channels + each - 1) // each
    for task in numba.prange(x.shape[0] * parts):
        n, first = task // parts, task % parts * each
        some = min(each, channels - first)
        row = n * channels + first
        fill_copies(x, n, 1, first, some, window, 1, 0, window.out_height, size, subsampled[row : row + some].reshape(-1))


def subsampled(x: Array, window: Window) -> Array:
    """What a single tap meets of x (N, C, H, W): (N, C, OH, OW), zeros in the padding."""
    result = empty((*x.shape[:2], window.out_height, window.out_width), x.dtype)
    rows = result.reshape(x.shape[0] * x.shape[1], -1)
    _subsample(x, window, max(1, tuning.PARALLEL_FROM // rows.shape[1]), rows)
    return result


# ---- input gradients ------------------------------------------------------------------------------------------------


@jit_parallel
def _spread(part, sh, sw, row, column, dx):
    """dx[:, :, row::sh, column::sw] = part."""
    channels = dx.shape[1]
    for task in numba.prange(dx.shape[0] * channels):
        source, target = part[task // channels, task % channels], dx[task // channels, task % channels]
        for i in range(source.shape[0]):
            values, pixels = source[i], target[row + i * sh, column:]
            for j in range(values.shape[0]):
                pixels[j * sw] = values[j]


@jit
def _interleave_planes(even, odd, sh, row, dx, first, last):
    """Planes first..last (n * C + c) of `_interleave`."""
    height, width = dx.shape[2:]
    rows, evens, odds = (height - row + sh - 1) // sh, even.shape[3], odd.shape[3]
    evens_flat, odds_flat, flat = even.reshape(-1), odd.reshape(-1), dx.reshape(-1)
    for plane in range(first, last):
        interleave_rows(evens_flat, plane * rows * evens, evens, odds_flat, plane * rows * odds, odds,
                        flat, (plane * height + row) * width, sh * width, rows, width)


@jit_parallel
def _interleave(even, odd, sh, row, dx):
    """dx[:, :, row::sh, ::2] = even and dx[:, :, row::sh, 1::2] = odd; zeros for an empty one."""
    planes = dx.shape[0] * dx.shape[1]
    each = row_chunk(dx.shape[2] * dx.shape[3])
    for task in numba.prange((planes + each - 1) // each):
        _interleave_planes(even, odd, sh, row, dx, task * each, min(planes, (task + 1) * each))


def matching_taps(taps: int, stride: int, dilation: int, padding: int, first: int) -> list[int]:
    """The taps through which the input positions first, first + stride, ... meet outputs, from the last to the first."""
    return [a for a in reversed(range(taps)) if (first + padding - a * dilation) % stride == 0]


def tap_step(taps: list[int]) -> int:
    """The step from one of `taps` to the next, negative; -1 for a single one."""
    return taps[1] - taps[0] if len(taps) > 1 else -1


def grad_input_by_remainders(
    turned: Array, window: Window, dx: Array, convolve: Callable[[Array, Window, Array], None]
) -> None:
    """Fill dx (N, C, H, W) by convolutions with `turned`, the weight by input channels (C, ..., KH, KW).

    The input positions with one remainder by the stride meet the same taps: their gradient is a convolution of the upstream
    gradient, with strides of 1, with those taps turned around: ``convolve(taps, window, part)``.
    """
    kh, kw, sh, sw, ph, pw, dh, dw, _, _ = window
    height, width = dx.shape[2:]
    for row in range(min(sh, height)):
        rows = matching_taps(kh, sh, dh, ph, row)
        parts = []
        for column in range(min(sw, width)):
            columns = matching_taps(kw, sw, dw, pw, column)
            if not rows or not columns:
                parts.append(np.empty((*dx.shape[:2], 0, 0), dx.dtype))
                continue
            shape = (-(-(height - row) // sh), -(-(width - column) // sw))
            part = dx if (sh, sw) == (1, 1) else empty((*dx.shape[:2], *shape), dx.dtype)
            taps = turned[:, :, rows[0] :: tap_step(rows), columns[0] :: tap_step(columns)][:, :, : len(rows), : len(columns)]
            single = Window(
                len(rows), len(columns), 1, 1,
                -((row + ph - rows[0] * dh) // sh), -((column + pw - columns[0] * dw) // sw),
                max(1, -tap_step(rows) * dh // sh), max(1, -tap_step(columns) * dw // sw), *shape,
            )
            convolve(taps, single, part)
            parts.append(part)
        _merge(parts, sh, sw, row, dx)


def _merge(parts: list[Array], sh: int, sw: int, row: int, dx: Array) -> None:
    """dx[:, :, row::sh, column::sw] = parts[column], or 0 where that is empty; there are `sw` parts, or one for each column."""
    if len(parts) == sw == 2:
        _interleave(*parts, sh, row, dx)
        return
    for column, part in enumerate(parts):
        if part.size == 0:
            dx[:, :, row::sh, column::sw] = 0
        elif part is not dx:
            _spread(part, sh, sw, row, column, dx)
