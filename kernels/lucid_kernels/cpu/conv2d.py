"""2-d convolution: columns of the input times the weight matrix, a tile at a time; direct loops for depthwise.

Convolutions with strides of 1 that keep the size of the image, the bulk of most nets, need no columns: `_direct`.

The columns of a tile are (C * KH * KW, T): one row for each tap, one column for each output position of the tile. A tile
is either several whole samples or some output rows of one sample, whichever keeps the columns near `_TILE_BYTES`, so
the scratch memory is bounded and one GEMM is large enough for BLAS. 1x1 convolutions multiply the input itself.

Tiles are taken in order and each column belongs to one thread, so results do not depend on the number of threads (as far
as BLAS keeps that promise). float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._direct import clear_sides, convolve, grad_weight, same_span, suits, suits_grad_weight
from ._layout import PARALLEL_FROM, Array, contiguous, deliver, result, upcast_half
from ._sliding import valid_range, valid_ranges

Pair = tuple[int, int]

# Bytes of columns in one tile.
_TILE_BYTES = 2 << 20
# Planes that share the scratch memory of one task of the depthwise kernel.
_PLANES_PER_TASK = 8


class _Window(NamedTuple):
    """The attributes of a convolution with the sizes that follow from them."""

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


class _Tile(NamedTuple):
    """Samples first..last, and of each of them the output rows top..bottom."""

    first: int
    last: int
    top: int
    bottom: int


def _window(
    input_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair
) -> _Window:
    kh, kw = weight_shape[2:]
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    out_height = (input_shape[2] + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    out_width = (input_shape[3] + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    return _Window(kh, kw, sh, sw, ph, pw, dh, dw, out_height, out_width)


class _Columns:
    """The columns of a convolution, a tile at a time, in scratch memory that all its tiles share.

    `samples`, `channels` are those of the input; matrices are split by group: columns are (G, C/G * KH * KW, T).
    """

    def __init__(self, input_shape: tuple[int, ...], window: _Window, groups: int, dtype: np.dtype) -> None:
        self.samples, channels = input_shape[:2]
        self.window = window
        self.groups = groups
        self.dtype = dtype
        self.pointwise = window[:8] == (1, 1, 1, 1, 0, 0, 1, 1)  # then the columns of a sample are the sample itself
        self.same_width = (window.sh, window.sw) == (1, 1) and window.out_width == input_shape[3]
        self.rows = channels * window.kh * window.kw
        self._scratch: dict[str, Array] = {}

    def tiles(self) -> Iterator[_Tile]:
        """Cut the outputs into tiles."""
        out_height = self.window.out_height
        sample_bytes = self.rows * out_height * self.window.out_width * self.dtype.itemsize
        if not self.pointwise and 2 * sample_bytes <= _TILE_BYTES:
            step = _TILE_BYTES // sample_bytes
            for first in range(0, self.samples, step):
                yield _Tile(first, min(self.samples, first + step), 0, out_height)
            return
        parts = 1 if self.pointwise else -(-sample_bytes // _TILE_BYTES)
        height = -(-out_height // parts)
        for n in range(self.samples):
            for top in range(0, out_height, height):
                yield _Tile(n, n + 1, top, min(out_height, top + height))

    def scratch(self, name: str, rows: int, tile: _Tile) -> Array:
        """Memory (rows, T) for one tile; the first tile is the largest."""
        size = rows * self.width(tile)
        if name not in self._scratch:
            self._scratch[name] = np.empty(size, self.dtype)
        return self._scratch[name][:size].reshape(rows, -1)

    def width(self, tile: _Tile) -> int:
        """T, the number of output positions of a tile."""
        return (tile.last - tile.first) * (tile.bottom - tile.top) * self.window.out_width

    def split(self, matrix: Array) -> Array:
        """(rows, T) by group: (G, rows / G, T)."""
        return matrix.reshape(self.groups, matrix.shape[0] // self.groups, matrix.shape[1])

    def outputs(self, y: Array, tile: _Tile) -> Array:
        """The part (G, O/G, T) of y (N, O, OH, OW) that a tile of one sample covers: a view."""
        plane = y[tile.first].reshape(self.groups, y.shape[1] // self.groups, -1)
        return plane[:, :, tile.top * self.window.out_width : tile.bottom * self.window.out_width]

    def gather(self, g: Array, tile: _Tile) -> Array:
        """The part (G, O/G, T) of g (N, O, OH, OW) that a tile covers."""
        if tile.last - tile.first == 1:
            return self.outputs(g, tile)
        matrix = self.scratch("outputs", g.shape[1], tile)
        _gather_samples(_flat(g[tile.first : tile.last]), matrix)
        return self.split(matrix)

    def fill(self, x: Array, tile: _Tile) -> Array:
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

    def add(self, columns: Array, dx: Array, tile: _Tile) -> None:
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


# ---- depthwise -----------------------------------------------------------------------------------------------------


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


# ---- entry points --------------------------------------------------------------------------------------------------


def _is_depthwise(weight_shape: tuple[int, ...], groups: int) -> bool:
    """One input channel a group: a GEMM with KH * KW rows is slower than direct loops."""
    return groups > 1 and weight_shape[1] == 1


def _by_group(weight: Array, groups: int) -> Array:
    """The weight (O, C/G, KH, KW) as matrices (G, O/G, C/G * KH * KW)."""
    channels = weight.shape[0]
    return contiguous(weight).reshape(groups, channels // groups, -1)


@upcast_half
def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Array | None = None,
) -> Array:
    """Cross-correlation y (N, O, OH, OW) of x (N, C, H, W) with weight (O, C/G, KH, KW), plus bias (O,)."""
    window = _window(x.shape, weight.shape, stride, padding, dilation)
    y = result(out, (x.shape[0], weight.shape[0], window.out_height, window.out_width), x.dtype)
    if bias is None:
        bias = np.zeros(weight.shape[0], x.dtype)
    if y.size == 0:
        return deliver(out, y)
    if _is_depthwise(weight.shape, groups):
        _depthwise(contiguous(x), contiguous(weight)[:, 0], contiguous(bias), window, y)
    elif suits(x, window, groups, weight.shape[0]):
        convolve(contiguous(x), contiguous(weight), contiguous(bias), window, y)
    else:
        _conv2d_by_tiles(contiguous(x), _by_group(weight, groups), contiguous(bias), window, y)
    return deliver(out, y)


def _depthwise(x: Array, weight: Array, bias: Array, window: _Window, y: Array) -> None:
    serial, parallel = (
        (_depthwise_unit_planes, _depthwise_unit_planes_parallel)
        if (window.sh, window.sw) == (1, 1)
        else (_depthwise_planes, _depthwise_planes_parallel)
    )
    if y.size < PARALLEL_FROM:
        serial(x, weight, bias, window, y, 0, y.shape[0] * y.shape[1])
    else:
        parallel(x, weight, bias, window, y)


def _conv2d_by_tiles(x: Array, weight: Array, bias: Array, window: _Window, y: Array) -> None:
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


@upcast_half
def conv2d_grad_input(
    g: Array,
    weight: Array,
    *,
    input_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Array | None = None,
) -> Array:
    """Gradient (N, C, H, W) of conv2d for its input, from g (N, O, OH, OW) and weight (O, C/G, KH, KW)."""
    window = _window(input_shape, weight.shape, stride, padding, dilation)
    dx = result(out, tuple(input_shape), g.dtype)
    g = contiguous(g)
    if g.size == 0 or dx.size == 0:
        dx.fill(0)
    elif _is_depthwise(weight.shape, groups):
        _depthwise_grad_input(g, contiguous(weight)[:, 0], window, dx)
    elif suits(g, window, groups, weight.shape[1]):
        # The input and the output have the same size, so this is the convolution of g with the weight turned around.
        turned = contiguous(weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))
        convolve(g, turned, np.zeros(weight.shape[1], g.dtype), window, dx)
    else:
        _grad_input_by_tiles(g, _by_group(weight, groups), window, dx)
    return deliver(out, dx)


def _depthwise_grad_input(g: Array, weight: Array, window: _Window, dx: Array) -> None:
    """Fill dx from weight (O, KH, KW); where strides are 1 it is the convolution of g with the flipped weight."""
    ph = window.dh * (window.kh - 1) - window.ph
    pw = window.dw * (window.kw - 1) - window.pw
    if (window.sh, window.sw) == (1, 1) and g.shape[1] == dx.shape[1] and ph >= 0 and pw >= 0:
        flipped = window._replace(ph=ph, pw=pw, out_height=dx.shape[2], out_width=dx.shape[3])
        _depthwise(g, weight[:, ::-1, ::-1].copy(), np.zeros(dx.shape[1], g.dtype), flipped, dx)
        return
    if dx.size < PARALLEL_FROM:
        _depthwise_grad_input_planes(g, weight, window, dx, 0, dx.shape[0] * dx.shape[1])
    else:
        _depthwise_grad_input_planes_parallel(g, weight, window, dx)


def _grad_input_by_tiles(g: Array, weight: Array, window: _Window, dx: Array) -> None:
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


@upcast_half
def conv2d_grad_weight(
    g: Array,
    x: Array,
    *,
    weight_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    out: Array | None = None,
) -> Array:
    """Gradient (O, C/G, KH, KW) of conv2d for its weight, from g (N, O, OH, OW) and x (N, C, H, W)."""
    window = _window(x.shape, weight_shape, stride, padding, dilation)
    dweight = result(out, tuple(weight_shape), g.dtype)
    g, x = contiguous(g), contiguous(x)
    if g.size == 0 or x.size == 0:
        dweight.fill(0)
    elif _is_depthwise(weight_shape, groups):
        _depthwise_grad_weight(g, x, window, dweight[:, 0])
    elif suits_grad_weight(x, window, groups, weight_shape[0]):
        grad_weight(g, x, window, dweight)
    else:
        _grad_weight_by_tiles(g, x, window, dweight.reshape(groups, weight_shape[0] // groups, -1))
    return deliver(out, dweight)


def _depthwise_grad_weight(g: Array, x: Array, window: _Window, dweight: Array) -> None:
    serial, parallel = (
        (_depthwise_grad_weight_unit_channels, _depthwise_grad_weight_unit_channels_parallel)
        if (window.sh, window.sw) == (1, 1)
        else (_depthwise_grad_weight_channels, _depthwise_grad_weight_channels_parallel)
    )
    if g.size < PARALLEL_FROM:
        serial(g, x, window, dweight, 0, dweight.shape[0])
    else:
        parallel(g, x, window, dweight)


def _grad_weight_by_tiles(g: Array, x: Array, window: _Window, dweight: Array) -> None:
    """Fill dweight (G, O/G, C/G * KH * KW)."""
    columns = _Columns(x.shape, window, dweight.shape[0], g.dtype)
    part = np.empty_like(dweight)
    dweight.fill(0)
    for tile in columns.tiles():
        np.matmul(columns.gather(g, tile), columns.fill(x, tile).transpose(0, 2, 1), out=part)
        dweight += part
