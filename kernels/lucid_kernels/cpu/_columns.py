"""Convolution by columns: the columns of the input times the weight matrix, a tile at a time.

The columns of a tile are (C * KH * KW, T): one row for each tap, one column for each output position of the tile. A tile
is either several whole samples or some output rows of one sample, whichever keeps the columns near `_TILE_BYTES`, so
the scratch memory is bounded and one GEMM is large enough for BLAS. 1x1 convolutions multiply the input itself.

Tiles are taken in order and each column belongs to one thread, so results do not depend on the number of threads (as far
as BLAS keeps that promise). It serves groups, and convolutions too small for a parallel launch.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array
from ._row_copies import Window, clear_sides
from ._sliding import valid_range

# Bytes of columns in one tile.
_TILE_BYTES = 2 << 20


class Tile(NamedTuple):
    """Samples first..last, and of each of them the output rows top..bottom."""

    first: int
    last: int
    top: int
    bottom: int


class _Columns:
    """The columns of a convolution, a tile at a time, in scratch memory that all its tiles share.

    `samples`, `channels` are those of the input; matrices are split by group: columns are (G, C/G * KH * KW, T).
    """

    def __init__(self, input_shape: tuple[int, ...], window: Window, groups: int, dtype: np.dtype) -> None:
        self.samples, channels = input_shape[:2]
        self.window = window
        self.groups = groups
        self.dtype = dtype
        self.pointwise = window[:8] == (1, 1, 1, 1, 0, 0, 1, 1)  # then the columns of a sample are the sample itself
        self.same_width = (window.sh, window.sw) == (1, 1) and window.out_width == input_shape[3]
        self.rows = channels * window.kh * window.kw
        self._scratch: dict[str, Array] = {}

    def tiles(self) -> Iterator[Tile]:
        """Cut the outputs into tiles."""
        out_height = self.window.out_height
        sample_bytes = self.rows * out_height * self.window.out_width * self.dtype.itemsize
        if not self.pointwise and 2 * sample_bytes <= _TILE_BYTES:
            step = _TILE_BYTES // sample_bytes
            for first in range(0, self.samples, step):
                yield Tile(first, min(self.samples, first + step), 0, out_height)
            return
        parts = 1 if self.pointwise else -(-sample_bytes // _TILE_BYTES)
        height = -(-out_height // parts)
        for n in range(self.samples):
            for top in range(0, out_height, height):
                yield Tile(n, n + 1, top, min(out_height, top + height))

    def scratch(self, name: str, rows: int, tile: Tile) -> Array:
        """Memory (rows, T) for one tile; the first tile is the largest."""
        size = rows * self.width(tile)
        if name not in self._scratch:
            self._scratch[name] = np.empty(size, self.dtype)
        return self._scratch[name][:size].reshape(rows, -1)

    def width(self, tile: Tile) -> int:
        """T, the number of output positions of a tile."""
        return (tile.last - tile.first) * (tile.bottom - tile.top) * self.window.out_width

    def split(self, matrix: Array) -> Array:
        """(rows, T) by group: (G, rows / G, T)."""
        return matrix.reshape(self.groups, matrix.shape[0] // self.groups, matrix.shape[1])

    def outputs(self, y: Array, tile: Tile) -> Array:
        """The part (G, O/G, T) of y (N, O, OH, OW) that a tile of one sample covers: a view."""
        plane = y[tile.first].reshape(self.groups, y.shape[1] // self.groups, -1)
        return plane[:, :, tile.top * self.window.out_width : tile.bottom * self.window.out_width]

    def gather(self, g: Array, tile: Tile) -> Array:
        """The part (G, O/G, T) of g (N, O, OH, OW) that a tile covers."""
        if tile.last - tile.first == 1:
            return self.outputs(g, tile)
        matrix = self.scratch("outputs", g.shape[1], tile)
        _gather_samples(_flat(g[tile.first : tile.last]), matrix)
        return self.split(matrix)

    def fill(self, x: Array, tile: Tile) -> Array:
        """The columns (G, C/G * KH * KW, T) of x (N, C, H, W) for a tile."""
        samples = x[tile.first : tile.last]
        if self.pointwise:
            return self.split(samples.reshape(self.rows, -1))
        columns = self.scratch("columns", self.rows, tile)
        serial, parallel = (
            (_fill_same_columns, _fill_same_columns_parallel)
            if self.same_width
            else (_fill_columns, _fill_columns_parallel)
        )
        if columns.size < PARALLEL_FROM:
            serial(samples, self.window, tile.top, tile.bottom, columns, 0, self.rows)
        else:
            parallel(samples, self.window, tile.top, tile.bottom, columns)
        return self.split(columns)

    def add(self, columns: Array, dx: Array, tile: Tile) -> None:
        """Add the columns (rows, T) of a tile to the positions of dx (N, C, H, W) they come from; they may be changed."""
        samples = dx[tile.first : tile.last]
        serial, parallel = (
            (_add_same_columns, _add_same_columns_parallel)
            if self.same_width
            else (_add_columns, _add_columns_parallel)
        )
        if columns.size < PARALLEL_FROM:
            serial(columns, self.window, tile.top, tile.bottom, samples, 0, dx.shape[1])
        else:
            parallel(columns, self.window, tile.top, tile.bottom, samples)


def _flat(array: Array) -> Array:
    """(N, C, H, W) as (N, C, H * W)."""
    return array.reshape(*array.shape[:2], array.shape[2] * array.shape[3])


# ---- columns -------------------------------------------------------------------------------------------------------


@jit
def same_span(window, height, width, top, bottom, k):
    """The row `k` of the columns of one sample where OW == W and the strides are 1: the flat plane, shifted.

    Returns (first, last, shift, left, right): positions first..last of the row hold plane[position + shift], the others
    are outside; and so are the first `left` and the last `right` columns of every output row.
    """
    kh, kw, _, _, ph, pw, dh, dw, _, _ = window
    row_offset = k // kw % kh * dh - ph
    offset = k % kw * dw - pw
    shift = (top + row_offset) * width + offset
    first = max(0, -shift)
    last = min((bottom - top) * width, height * width - shift)
    if abs(offset) >= width or last < first:
        return 0, 0, 0, 0, 0
    return first, last, shift, max(0, -offset), max(0, offset)


@jit
def _fill_columns(x, window, top, bottom, columns, first, last):
    """Write rows first..last of the columns (C * KH * KW, N * (bottom - top) * OW) of x (N, C, H, W)."""
    samples, _, height, width = x.shape
    kh, kw, sh, sw, ph, pw, dh, dw, _, out_width = window
    for k in range(first, last):
        c = k // (kh * kw)
        row_offset = k // kw % kh * dh - ph
        offset = k % kw * dw - pw
        lo, hi = valid_range(offset, sw, width, out_width)
        target = columns[k]
        position = 0
        for n in range(samples):
            for oh in range(top, bottom):
                ih = oh * sh + row_offset
                segment = target[position : position + out_width]
                position += out_width
                if ih < 0 or ih >= height or lo == hi:
                    for j in range(segment.shape[0]):
                        segment[j] = 0
                    continue
                for j in range(lo):
                    segment[j] = 0
                inside = segment[lo:hi]
                values = x[n, c, ih, lo * sw + offset :]
                if sw == 1:
                    for j in range(inside.shape[0]):
                        inside[j] = values[j]
                else:
                    for j in range(inside.shape[0]):
                        inside[j] = values[j * sw]
                rest = segment[hi:]
                for j in range(rest.shape[0]):
                    rest[j] = 0


@jit
def _fill_same_columns(x, window, top, bottom, columns, first, last):
    """`_fill_columns` for OW == W and strides of 1: a plane is copied at once, ten times as fast for 8x8 planes."""
    samples, channels, height, width = x.shape
    planes = x.reshape(samples, channels, height * width)
    size = (bottom - top) * width
    for k in range(first, last):
        start, stop, shift, left, right = same_span(window, height, width, top, bottom, k)
        c = k // (window[0] * window[1])
        for n in range(samples):
            segment = columns[k, n * size : (n + 1) * size]
            for j in range(start):
                segment[j] = 0
            inside = segment[start:stop]
            values = planes[n, c, start + shift :]
            for j in range(inside.shape[0]):
                inside[j] = values[j]
            rest = segment[stop:]
            for j in range(rest.shape[0]):
                rest[j] = 0
            clear_sides(segment, width, left, right)


@jit_parallel
def _fill_same_columns_parallel(x, window, top, bottom, columns):
    for k in numba.prange(columns.shape[0]):
        _fill_same_columns(x, window, top, bottom, columns, k, k + 1)


@jit_parallel
def _fill_columns_parallel(x, window, top, bottom, columns):
    for k in numba.prange(columns.shape[0]):
        _fill_columns(x, window, top, bottom, columns, k, k + 1)


@jit
def _add_columns(columns, window, top, bottom, dx, first, last):
    """Add columns (C * KH * KW, N * (bottom - top) * OW) to the positions of dx (N, C, H, W) they came from."""
    samples, _, height, width = dx.shape
    kh, kw, sh, sw, ph, pw, dh, dw, _, out_width = window
    for k in range(first * kh * kw, last * kh * kw):
        c = k // (kh * kw)
        row_offset = k // kw % kh * dh - ph
        offset = k % kw * dw - pw
        lo, hi = valid_range(offset, sw, width, out_width)
        if lo == hi:
            continue
        source = columns[k]
        position = 0
        for n in range(samples):
            for oh in range(top, bottom):
                ih = oh * sh + row_offset
                inside = source[position + lo : position + hi]
                position += out_width
                if ih < 0 or ih >= height:
                    continue
                target = dx[n, c, ih, lo * sw + offset :]
                if sw == 1:
                    for j in range(inside.shape[0]):
                        target[j] += inside[j]
                else:
                    for j in range(inside.shape[0]):
                        target[j * sw] += inside[j]


@jit
def _add_same_columns(columns, window, top, bottom, dx, first, last):
    """`_add_columns` for OW == W and strides of 1; clears the positions of `columns` that are outside the input."""
    samples, channels, height, width = dx.shape
    planes = dx.reshape(samples, channels, height * width)
    size = (bottom - top) * width
    taps = window[0] * window[1]
    for k in range(first * taps, last * taps):
        start, stop, shift, left, right = same_span(window, height, width, top, bottom, k)
        for n in range(samples):
            segment = columns[k, n * size : (n + 1) * size]
            clear_sides(segment, width, left, right)
            inside = segment[start:stop]
            target = planes[n, k // taps, start + shift :]
            for j in range(inside.shape[0]):
                target[j] += inside[j]


@jit_parallel
def _add_same_columns_parallel(columns, window, top, bottom, dx):
    for c in numba.prange(dx.shape[1]):
        _add_same_columns(columns, window, top, bottom, dx, c, c + 1)


@jit_parallel
def _add_columns_parallel(columns, window, top, bottom, dx):
    for c in numba.prange(dx.shape[1]):
        _add_columns(columns, window, top, bottom, dx, c, c + 1)


@jit
def _gather_samples(g, matrix):
    """matrix (O, N * P) = g (N, O, P) with the samples side by side."""
    samples, channels, size = g.shape
    for o in range(channels):
        for n in range(samples):
            source = g[n, o]
            target = matrix[o, n * size : (n + 1) * size]
            for i in range(source.shape[0]):
                target[i] = source[i]


@jit
def _scatter_samples(matrix, bias, y):
    """y (N, O, P) = matrix (O, N * P) + bias (O,)."""
    samples, channels, size = y.shape
    for n in range(samples):
        for o in range(channels):
            source = matrix[o, n * size : (n + 1) * size]
            target = y[n, o]
            b = bias[o]
            for i in range(source.shape[0]):
                target[i] = source[i] + b


# ---- products ------------------------------------------------------------------------------------------------------


def convolve_by_tiles(x: Array, weight: Array, bias: Array, window: Window, y: Array) -> None:
    """Fill y from weight (G, O/G, C/G * KH * KW)."""
    columns = _Columns(x.shape, window, weight.shape[0], x.dtype)
    bias_by_group = bias.reshape(weight.shape[0], -1, 1)
    for tile in columns.tiles():
        matrix = columns.fill(x, tile)
        if tile.last - tile.first == 1:
            target = columns.outputs(y, tile)
            np.matmul(weight, matrix, out=target)
            target += bias_by_group
        else:
            product = columns.scratch("outputs", y.shape[1], tile)
            np.matmul(weight, matrix, out=columns.split(product))
            _scatter_samples(product, bias, _flat(y[tile.first : tile.last]))


def grad_input_by_tiles(g: Array, weight: Array, window: Window, dx: Array) -> None:
    """Fill dx from weight (G, O/G, C/G * KH * KW)."""
    columns = _Columns(dx.shape, window, weight.shape[0], g.dtype)
    transposed = weight.transpose(0, 2, 1)
    if not columns.pointwise:
        dx.fill(0)
    for tile in columns.tiles():
        grad = columns.gather(g, tile)
        if columns.pointwise:
            np.matmul(transposed, grad, out=columns.split(dx[tile.first].reshape(columns.rows, -1)))
        else:
            product = columns.scratch("columns", columns.rows, tile)
            np.matmul(transposed, grad, out=columns.split(product))
            columns.add(product, dx, tile)


def grad_weight_by_tiles(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (G, O/G, C/G * KH * KW)."""
    columns = _Columns(x.shape, window, dweight.shape[0], g.dtype)
    part = np.empty_like(dweight)
    dweight.fill(0)
    for tile in columns.tiles():
        np.matmul(columns.gather(g, tile), columns.fill(x, tile).transpose(0, 2, 1), out=part)
        dweight += part
