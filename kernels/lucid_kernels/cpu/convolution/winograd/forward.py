"""Convolution with 3x3 taps and strides of 1 by Winograd's F(2x2, 3x3): 16 products for a tile of 2x2 outputs instead of 36.

A task takes some rows of tiles of all images: it transforms their pixels, multiplies them by the transformed weight, 16
products of matrices, and transforms the sums to outputs. Larger tiles would save more, but F(4x4, 3x3) makes rounding errors
eight times as large as direct convolution does; those of F(2x2, 3x3) are alike.
"""
from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numba
import numpy as np

from lucid_kernels.integers import round_up

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime import tuning
from ...runtime.allocator import empty
from ...runtime.implementations import unmet
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned, aligned_empty
from ..channels_last import LANES, gather_band, offsets_of
from ..direct import forward as direct_forward
from ..problem import Problem
from .products import LINES, PANEL, multiply_panel
from .tiles import (
    FLAT,
    TAP_OFFSETS,
    Depth,
    Source,
    Tiles,
    band_size,
    deliver_rows,
    entry_step,
    output_offsets,
    padded,
    pixel_offsets,
    tiles_of,
    transform_rows,
)
from .transforms import PRODUCTS, transform_taps

# Channels that a sum in registers runs over: with more, rounding errors grow and a panel of the weight leaves the L1 cache.
_CHANNELS = 128
# Bytes of transformed pixels and sums of a task, in a 1 MiB L2 cache; but at least some tiles, for which the weight is read
# from the L2 or L3 cache, and more of them where it comes from memory. Then few tiles are not cut into smaller tasks than this:
# those with the same tiles share the outputs, 0.75 to 0.95 of the time for 1 to 8 images of 7x7.
_TASK_BYTES = 5 << 17
_LEAST_TASK, _LEAST_TASK_OF_LARGE_WEIGHT = 96, 288
_LEAST_SHARE_OF_LARGE_WEIGHT = 64
_LARGE_WEIGHT_BYTES = 1 << 23
# Work is cut into about this many tasks at least.
_TASKS = 8

# Channels whose taps are gathered at a time: whole vectors of them.
_TOGETHER = LANES
_CHANNELS_TAP_OFFSETS = offsets_of(1, 9 * _TOGETHER, 9 * _TOGETHER, 0, PANEL)
_TURNED_TAP_PLACES = np.concatenate([TAP_OFFSETS[8::-1], TAP_OFFSETS[9:]])


class Cut(NamedTuple):
    """A task is `rows` rows of tiles of all samples, in `slices` slices of the result; products are computed for `lines` tiles, a
    multiple of LINES. `taps` and `padding` are those of the depth (`Depth`).

    Panels of pixels are `width` channels wide; entries of the pixels and of the sums lie `pixels_step` and `sums_step` apart.
    """

    rows: int
    slices: int
    taps: int
    padding: int
    lines: int
    width: int
    pixels_step: int
    sums_step: int


