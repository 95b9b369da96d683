"""Weight gradient of a 3x3 convolution by Winograd's transforms: 16 products for a tile of 2x2 outputs instead of 36.

The adjoint of `forward`: the gradient of G w G^T, entry by entry, is a product of matrices, the transformed gradients of the
outputs by the transformed pixels, summed over the tiles. A task computes a block of that product, of few enough channels for
all its entries to stay in the L2 cache. Other blocks transform the same pixels again: to keep four values for each pixel in
the L3 cache and to read them again takes longer. Where a task sums over all tiles, it transforms its block to taps itself.

The gradient of the bias comes along: one of the transformed entries is the sum of the gradients of a tile.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np

from lucid_kernels.integers import round_up

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime.allocator import empty
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned_empty
from ..channels_last import LANES, scatter_band
from ..direct import grad_weight as direct_grad_weight
from .products import PANEL, multiply_panel
from .tiles import (
    FLAT,
    TAP_OFFSETS,
    Depth,
    Source,
    Tiles,
    band_size,
    entry_step,
    output_offsets,
    padded,
    pixel_offsets,
    tiles_of,
    transform_rows,
)
from .transforms import PRODUCTS, TOTAL, transform_tap_sums

# Channels of either side in a block: its sums take 256 KiB of a 1 MiB L2 cache.
_BLOCK = 64
# Bytes of the transformed pixels and gradients beside them.
_TILES_BYTES = 1 << 19
# Tiles that a sum in registers runs over: with more, a panel of pixels leaves the L1 cache.
_TILES = 128
# Rows of a block that are transformed back by a task; a panel has a multiple of them.
_ROWS = LANES
# Work is cut into this many tasks at least. The number is fixed, so results do not depend on the number of threads.
_TASKS = 8


class _Sides(NamedTuple):
    """The two factors of the product: `rows` channels of one, and the `columns` channels of the other, which fill vectors.

    Both are cut into blocks, `blocks` of the columns.
    """

    rows: int
    columns: int
    row_block: int
    column_block: int
    blocks: int


@jit
def _multiply(left, left_first, right, right_first, step, rows, columns, count, sums, lines, accumulate):
    """The products of `count` tiles, from others on of each side: sums (panels of columns, PRODUCTS, lines, PANEL), flat; with
    `accumulate` added to it.
    """
    one, pitch = np.int64(1), np.int64(PANEL)  # literals would have `multiply_panel` compiled once more
    for e in range(PRODUCTS):
        for column in range(0, columns, PANEL):
            width, panel = padded(min(PANEL, columns - column)), column // PANEL * PRODUCTS + e
            for tile in range(0, count, _TILES):
                for row in range(0, rows, PANEL):
                    line = padded(min(PANEL, rows - row))
                    multiply_panel(
                        left, (row // PANEL * PRODUCTS + e) * step + (left_first + tile) * line, one, line, line,
                        right, panel * step + (right_first + tile) * width, width, min(_TILES, count - tile),
                        sums, (panel * lines + row) * PANEL, pitch, accumulate or tile > 0,
                    )


@jit
def _multiply_taps(left, right, step, rows, columns, size, depth, upper, lower, length, turned, sums, lines, accumulate):
    """`_multiply` for each tap of the depth, of slices upper..lower of the gradients, `size` tiles each, and the slices of the
    `length` of the pixels that these meet. The pixels are on the left if `turned`.
    """
    each = sums.shape[0] // depth.taps
    for tap in range(depth.taps):
        part, met = sums[tap * each : (tap + 1) * each], upper - depth.padding + tap
        above = min(lower - upper, max(0, -met))
        below = max(above, min(lower - upper, length - met))
        gradients, pixels = above * size, (above + tap) * size
        if above < below:
            _multiply(left, pixels if turned else gradients, right, gradients if turned else pixels, step, rows, columns,
                      (below - above) * size, part, lines, accumulate)
        elif not accumulate:
            part[:] = 0


@jit
def _transform_panels(x, source, tiles, depth, upper, lower, first, last, channel, end, offsets, band, out, step):
    """Channels channel..end of x at some rows of tiles in panels of PANEL: slices upper..lower of gradients, or the pixels that
    these meet.
    """
    if source.side == 4:
        upper, lower = upper - depth.padding, lower - depth.padding + depth.taps - 1
    for some in range(channel, end, PANEL):
        last_channel = min(end, some + PANEL)
        size = (last - first) * tiles.across * padded(last_channel - some)
        for number in range(lower - upper):
            transform_rows(x, source, tiles, upper + number, first, last, some, last_channel, offsets, band,
                           out[(some - channel) // PANEL * PRODUCTS * step + number * size :], step)


@jit
def _add_lines(entry, start, step, lines, sums):
    """Add `lines` lines of an entry, which begin at `start` and lie `step` apart, to sums. Unsigned, which vectorises."""
    for line in range(lines):
        first = start + line * step
        for c in range(np.uint64(sums.shape[0])):
            sums[c] += entry[first + c]


@jit
def _add_totals(gradients, step, channels, count, totals):
    """Add the gradients of `count` tiles, transformed, to the totals of their channels, in whole vectors of channels."""
    sums = np.empty(PANEL, totals.dtype)
    for first in range(0, channels, PANEL):
        width = padded(min(PANEL, channels - first))
        start = (first // PANEL * PRODUCTS + TOTAL) * step
        sums[:] = 0
        _add_lines(gradients, np.uint64(start), np.uint64(width), np.uint64(count), sums[:width])
        for c in range(width):
            totals[first + c] += sums[c]


@jit
def _untransform(sums, sides, block, first, last, by_row, by_column, depth, offsets, dweight):
    """The taps of rows first..last of a block of rows, and of its columns, 9 elements of dweight for each tap of the depth from
    row * by_row + column * by_column on. Whether all are finite.
    """
    lines, each = sides.row_block, sums.shape[0] // depth.taps
    row, column = block // sides.blocks * lines, block % sides.blocks * sides.column_block
    zeros, band = np.zeros(PANEL, sums.dtype), np.empty(10 * PANEL, sums.dtype)
    good = True
    for line in range(first, min(last, sides.rows - row)):
        for left in range(column, min(sides.columns, column + sides.column_block), PANEL):
            some = min(PANEL, sides.columns - left)
            start = ((left - column) // PANEL * PRODUCTS * lines + line) * PANEL
            for tap in range(depth.taps):
                good &= transform_tap_sums(sums, tap * each + start, 0, lines * PANEL, zeros, 1, some, band, 0, 3 * PANEL, PANEL)
                scatter_band(band, offsets, some, 9, dweight, (row + line) * by_row + left * by_column + 9 * tap, by_column)
    return good


@jit_parallel
def _sum_blocks(rows, columns, row_source, column_source, sides, tiles, each, slices, step, row_offsets, column_offsets, parts,
                totals, by_row, by_column, depth, offsets, dweight, finite):
    """parts (parts of the tiles, blocks, sums as `_multiply` makes them); a single part has no room for sums, its taps go to
    dweight (`_untransform`), and `finite` is filled as by `_untransform_parallel`. totals (parts of the tiles, channels of the
    gradient in whole panels) are added up, or not if it is empty.

    A task takes `each` rows of tiles in `slices` slices at a time.
    """
    all_rows, turned = rows.shape[0] * tiles.down, row_source.side == 4
    all_slices, length = (columns.shape[2], rows.shape[2]) if turned else (rows.shape[2], columns.shape[2])
    for task in numba.prange(parts.shape[0] * parts.shape[1]):
        part, block = task // parts.shape[1], task % parts.shape[1]
        row, column = block // sides.blocks * sides.row_block, block % sides.blocks * sides.column_block
        row_end, column_end = min(sides.rows, row + sides.row_block), min(sides.columns, column + sides.column_block)
        first, last = part * all_rows // parts.shape[0], (part + 1) * all_rows // parts.shape[0]
        left = aligned_empty(sides.row_block // PANEL * PRODUCTS * step, rows)
        right = aligned_empty(sides.column_block // PANEL * PRODUCTS * step, rows)
        sums = parts[part, block]
        if parts.shape[0] == 1:
            sums = aligned_empty(depth.taps * PRODUCTS * sides.row_block * sides.column_block, rows)
        # The larger band is that of the pixels. Each has zeros beside its image.
        row_band, column_band = aligned_empty(band_size(tiles, 2), rows), aligned_empty(band_size(tiles, 2), rows)
        row_band[:], column_band[:] = 0, 0
        for line in range(first, last, each):
            end = min(last, line + each)
            size = (end - line) * tiles.across
            for upper in range(0, all_slices, slices):
                lower = min(all_slices, upper + slices)
                count = (lower - upper) * size
                _transform_panels(rows, row_source, tiles, depth, upper, lower, line, end, row, row_end, row_offsets, row_band,
                                  left, step)
                _transform_panels(columns, column_source, tiles, depth, upper, lower, line, end, column, column_end,
                                  column_offsets, column_band, right, step)
                if totals.shape[1] > 0 and not turned and column == 0:
                    _add_totals(left, step, row_end - row, count, totals[part, row:])
                elif totals.shape[1] > 0 and turned and row == 0:
                    _add_totals(right, step, column_end - column, count, totals[part, column:])
                _multiply_taps(left, right, step, row_end - row, column_end - column, size, depth, upper, lower, length, turned,
                               sums, sides.row_block, line > first or upper > 0)
        if parts.shape[0] == 1:
            finite[block] = _untransform(sums, sides, block, 0, sides.row_block, by_row, by_column, depth, offsets, dweight)


@jit_parallel
def _untransform_parallel(parts, sides, by_row, by_column, depth, offsets, dweight, finite):
    """`_untransform` of the sum of the parts.

    A task takes some rows of a block; finite[block, task] says whether all of it is.
    """
    tasks, lines = finite.shape[1], sides.row_block
    for task in numba.prange(parts.shape[1] * tasks):
        block, first = task // tasks, task % tasks * _ROWS
        sums = parts[0, block]
        for part in range(1, parts.shape[0]):
            for start in range(first * PANEL, parts.shape[2], lines * PANEL):
                _add(sums[start : start + _ROWS * PANEL], parts[part, block, start : start + _ROWS * PANEL])
        finite[block, task % tasks] = _untransform(sums, sides, block, first, first + _ROWS, by_row, by_column, depth, offsets,
                                                   dweight)


@jit
def _add(sums, added):
    for i in range(sums.shape[0]):
        sums[i] += added[i]


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, dbias: Array | None = None, groups: int = 1) -> None:
    """Fill dweight (O, C, 3, 3) and dbias (O,) from g (N, O, OH, OW) and x (N, C, H, W), all contiguous float32.

    Where some of dweight is not finite, which the transforms may have caused (`forward.convolve`), both are computed
    directly.
    """
    if not fill_if_finite(g, x, window, dweight, dbias):
        direct_grad_weight.grad_weight(g, x, window, dweight, dbias=dbias)


def _block(channels: int) -> int:
    """The channels of a block: all blocks are alike, of whole panels, as far as that is possible."""
    return -(-channels // (-(-channels // _BLOCK) * PANEL)) * PANEL


class _Plan(NamedTuple):
    """Whether the pixels are the rows, the factors, the tiles, how many rows of them and slices a task takes at a time, how far
    apart entries lie, the shapes of the sums of parts and of what says whether the taps are finite, offsets of the pixels and
    gradients of a band.
    """

    turned: bool
    sides: _Sides
    tiles: Tiles
    each: int
    slices: int
    step: int
    shape: tuple[int, ...]
    finite_shape: tuple[int, ...]
    offsets: Array
    out_offsets: Array


@functools.lru_cache(maxsize=256)
def _plan(samples: int, channels: int, width: int, outputs: int, window: Window, depth: Depth, slices: int) -> _Plan:
    """For gradients of `slices` slices. Kept: it takes 15 us."""
    across, all_rows = -(-window.out_width // 2), samples * -(-window.out_height // 2)
    # Half a panel is as many loads as a whole one: the columns are the side that leaves less of its last one empty.
    turned = -channels % PANEL > -outputs % PANEL
    rows, columns = (channels, outputs) if turned else (outputs, channels)
    row_block, column_block = _block(rows), _block(columns)
    sides = _Sides(rows, columns, row_block, column_block, -(-columns // column_block))
    blocks = -(-rows // row_block) * sides.blocks
    tasks = min(all_rows, -(-_TASKS // blocks))
    bytes_of_row = PRODUCTS * 4 * across * (min(round_up(rows, LANES), row_block) + min(round_up(columns, LANES), column_block))
    together = -(-slices // -(-slices // max(1, min(slices, _TILES_BYTES // bytes_of_row))))
    each = -(-all_rows // tasks)
    each = -(-each // -(-each // max(1, _TILES_BYTES // (together * bytes_of_row))))
    tiles, step = tiles_of(window, each), entry_step((together + depth.taps - 1) * each * across, PANEL)
    shape = (tasks, blocks, depth.taps * PRODUCTS * row_block * column_block if tasks > 1 else 0)
    finite_shape = (blocks, row_block // _ROWS)
    offsets, out_offsets = pixel_offsets(tiles, width, window.pw), output_offsets(tiles, window.out_width)
    return _Plan(turned, sides, tiles, each, together, step, shape, finite_shape, offsets, out_offsets)


def fill_volumes_if_finite(g: Array, x: Array, window: Window, depth: Depth, dweight: Array, dbias: Array | None
                           ) -> bool:
    """Fill dweight (O, C, KD, 3, 3) and dbias (O,) from g (N, O, OD, OH, OW) and x (N, C, D, H, W), as `grad_weight`; whether all
    of dweight is finite, else they may be wrong.
    """
    (samples, channels), outputs = x.shape[:2], g.shape[1]
    turned, sides, tiles, each, slices, step, shape, finite_shape, offsets, out_offsets = _plan(
        samples, channels, x.shape[4], outputs, window, depth, g.shape[2])
    parts, finite = empty(shape, x.dtype), np.empty(finite_shape, np.bool_)
    totals = np.zeros((shape[0], 0 if dbias is None else -(-outputs // PANEL) * PANEL), x.dtype)
    pixels, gradients = Source(-window.ph, 4), Source(0, 2)
    by_row, by_column = (channel * 9 * depth.taps for channel in ((1, channels) if turned else (channels, 1)))
    taps = by_row, by_column, depth, TAP_OFFSETS, dweight.reshape(-1), finite
    if turned:
        _sum_blocks(x, g, pixels, gradients, sides, tiles, each, slices, step, offsets, out_offsets, parts, totals, *taps)
    else:
        _sum_blocks(g, x, gradients, pixels, sides, tiles, each, slices, step, out_offsets, offsets, parts, totals, *taps)
    if dbias is not None:
        totals[:, :outputs].sum(0, out=dbias)
    if shape[0] > 1:
        _untransform_parallel(parts, sides, *taps)
    return np.count_nonzero(finite) == finite.size


def fill_if_finite(g: Array, x: Array, window: Window, dweight: Array, dbias: Array | None) -> bool:
    """`fill_volumes_if_finite` of images: g (N, O, OH, OW), x (N, C, H, W) and dweight (O, C, 3, 3)."""
    return fill_volumes_if_finite(g[:, :, np.newaxis], x[:, :, np.newaxis], window, FLAT, dweight, dbias)
