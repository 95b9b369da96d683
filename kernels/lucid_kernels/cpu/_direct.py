"""Convolution with strides of 1 that keeps the size of the image, directly: no matrix of columns, sums in registers.

Of the columns of a convolution only those of one row of taps are made: KW copies of the input, shifted sideways, of the
row length of the output, with rows of zeros above and below. A tap of another row is then the same memory some rows
further on, and all positions of an image are one contiguous run: short rows of 8 pixels fill the vectors as well as
long ones. A task is an image, or a band of rows of it, whose copies stay in the cache.

Against columns and GEMM for 64 images 16 x 8 x 8 and 32 outputs: KH times fewer values copied, a launch less, and no
OpenBLAS threads, which spin on while the next Numba kernel wants their core.
"""
from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import (
    DOT_ROWS,
    DOT_TAPS,
    ROWS,
    VECTOR_BYTES,
    VECTORS,
    dot_block,
    dot_block_scalar,
    multiply_block,
)

# Bytes of shifted copies in one task: half of a 1 MiB L2 cache at most.
_TASK_BYTES = 1 << 19
# Bytes of shifted copies that a weight gradient makes at a time; more images share the sum over the lanes.
_CHUNK_BYTES = 1 << 17
# Work is cut into this many tasks at least, and the weight gradient into this many partial sums at most; the numbers
# are fixed, so results do not depend on the number of threads.
_TASKS = 8
_PARTS = 16
# Bytes of all partial sums.
_PARTS_BYTES = 1 << 26
# Below this many products the columns, which need no parallel launch, are as fast: about 20 us.
_LEAST_PRODUCTS = 1 << 17
# Larger weights (256 to 256 channels, 3x3) are multiplied faster by BLAS: by a tenth, the weight gradient by a third.
_LARGEST_WEIGHT = 1 << 18


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
def clear_sides(segment, width, left, right):
    """Set the first `left` and the last `right` columns of the rows of a flat (rows * width,) segment to 0."""
    for start in range(0, segment.shape[0], width):
        for j in range(start, start + left):
            segment[j] = 0
        for j in range(start + width - right, start + width):
            segment[j] = 0


@jit
def _fill_copies(x, row_window, first_row, rows, chunk, copies):
    """The shifted copies of `rows` rows of x (N, C, H, W) from first_row on, those outside as zeros.

    `copies` is flat (C * KW, chunk * rows * W), with room for `chunk` samples.
    All memory is cleared at once, at 2% of the time: simpler than the pixels above and below each plane.
    """
    samples, channels, height, width = x.shape
    planes = x.reshape(samples, channels, height * width)
    size = rows * width
    copies[:] = 0
    taps = row_window[1]
    for b in range(taps):  # outside, for the divisions of `same_span` cost as much as the copy of an 8x8 plane
        start, stop, shift, left, right = same_span(row_window, height, width, first_row, first_row + rows, b)
        for c in range(channels):
            for n in range(samples):
                first = ((c * taps + b) * chunk + n) * size
                inside = copies[first + start : first + stop]
                values = planes[n, c, start + shift :]
                for j in range(inside.shape[0]):
                    inside[j] = values[j]
                if left + right > 0:
                    clear_sides(copies[first : first + size], width, left, right)


# ---- outputs -------------------------------------------------------------------------------------------------------