def products(window: Window) -> int:
    """The products for each pair of channels of an image."""
    return PRODUCTS * -(-window.out_height // 2) * -(-window.out_width // 2)


def why_not(problem: Problem) -> str | None:
    window, pairs = problem.window, problem.slices * problem.channels * problem.outputs
    channels, tiles = tuning.WINOGRAD_LEAST_CHANNELS, tuning.WINOGRAD_LEAST_TILES
    return unmet(
        (problem.groups == 1, "groups"),
        (problem.itemsize == 4, "not float32"),
        (window[:4] == (3, 3, 1, 1), "not 3x3 taps with a stride of 1"),
        ((window.dh, window.dw) == (1, 1), "dilated"),
        (min(problem.channels, problem.outputs) >= channels, f"fewer than {channels} channels"),
        (pairs >= tuning.WINOGRAD_LEAST_PAIRS, f"fewer than {tuning.WINOGRAD_LEAST_PAIRS} pairs of channels"),
        (pairs <= tuning.WINOGRAD_WEIGHT_BYTES // (PRODUCTS * problem.itemsize), "too large a weight"),
        (problem.images * products(window) >= PRODUCTS * tiles, "too few tiles for the transform of the weight"),
    )


def forward_why_not(problem: Problem) -> str | None:
    large = _is_large(problem.slices * problem.channels, problem.outputs)
    few = tuning.WINOGRAD_FEW_POSITIONS_OF_LARGE_WEIGHT if large else tuning.WINOGRAD_FEW_POSITIONS
    many = problem.images * problem.positions > few
    return why_not(problem) or unmet((many, "few positions, for which the weight is rather read where it lies"))


def _is_large(channels: int, outputs: int) -> bool:
    """Whether the transformed weight is large."""
    return PRODUCTS * channels * outputs * 4 >= _LARGE_WEIGHT_BYTES


@jit_parallel
def _transform_weight(weight, by_output, by_channel, outputs, channels, depth, turned, together, offsets, transformed):
    """transformed is (PRODUCTS, panels of outputs, KD * C, width), the last panel as wide as its whole vectors, and a vector more
    for each of the PRODUCTS: else the same tap of all would compete for one set of a cache.

    The taps of an output and a channel are 9 elements of the flat weight for each tap of the depth, which are `turned` or not;
    `offsets` says where those of `together` slices of taps, which lie one after the other, go in a band.
    """
    step = transformed.shape[0] // PRODUCTS
    for panel in numba.prange((outputs + PANEL - 1) // PANEL):
        first = panel * PANEL
        some = min(PANEL, outputs - first)
        band = aligned_empty((9 * together + 1) * PANEL, weight)
        for number in range(0, channels * depth, together):
            count = min(together, channels * depth - number)
            start = first * by_output + number // depth * by_channel + number % depth * 9
            gather_band(weight, start, by_output, some, 9 * count, offsets, 0, band)
            for c in range(count):
                channel, tap = (number + c) // depth, (number + c) % depth
                line = (depth - 1 - tap if turned else tap) * channels + channel
                transform_taps(band, 9 * c * PANEL, 3 * PANEL, PANEL, 1, some, transformed,
                               depth * channels * first + line * padded(some), 0, step)


@jit
def _extent(x, tiles, cut, slices, part):
    """The first and last rows of tiles, and slices of the result, of a part of the work."""
    groups = (slices + cut.slices - 1) // cut.slices
    row, depth = part // groups * cut.rows, part % groups * cut.slices
    return row, min(x.shape[0] * tiles.down, row + cut.rows), depth, min(slices, depth + cut.slices)


@jit
def _transform_panel(x, source, tiles, cut, slices, part, panel, offsets, band, out):
    """The pixels that a part of the work needs of a panel of channels: slice by slice."""
    first, last, upper, lower = _extent(x, tiles, cut, slices, part)
    channel, end = panel * cut.width, min(x.shape[1], (panel + 1) * cut.width)
    size = (last - first) * tiles.across * padded(end - channel)
    for number in range(lower - upper + cut.taps - 1):
        transform_rows(x, source, tiles, upper - cut.padding + number, first, last, channel, end, offsets, band,
                       out[number * size :], cut.pixels_step)


@jit
def _multiply(pixels, x, weight, cut, upper, slices, tiles_of_slice, first, last, sums):
    """The panels of sums of the outputs first..last, in `slices` slices from `upper` on: the products of panels of pixels with
    those of the weight.
    """
    channels, length, step = x.shape[1], x.shape[2], weight.shape[0] // PRODUCTS
    one = np.int64(1)  # a literal would have `multiply_panel` compiled once more
    start = max(0, min(cut.padding, cut.taps - 1))  # a tap that meets slices mostly: the first one fills all sums
    for e in range(PRODUCTS):
        for output in range(first, last, PANEL):
            pitch = padded(min(PANEL, last - output))
            place = ((output - first) // PANEL * PRODUCTS + e) * cut.sums_step
            for number in range(cut.taps):
                tap = (start + number) % cut.taps
                met = upper - cut.padding + tap
                above = min(slices, max(0, -met)) if number > 0 else 0
                below = max(above, min(slices, length - met)) if number > 0 else slices
                if above == below:
                    continue
                # Whole blocks of rows: beyond the slices that the tap meets, pixels are zeros.
                line = above * tiles_of_slice // LINES * LINES
                lines = (below * tiles_of_slice + LINES - 1) // LINES * LINES - line
                for channel in range(0, channels, cut.width):
                    some = min(cut.width, channels - channel)
                    width = padded(some)
                    source = (channel // cut.width * PRODUCTS + e) * cut.pixels_step + (tap * tiles_of_slice + line) * width
                    taps = e * step + cut.taps * channels * output + (tap * channels + channel) * pitch
                    multiply_panel(pixels, source, width, one, lines, weight, taps, pitch, some, sums, place + line * pitch,
                                   pitch, number + channel > 0)


@jit
def _convolve_part(pixels, x, tiles, cut, part, weight, bias, first_output, last_output, offsets, y, finite):
    """Some outputs of a part of the work from its transformed pixels."""
    first, last, upper, lower = _extent(x, tiles, cut, y.shape[2], part)
    sums = aligned_empty((last_output - first_output + PANEL - 1) // PANEL * PRODUCTS * cut.sums_step, pixels)
    count = (last - first) * tiles.across
    _multiply(pixels, x, weight, cut, upper, lower - upper, count, first_output, last_output, sums)
    band = aligned_empty(band_size(tiles, 0), pixels)
    for number in range(lower - upper):
        deliver_rows(sums, number * count, cut.sums_step, tiles, upper + number, first, last, first_output, last_output,
                     bias, offsets, band, y, finite)


@jit_parallel
def _convolve_parallel(x, source, tiles, cut, parts, offsets, weight, bias, out_offsets, y, finite):
    """Tasks of `cut.rows` rows of tiles."""
    panels = (x.shape[1] + cut.width - 1) // cut.width
    for part in numba.prange(parts):
        pixels = aligned_empty(panels * PRODUCTS * cut.pixels_step, x)
        band = aligned_empty(band_size(tiles, 2), x)
        band[:] = 0
        for panel in range(panels):
            _transform_panel(x, source, tiles, cut, y.shape[2], part, panel, offsets, band,
                             pixels[panel * PRODUCTS * cut.pixels_step :])
        _convolve_part(pixels, x, tiles, cut, part, weight, bias, 0, y.shape[1], out_offsets, y, finite)


@jit_parallel
def _transform_parallel(x, source, tiles, cut, slices, offsets, pixels):
    """pixels (parts, panels, PRODUCTS * cut.pixels_step) for `_convolve_shared`."""
    panels = pixels.shape[1]
    for task in numba.prange(pixels.shape[0] * panels):
        part, panel = task // panels, task % panels
        band = aligned_empty(band_size(tiles, 2), x)
        band[:] = 0
        _transform_panel(x, source, tiles, cut, slices, part, panel, offsets, band, pixels[part, panel])


@jit_parallel
def _convolve_shared(pixels, x, tiles, cut, splits, weight, bias, offsets, y, finite):
    """Tasks of `cut.rows` rows of tiles and of a part of the outputs."""
    outputs = y.shape[1]
    panels = (outputs + PANEL - 1) // PANEL
    for task in numba.prange(pixels.shape[0] * splits):
        part, split = task // splits, task % splits
        _convolve_part(pixels[part].reshape(-1), x, tiles, cut, part, weight, bias, split * panels // splits * PANEL,
                       min(outputs, (split + 1) * panels // splits * PANEL), offsets, y, finite)


class _Plan(NamedTuple):
    """The tiles, their cut into `parts` tasks, the parts of the outputs and the offsets of the pixels and outputs of a band."""

    tiles: Tiles
    cut: Cut
    parts: int
    splits: int
    offsets: Array
    out_offsets: Array


@functools.lru_cache(maxsize=256)
def _plan(samples: int, channels: int, width: int, outputs: int, window: Window, depth: Depth, slices: int) -> _Plan:
    """For images of `width` columns and `slices` slices of the result.

    All tasks are alike, of whole blocks of rows of the products if they have several. Kept: it takes 10 us.
    """
    across, rows = -(-window.out_width // 2), samples * -(-window.out_height // 2)
    large = _is_large(depth.taps * channels, outputs)
    most = max(_LEAST_TASK_OF_LARGE_WEIGHT if large else _LEAST_TASK, _TASK_BYTES // (PRODUCTS * 4 * (channels + outputs)))
    together = -(-slices // -(-slices // max(1, min(slices, most // across))))
    across_all, groups = across * together, -(-slices // together)
    unit = LINES // math.gcd(LINES, across_all)
    least = max(unit, _LEAST_SHARE_OF_LARGE_WEIGHT // across_all) if large else unit
    tasks = max(-(-rows // max(1, most // across_all)), min(-(-_TASKS // groups), rows // least))
    each = min(rows, -(-rows // (tasks * unit)) * unit)
    lines = -(-each * across_all // LINES) * LINES
    panel = -(-channels // (-(-channels // _CHANNELS) * PANEL)) * PANEL
    pixels_step = entry_step(lines + (depth.taps - 1) * each * across, panel)
    cut = Cut(each, together, *depth, lines, panel, pixels_step, entry_step(lines, PANEL))
    tiles, parts = tiles_of(window, each), -(-rows // each) * groups
    splits = min(-(-outputs // PANEL), -(-_TASKS // (2 * parts)))
    return _Plan(tiles, cut, parts, splits, pixel_offsets(tiles, width, window.pw), output_offsets(tiles, window.out_width))


def convolve_volumes(x: Array, weight: Array, turned: bool, bias: Array, window: Window, depth: Depth, y: Array
                     ) -> Array | None:
    """Fill y (N, O, OD, OH, OW) from x (N, C, D, H, W); the indices of the samples where some of it is not finite, and perhaps
    wrong.

    The weight (O, C, KD, 3, 3) is that of the convolution, or if `turned` that of the convolution whose input gradient y is.
    """
    (samples, channels), outputs = x.shape[:2], bias.size
    tiles, cut, parts, splits, offsets, out_offsets = _plan(samples, channels, x.shape[4], outputs, window, depth, y.shape[2])
    taps = depth.taps
    transformed = aligned(PRODUCTS * entry_step(taps * channels, round_up(outputs, LANES)), x.dtype)
    if turned:
        _transform_weight(weight.reshape(-1), 9 * taps, 9 * taps * outputs, outputs, channels, taps, True, 1, _TURNED_TAP_PLACES,
                          transformed)
    else:
        _transform_weight(weight.reshape(-1), 9 * taps * channels, 9 * taps, outputs, channels, taps, False, _TOGETHER,
                          _CHANNELS_TAP_OFFSETS, transformed)
    padded_bias = np.zeros(round_up(outputs, LANES), x.dtype)
    padded_bias[:outputs] = bias
    finite, source = np.ones(samples, np.bool_), Source(-window.ph, 4)
    if splits == 1:
        _convolve_parallel(x, source, tiles, cut, parts, offsets, transformed, padded_bias, out_offsets, y, finite)
    else:  # few tiles: tasks share their pixels
        pixels = empty((parts, -(-channels // cut.width), PRODUCTS * cut.pixels_step), x.dtype)
        _transform_parallel(x, source, tiles, cut, y.shape[2], offsets, pixels)
        _convolve_shared(pixels, x, tiles, cut, splits, transformed, padded_bias, out_offsets, y, finite)
    return None if np.count_nonzero(finite) == samples else np.flatnonzero(~finite)


def _convolve(x: Array, weight: Array, turned: bool, bias: Array, window: Window, y: Array) -> Array | None:
    """`convolve_volumes` of images: x (N, C, H, W), weight (O, C, 3, 3) and y (N, O, OH, OW)."""
    return convolve_volumes(x[:, :, np.newaxis], weight, turned, bias, window, FLAT, y[:, :, np.newaxis])


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C, 3, 3) and bias (O,), all contiguous float32.

    The transforms add values that direct convolution keeps apart: infinite ones of both signs make NaN there, and large ones
    overflow. Images with a result that is not finite are therefore computed directly.
    """
    doubtful = _convolve(x, weight, False, bias, window, y)
    if doubtful is not None:
        part = np.empty((doubtful.size, *y.shape[1:]), y.dtype)
        direct_forward.convolve(x[doubtful], weight, bias, window, part)
        y[doubtful] = part


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C, 3, 3), all contiguous float32."""
    bias = np.zeros(weight.shape[1], g.dtype)
    turned = window._replace(ph=2 - window.ph, pw=2 - window.pw, out_height=dx.shape[2], out_width=dx.shape[3])
    doubtful = _convolve(g, weight, True, bias, turned, dx)
    if doubtful is not None:
        part = np.empty((doubtful.size, *dx.shape[1:]), dx.dtype)
        direct_forward.grad_input(g[doubtful], weight, window, part)
        dx[doubtful] = part
