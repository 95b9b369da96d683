"""Weight gradient of a 3x3 convolution by Winograd's transforms: 16 products for a tile of 2x2 outputs instead of 36.

The adjoint of `_winograd`: the gradient of G w G^T, entry by entry, is a product of matrices, the transformed gradients of the
outputs by the transformed pixels, summed over the tiles. A task computes a block of that product, of few enough channels for all
its numbers to stay in the L2 cache. Other blocks transform the same pixels again: to keep four numbers for each pixel in the L3
cache and to read them again takes longer.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np

from . import _direct_grad_weight
from ._channels_last import LANES, scatter_band, whole
from ._compile import jit, jit_parallel
from ._layout import Array
from ._pool import empty
from ._row_copies import Window
from ._winograd_products import PANEL, multiply_panel
from ._winograd_tiles import (
    TAP_PLACES,
    Tiles,
    band_size,
    entry_step,
    output_places,
    panel_width,
    pixel_places,
    tiles_of,
    transform_rows,
)
from ._winograd_transforms import PRODUCTS, transform_tap_sums

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

    Both are cut into blocks. Pixels have the padding `top` before the first row of tiles; they are the columns, or if `turned`
    the rows.
    """

    rows: int
    columns: int
    row_block: int
    column_block: int
    turned: bool
    top: int


