"""Rows of tiles for Winograd's convolution: their pixels, transformed, in panels of channels, and their outputs from such.

Images are slices of volumes (N, C, D, H, W), of one slice each where there is no depth.

Panels are what the products read in one sweep: (panels, PRODUCTS, tiles, width), flat, of `width` channels each; the last one
is as wide as its whole vectors. Entries lie `step` apart, a little more than they need (`entry_step`). Pixels and outputs pass
through a band of PANEL channels, which stays in the L1 cache.
"""
from __future__ import annotations

from typing import NamedTuple

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime.jit import jit
from ..channels_last import LANES, fill_band, offsets_of, scatter_band
from .products import PANEL, prefetch_to_read, prefetch_to_write
from .transforms import PRODUCTS, transform_gradients, transform_pixels, transform_sums

# Elements of float32 that a 1 MiB L2 cache has room for: to prefetch them takes two fifths of the time of their transform.
_NEAR = 1 << 18
# Where the nine taps of a filter lie in a band.
TAP_OFFSETS = offsets_of(1, 9, 9, 0, PANEL)


class Tiles(NamedTuple):
    """The tiles of an image, `down` rows of `across`. A band has at most `band` rows of them."""

    down: int
    across: int
    band: int


class Depth(NamedTuple):
    """The taps of a volume's depth, and the slices of zeros before its first slice: of an image, one tap."""

    taps: int
    padding: int


# Of images.
FLAT = Depth(1, 0)


class Source(NamedTuple):
    """Where the first row of tiles of an image begins, and how many pixels a tile has in each direction: 4, or 2 of a
    gradient."""

    top: int
    side: int


def tiles_of(window: Window, rows: int) -> Tiles:
    """The tiles of 2x2 outputs, and bands of up to `rows` rows."""
    down = -(-window.out_height // 2)
    return Tiles(down, -(-window.out_width // 2), min(down, rows))


def pixel_offsets(tiles: Tiles, width: int, left: int) -> Array:
    """`offsets_of` the pixels of a band of images of this width, `left` columns of zeros before them."""
    return offsets_of(2 * tiles.band + 2, width, 2 * tiles.across + 2, left, PANEL)


def output_offsets(tiles: Tiles, width: int) -> Array:
    """`offsets_of` the outputs of a band, or of their gradients."""
    return offsets_of(2 * tiles.band, width, 2 * tiles.across, 0, PANEL)


@jit
def band_size(tiles, extra):
    """The elements of a band of 2 rows and columns for each tile and `extra` more, with a place for what is outside."""
    return ((2 * tiles.band + extra) * (2 * tiles.across + extra) + 1) * PANEL


def entry_step(lines: int, width: int) -> int:
    """How far entries of some lines lie apart: a vector more, or the same line of all would compete for one set of a cache."""
    return lines * width + LANES


@jit
def padded(channels):
    """The channels of as many whole vectors as `channels` need."""
    return (channels + LANES - 1) // LANES * LANES


@jit
def _prefetch_planes(x, n, depth, channel, channels, top, rows, part, parts):
    """Prefetch rows of some channels of a slice of x, those that are part of the image; one of several parts of them."""
    _, all_channels, slices, height, width = x.shape
    first, last = max(0, top), min(height, top + rows)
    lines = ((last - first) * width + LANES) // LANES
    for c in range(channel + part * channels // parts, channel + (part + 1) * channels // parts):
        prefetch_to_read(x.reshape(-1), (((n * all_channels + c) * slices + depth) * height + first) * width, lines)


@jit
def transform_rows(x, source, tiles, depth, first, last, first_channel, last_channel, offsets, band, out, step):
    """Rows first..last of the tiles of slice `depth` of all samples of x (N, C, D, H, W), of some channels, transformed into a
    panel `out`; zeros for a slice beside the volume.
    """
    extra = source.side - 2
    row = (2 * tiles.across + extra) * PANEL
    pitch = padded(last_channel - first_channel)
    near = x.size <= _NEAR
    if depth < 0 or depth >= x.shape[2]:
        for e in range(PRODUCTS):
            out[e * step : e * step + (last - first) * tiles.across * pitch] = 0
        return
    for channel in range(first_channel, last_channel, PANEL):
        some = min(PANEL, last_channel - channel)
        at = first
        while at < last:
            n, line = at // tiles.down, at % tiles.down
            count = min(tiles.band, last - at, tiles.down - line)
            fill_band(x, n, depth, channel, some, source.top + 2 * line, 2 * count + extra, row, offsets, band)
            # What comes next, at the end what the next call is likely to take: the processor does not foresee so many planes.
            after, ahead, there = at + count, channel, depth
            if after >= last:
                more, deeper = channel + PANEL < last_channel, depth + 1 < x.shape[2]
                after, ahead = (first, min(channel + PANEL, last_channel - some)) if more else (last, first_channel)
                if deeper and not more:
                    after, there = first, depth + 1
            top, rows = source.top + 2 * (after % tiles.down), 2 * count + extra
            for i in range(count):
                if not near:
                    _prefetch_planes(x, after // tiles.down, there, ahead, some, top, rows, i, count)
                place = (at - first + i) * tiles.across * pitch + channel - first_channel
                if extra > 0:
                    transform_pixels(band, 2 * i * row, row, PANEL, tiles.across, some, out, place, pitch, step)
                else:
                    transform_gradients(band, 2 * i * row, row, PANEL, tiles.across, some, out, place, pitch, step)
            at += count


@jit
def deliver_rows(sums, sums_first, step, tiles, depth, first, last, first_output, last_output, bias, offsets, band, y, finite):
    """Some outputs of the rows first..last of tiles of slice `depth` from panels of PANEL sums, plus bias; its first tile has the
    number `sums_first`.

    finite[n] becomes False for a sample n of y (N, O, OD, OH, OW) with a result that is not finite.
    """
    _, outputs, slices, height, width = y.shape
    flat = y.reshape(-1)
    row = 2 * tiles.across * PANEL
    for output in range(first_output, last_output, PANEL):
        some = min(PANEL, last_output - output)
        panel, pitch = (output - first_output) // PANEL, padded(some)
        at = first
        while at < last:
            n, line = at // tiles.down, at % tiles.down
            count = min(tiles.band, last - at, tiles.down - line)
            good = True
            start = (((n * outputs + output) * slices + depth) * height + 2 * line) * width
            size = min(2 * count, height - 2 * line) * width
            for i in range(count):
                for plane in range(i * some // count, (i + 1) * some // count):
                    prefetch_to_write(flat, start + plane * slices * height * width, (size + LANES - 1) // LANES)
                place = panel * PRODUCTS * step + (sums_first + (at - first + i) * tiles.across) * pitch
                good &= transform_sums(sums, place, pitch, step, bias[output:], tiles.across, some, band, 2 * i * row, row,
                                       PANEL)
            if not good:
                finite[n] = False
            scatter_band(band, offsets, some, size, flat, start, slices * height * width)
            at += count