@jit
def _convolve_band(x, row_window, n, top, bottom, rows, first_row, taps, weight, bias, out_channels, y):
    """Output rows top..bottom of sample n; weight is (blocks, K, ROWS), bias (blocks, ROWS), y flat (N, O, H, W)."""
    _, channels, height, width = x.shape
    size = channels * row_window[1] * rows * width
    block = VECTORS * (VECTOR_BYTES // x.itemsize)
    columns = np.empty(size + block, x.dtype)  # the last block reads on for up to a block of positions
    _fill_copies(x[n : n + 1], row_window, first_row, rows, 1, columns)
    spare = np.empty(ROWS * block, x.dtype)
    count = (bottom - top) * width
    for b in range(weight.shape[0]):
        outputs = min(ROWS, out_channels - b * ROWS)
        for j in range(0, count, block):
            start = (n * out_channels + b * ROWS) * height * width + top * width + j
            whole = outputs == ROWS and j + block <= count
            target, first, pitch = (y, start, height * width) if whole else (spare, 0, block)
            multiply_block(columns, j, taps, weight[b], bias[b], target, first, pitch)
            if not whole:
                for r in range(outputs):
                    first = start + r * height * width
                    rest = y[first : first + min(block, count - j)]
                    values = spare[r * block :]
                    for i in range(rest.shape[0]):
                        rest[i] = values[i]


@jit_parallel
def _convolve_bands(x, row_window, padding, band, rows, taps, weight, bias, out_channels, y):
    height = x.shape[2]
    bands = (height + band - 1) // band
    for task in numba.prange(x.shape[0] * bands):
        top = task % bands * band
        _convolve_band(
            x, row_window, task // bands, top, min(height, top + band), rows, top - padding,
            taps, weight, bias, out_channels, y,
        )


@functools.lru_cache(maxsize=64)
def _taps(channels: int, kh: int, kw: int, row_step: int, copy_step: int) -> Array:
    """Where in the shifted copies (C * KW, copy_step) each tap of (C, KH, KW) starts; kept, for it takes 4 us."""
    copies = np.arange(channels * kw).reshape(channels, 1, kw) * copy_step
    return (copies + np.arange(kh).reshape(-1, 1) * row_step).reshape(-1)


def _band_height(x: Array, window: Any) -> int:
    """The rows of a task: as many as fit into `_TASK_BYTES` with those above and below, or fewer for `_TASKS` tasks."""
    samples, _, height, _ = x.shape
    fitting = _TASK_BYTES // (x[0, :, 0].nbytes * window.kw) - window.dh * (window.kh - 1)
    bands = max(-(-height // max(1, fitting)), min(height, -(-_TASKS // samples)))
    return -(-height // bands)


def convolve(x: Array, weight: Array, bias: Array, window: Any, y: Array) -> None:
    """Fill y (N, O, H, W) from x (N, C, H, W), weight (O, C, KH, KW) and bias (O,)."""
    _, channels, _, width = x.shape
    out_channels = weight.shape[0]
    band = _band_height(x, window)
    rows = band + window.dh * (window.kh - 1)
    blocks = -(-out_channels // ROWS)
    packed = np.zeros((blocks, channels * window.kh * window.kw, ROWS), x.dtype)
    matrix = weight.reshape(out_channels, -1)
    for b in range(blocks):
        block = matrix[b * ROWS : (b + 1) * ROWS]
        packed[b, :, : len(block)] = block.T
    packed_bias = np.zeros((blocks, ROWS), x.dtype)
    packed_bias.reshape(-1)[:out_channels] = bias
    taps = _taps(channels, window.kh, window.kw, window.dh * width, rows * width)
    _convolve_bands(
        x, window._replace(kh=1, ph=0), window.ph, band, rows, taps, packed, packed_bias, out_channels, y.reshape(-1)
    )


# ---- weight gradient -----------------------------------------------------------------------------------------------


@jit
def _sum_products(g, x, row_window, first_row, rows, g_rows, taps, chunk, sums):
    """Add to sums (blocks of g_rows, blocks of taps, DOT_ROWS * DOT_TAPS) the products of g (N, O, P) with x (N, C, H, W).

    There are at most `chunk` samples; `taps` counts with that many.
    """
    samples, channels, _, width = x.shape
    flat = np.empty(channels * row_window[1] * chunk * rows * width, x.dtype)
    _fill_copies(x, row_window, first_row, rows, chunk, flat)
    lanes = VECTOR_BYTES // x.itemsize
    step, g_step, count = rows * width, g.shape[1] * g.shape[2], g.shape[2]
    rest = count // lanes * lanes
    values = g.reshape(-1)
    for t in range(sums.shape[1]):
        here = taps[t]
        for b in range(sums.shape[0]):
            dot_block(values, g_rows[b], flat, here, samples, g_step, step, count // lanes, sums[b, t])
            if rest < count:
                dot_block_scalar(
                    values[rest:], g_rows[b], flat[rest:], here, samples, g_step, step, count - rest, sums[b, t]
                )


@jit_parallel
def _sum_parts(g, x, row_window, first_row, rows, g_rows, taps, chunk, chunks_each, parts):
    samples = x.shape[0]
    for part in numba.prange(parts.shape[0]):
        for i in range(part * chunks_each, (part + 1) * chunks_each):
            first, last = min(samples, i * chunk), min(samples, (i + 1) * chunk)
            if first < last:
                _sum_products(g[first:last], x[first:last], row_window, first_row, rows, g_rows, taps, chunk, parts[part])


def _blocks(starts: Array, size: int) -> Array:
    """`starts` in blocks of `size`; the last one repeats the last start."""
    count = -(-starts.size // size)
    return starts[np.minimum(np.arange(count * size), starts.size - 1)].reshape(count, size)


def grad_weight(g: Array, x: Array, window: Any, dweight: Array) -> None:
    """Fill dweight (O, C, KH, KW) from g (N, O, H, W) and x (N, C, H, W)."""
    samples, channels, height, width = x.shape
    out_channels = g.shape[1]
    rows = height + window.dh * (window.kh - 1)
    chunk = max(1, min(_CHUNK_BYTES // _sample_bytes(x, window), -(-samples // _TASKS)))
    chunks = -(-samples // chunk)
    chunks_each = -(-chunks // max(1, min(_PARTS, _PARTS_BYTES // dweight.nbytes)))
    taps = _taps(channels, window.kh, window.kw, window.dh * width, chunk * rows * width)
    g_rows = _blocks(np.arange(out_channels) * (height * width), DOT_ROWS)
    blocks = _blocks(taps, DOT_TAPS)
    parts = np.zeros((-(-chunks // chunks_each), len(g_rows), len(blocks), DOT_ROWS * DOT_TAPS), x.dtype)
    _sum_parts(
        g.reshape(samples, out_channels, -1), x, window._replace(kh=1, ph=0), -window.ph, rows, g_rows, blocks, chunk,
        chunks_each, parts,
    )
    sums = parts.sum(0).reshape(len(g_rows), len(blocks), DOT_ROWS, DOT_TAPS).transpose(0, 2, 1, 3)
    dweight.reshape(out_channels, -1)[:] = sums.reshape(g_rows.size, blocks.size)[:out_channels, : taps.size]


# ---- which convolutions --------------------------------------------------------------------------------------------


def _sample_bytes(x: Array, window: Any) -> int:
    """Bytes of the shifted copies of one sample."""
    return x[0, :, 0].nbytes * window.kw * (x.shape[2] + window.dh * (window.kh - 1))


def suits_grad_weight(x: Array, window: Any, groups: int, out_channels: int) -> bool:
    """Whether to call `grad_weight`: strides of 1, results of the size of the input, more than one tap, enough work."""
    return (
        groups == 1
        and (window.sh, window.sw) == (1, 1)
        and (window.out_height, window.out_width) == x.shape[2:]
        and window.kh * window.kw > 1
        and x.shape[1] * out_channels * window.kh * window.kw <= _LARGEST_WEIGHT
        and x.size * out_channels * window.kh * window.kw >= _LEAST_PRODUCTS
    )


def suits(x: Array, window: Any, groups: int, out_channels: int) -> bool:
    """Whether to call `convolve`; fewer output channels than half a block waste most of its sums."""
    return suits_grad_weight(x, window, groups, out_channels) and 2 * out_channels >= ROWS