@jit
def _multiply(left, right, step, rows, columns, count, sums, lines, accumulate):
    """The products of `count` tiles: sums (panels of columns, PRODUCTS, lines, PANEL), flat; with `accumulate` added to them."""
    for e in range(PRODUCTS):
        for part in range((columns + PANEL - 1) // PANEL):
            width = panel_width(part, PANEL, columns)
            for tile in range(0, count, _TILES):
                for panel in range((rows + PANEL - 1) // PANEL):
                    line = panel_width(panel, PANEL, rows)
                    multiply_panel(
                        left, (panel * PRODUCTS + e) * step + tile * line, 1, line, line,
                        right, (part * PRODUCTS + e) * step + tile * width, width, min(_TILES, count - tile),
                        sums, ((part * PRODUCTS + e) * lines + panel * PANEL) * PANEL, PANEL, accumulate or tile > 0,
                    )


@jit_parallel
def _sum_blocks(rows, columns, sides, tiles, each, step, row_places, column_places, parts):
    """parts (parts of the tiles, blocks of rows, blocks of columns, panels of columns, PRODUCTS, rows, PANEL).

    A task takes `each` rows of tiles at a time.
    """
    all_rows, turned, blocks = rows.shape[0] * tiles.down, sides.turned, parts.shape[2]
    for task in numba.prange(parts.shape[0] * parts.shape[1] * blocks):
        part, row_block, column_block = task // (parts.shape[1] * blocks), task // blocks % parts.shape[1], task % blocks
        row, column = row_block * sides.row_block, column_block * sides.column_block
        row_end, column_end = min(sides.rows, row + sides.row_block), min(sides.columns, column + sides.column_block)
        first, last = part * all_rows // parts.shape[0], (part + 1) * all_rows // parts.shape[0]
        left = np.empty((row_end - row + PANEL - 1) // PANEL * PRODUCTS * step, rows.dtype)
        right = np.empty((column_end - column + PANEL - 1) // PANEL * PRODUCTS * step, rows.dtype)
        # The larger band is that of the pixels. Each has zeros beside its image.
        row_band, column_band = np.zeros(band_size(tiles, 2), rows.dtype), np.zeros(band_size(tiles, 2), rows.dtype)
        for line in range(first, last, each):
            end = min(last, line + each)
            transform_rows(rows, sides.top if turned else 0, turned, tiles, line, end, row, row_end, PANEL, row_places, row_band,
                           left, step)
            transform_rows(columns, 0 if turned else sides.top, not turned, tiles, line, end, column, column_end, PANEL,
                           column_places, column_band, right, step)
            _multiply(left, right, step, row_end - row, column_end - column, (end - line) * tiles.across,
                      parts[part, row_block, column_block].reshape(-1), sides.row_block, line > first)


@jit_parallel
def _untransform_parallel(parts, sides, by_row, by_column, places, dweight, finite):
    """The taps of a row and column, 9 elements of dweight from row * by_row + column * by_column on, of the sum of the parts.

    A task takes some rows of a block; finite[block, task] says whether all of it is.
    """
    _, row_blocks, blocks, panels, products, lines, _ = parts.shape
    tasks = finite.shape[1]
    for task in numba.prange(row_blocks * blocks * tasks):
        block, first = task // tasks, task % tasks * _ROWS
        row, column = block // blocks * sides.row_block, block % blocks * sides.column_block
        sums = parts[0, block // blocks, block % blocks].reshape(-1)
        for part in range(1, parts.shape[0]):
            added = parts[part, block // blocks, block % blocks].reshape(-1)
            for entry in range(panels * products):
                start = (entry * lines + first) * PANEL
                _add(sums[start : start + _ROWS * PANEL], added[start : start + _ROWS * PANEL])
        zeros, band = np.zeros(PANEL, parts.dtype), np.empty(10 * PANEL, parts.dtype)
        good = True
        for line in range(first, min(first + _ROWS, sides.rows - row)):
            for panel in range(panels):
                left = column + panel * PANEL
                some = min(PANEL, sides.columns - left)
                if some > 0:
                    start = (panel * PRODUCTS * lines + line) * PANEL
                    good &= transform_tap_sums(sums, start, 0, lines * PANEL, zeros, 1, some, band, 0, 3 * PANEL, PANEL)
                    scatter_band(band, places, some, 9, dweight, (row + line) * by_row + left * by_column, by_column)
        finite[block, task % tasks] = good


@jit
def _add(sums, added):
    for i in range(sums.shape[0]):
        sums[i] += added[i]


def grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (O, C, 3, 3) from g (N, O, OH, OW) and x (N, C, H, W), all contiguous float32.

    Where some of it is not finite, which the transforms may have caused (`_winograd.convolve`), it is computed directly.
    """
    if not _grad_weight(g, x, window, dweight):
        _direct_grad_weight.grad_weight(g, x, window, dweight)


def _block(channels: int) -> int:
    """The channels of a block: all blocks are alike, of whole panels, as far as that is possible."""
    return -(-channels // (-(-channels // _BLOCK) * PANEL)) * PANEL


class _Plan(NamedTuple):
    """The factors, the tiles, how many rows of them a task takes at a time, and the shape of its sums; places of their bands."""

    sides: _Sides
    tiles: Tiles
    each: int
    step: int
    shape: tuple[int, ...]
    places: Array
    out_places: Array


@functools.lru_cache(maxsize=256)
def _plan(samples: int, channels: int, width: int, outputs: int, window: Window) -> _Plan:
    """Kept: it takes 15 us."""
    across, all_rows = -(-window.out_width // 2), samples * -(-window.out_height // 2)
    # Half a panel is as many loads as a whole one: the columns are the side that leaves less of its last one empty.
    turned = -channels % PANEL > -outputs % PANEL
    rows, columns = (channels, outputs) if turned else (outputs, channels)
    sides = _Sides(rows, columns, _block(rows), _block(columns), turned, -window.ph)
    row_blocks, column_blocks = -(-rows // sides.row_block), -(-columns // sides.column_block)
    tasks = min(all_rows, -(-_TASKS // (row_blocks * column_blocks)))
    bytes_of_row = PRODUCTS * 4 * across * (min(whole(rows), sides.row_block) + min(whole(columns), sides.column_block))
    each = -(-all_rows // tasks)
    each = -(-each // -(-each // max(1, _TILES_BYTES // bytes_of_row)))
    tiles = tiles_of(window, each)
    shape = (tasks, row_blocks, column_blocks, sides.column_block // PANEL, PRODUCTS, sides.row_block, PANEL)
    return _Plan(sides, tiles, each, entry_step(each * across, PANEL), shape, pixel_places(tiles, width, window.pw),
                 output_places(tiles, window.out_width))


def _grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> bool:
    """Fill dweight; whether all of it is finite."""
    (samples, channels), outputs = x.shape[:2], g.shape[1]
    sides, tiles, each, step, shape, places, out_places = _plan(samples, channels, x.shape[3], outputs, window)
    parts = empty(shape, x.dtype)
    if sides.turned:
        _sum_blocks(x, g, sides, tiles, each, step, places, out_places, parts)
    else:
        _sum_blocks(g, x, sides, tiles, each, step, out_places, places, parts)
    finite = np.empty((shape[1] * shape[2], sides.row_block // _ROWS), np.bool_)
    by_row, by_column = (9, 9 * channels) if sides.turned else (9 * channels, 9)
    _untransform_parallel(parts, sides, by_row, by_column, TAP_PLACES, dweight.reshape(-1), finite)
    return bool(finite.all())
