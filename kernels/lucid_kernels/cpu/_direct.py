"""Direct convolution: no matrix of columns, sums in registers.

The pixels are read from `_row_copies`, of a band of one image at a time and of as many channels as stay in the cache; a task
is such a band. Against columns and GEMM: KH times fewer values copied, a launch less, and no OpenBLAS threads, which spin on
while the next Numba kernel wants their core.
"""
from __future__ import annotations

import math

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array
from ._microkernels import ROWS, VECTOR_BYTES, VECTORS, multiply_block
from ._row_copies import Window, copies_of, enough_work, extra_rows, fill_copies, phases, tap_starts

# Bytes of copies in one task, so that they, the weights and the sums stay in a 1 MiB L2 cache.
_TASK_BYTES = 1 << 19
# Bytes of copies of which the channels are taken at once, where the sums do not fit into one pass.
_CHANNELS_BYTES = 1 << 18
# Work is cut into this many tasks at least.
_TASKS = 8


def suits(x: Array, window: Window, groups: int, out_channels: int) -> bool:
    """Whether to call `convolve` or `grad_input`: enough work, and results of at least half a block of channels."""
    return groups == 1 and 2 * out_channels >= ROWS and enough_work(x, window, out_channels)


@jit
def _convolve_band(x, window, phases, n, top, bottom, rows, step, channels_each, taps, weight, bias, out_channels, y):
    """Output rows top..bottom of sample n; weight is (blocks, K, ROWS), bias (blocks, ROWS), y flat (N, O, OH, OW)."""
    channels = x.shape[1]
    each = window.kh * window.kw
    plane = window.out_height * window.out_width
    copies_each = window.kw * phases * step
    block = VECTORS * (VECTOR_BYTES // x.itemsize)
    # The last block reads on for up to a block of positions.
    copies = np.zeros(min(channels, channels_each) * copies_each + block, x.dtype)
    count = (bottom - top) * window.out_width
    padded = (count + block - 1) // block * block
    here = n * out_channels * plane + top * window.out_width
    one_pass = channels <= channels_each
    # Sums that are not whole after one pass, or stand beside the memory of y, are kept here.
    sums = np.empty(ROWS * block if one_pass else weight.shape[0] * ROWS * padded, x.dtype)
    for first in range(0, channels, channels_each):
        last = min(channels, first + channels_each)
        fill_copies(x, n, 1, first, last - first, window, phases, top, rows, step, copies)
        for b in range(weight.shape[0]):
            outputs = min(ROWS, out_channels - b * ROWS)
            part = weight[b, first * each : last * each]
            for j in range(0, count, block):
                if not one_pass:
                    start = b * ROWS * padded + j
                    multiply_block(copies, j, taps[: part.shape[0]], part, bias[b], sums, start, padded, first > 0)
                elif outputs == ROWS and j + block <= count:
                    start = here + b * ROWS * plane + j
                    multiply_block(copies, j, taps, part, bias[b], y, start, plane, False)
                else:
                    multiply_block(copies, j, taps, part, bias[b], sums, 0, block, False)
                    _deliver(sums, block, y, here + b * ROWS * plane + j, plane, outputs, min(block, count - j))
    if not one_pass:
        _deliver(sums, padded, y, here, plane, out_channels, count)


@jit
def _deliver(sums, pitch, y, start, plane, rows, count):
    """Copy the first `count` elements of the rows of flat `sums`, `pitch` apart, to those of y, `plane` apart."""
    for r in range(rows):
        target = y[start + r * plane : start + r * plane + count]
        values = sums[r * pitch :]
        for i in range(target.shape[0]):
            target[i] = values[i]


@jit_parallel
def _convolve_bands(x, window, phases, band, rows, step, channels_each, taps, weight, bias, out_channels, y):
    height = window.out_height
    bands = (height + band - 1) // band
    for task in numba.prange(x.shape[0] * bands):
        top = task % bands * band
        _convolve_band(
            x, window, phases, task // bands, top, min(height, top + band), rows, step, channels_each, taps, weight, bias,
            out_channels, y,
        )


@jit
def _pack(weight, packed, first, last):
    """Blocks first..last of packed (blocks, K, ROWS) from weight (O, C, KH, KW); rows beyond O are zeros."""
    out_channels, channels, kh, kw = weight.shape
    for b in range(first, last):
        rows = min(ROWS, out_channels - b * ROWS)
        for c in range(channels):
            for a in range(kh):
                for t in range(kw):
                    target = packed[b, (c * kh + a) * kw + t]
                    for r in range(ROWS):
                        target[r] = weight[b * ROWS + r, c, a, t] if r < rows else 0


@jit_parallel
def _pack_parallel(weight, packed):
    for b in numba.prange(packed.shape[0]):
        _pack(weight, packed, b, b + 1)


def _packed(weight: Array) -> Array:
    """The weight (O, C, KH, KW) as (blocks, C * KH * KW, ROWS)."""
    packed = np.empty((-(-weight.shape[0] // ROWS), math.prod(weight.shape[1:]), ROWS), weight.dtype)
    if weight.size < PARALLEL_FROM:
        _pack(weight, packed, 0, packed.shape[0])
    else:
        _pack_parallel(weight, packed)
    return packed


def _bands(x: Array, window: Window) -> tuple[int, int]:
    """The output rows of a task, and the channels that it takes at once."""
    samples, channels = x.shape[:2]
    height = window.out_height
    extra = extra_rows(window)
    least = min(height, -(-_TASKS // samples))
    if channels * copies_of(x, window, extra + -(-height // least)) <= _TASK_BYTES:
        return -(-height // least), channels
    # As square as possible: more rows share the weights, more channels share the sums.
    row = copies_of(x, window, 1)
    fitting = max(1, _TASK_BYTES // (channels * row) - extra)
    if fitting >= 2 * extra + 2:
        return -(-height // max(least, -(-height // fitting))), channels
    band = min(-(-height // least), max(1, 4 * extra + 4, 256 // window.out_width))
    band = -(-height // -(-height // band))
    return band, max(1, min(channels, _CHANNELS_BYTES // (row * (band + extra))))


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C, KH, KW), of any strides, and bias (O,)."""
    out_channels = weight.shape[0]
    band, channels_each = _bands(x, window)
    rows = band + extra_rows(window)
    step = rows * window.out_width
    packed = _packed(weight)
    packed_bias = np.zeros((packed.shape[0], ROWS), x.dtype)
    packed_bias.reshape(-1)[:out_channels] = bias
    _convolve_bands(
        x, window, phases(window), band, rows, step, channels_each, tap_starts(channels_each, window, step), packed,
        packed_bias, out_channels, y.reshape(-1),
    )


# ---- input gradient ------------------------------------------------------------------------------------------------


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


def _matching(taps: int, stride: int, dilation: int, padding: int, first: int) -> list[int]:
    """The taps through which the input positions first, first + stride, ... meet outputs, from the last to the first."""
    return [a for a in reversed(range(taps)) if (first + padding - a * dilation) % stride == 0]


def grad_input(g: Array, weight: Array, window: Window, dx: Array) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C, KH, KW).

    The input positions with one remainder by the stride meet the same taps: their gradient is a convolution of g, with
    strides of 1, with those taps turned around.
    """
    kh, kw, sh, sw, ph, pw, dh, dw, _, _ = window
    bias = np.zeros(dx.shape[1], g.dtype)
    turned = weight.transpose(1, 0, 2, 3)
    height, width = dx.shape[2:]
    for row in range(min(sh, height)):
        rows = _matching(kh, sh, dh, ph, row)
        for column in range(min(sw, width)):
            columns = _matching(kw, sw, dw, pw, column)
            shape = (-(-(height - row) // sh), -(-(width - column) // sw))
            if not rows or not columns:
                dx[:, :, row::sh, column::sw] = 0
                continue
            part = dx if (sh, sw) == (1, 1) else np.empty((*dx.shape[:2], *shape), g.dtype)
            taps = turned[:, :, rows[0] :: _step(rows), columns[0] :: _step(columns)][:, :, : len(rows), : len(columns)]
            single = Window(
                len(rows), len(columns), 1, 1,
                -((row + ph - rows[0] * dh) // sh), -((column + pw - columns[0] * dw) // sw),
                max(1, -_step(rows) * dh // sh), max(1, -_step(columns) * dw // sw), *shape,
            )
            convolve(g, taps, bias, single, part)
            if part is not dx:
                _spread(part, sh, sw, row, column, dx)


def _step(taps: list[int]) -> int:
    """The step from one of `taps` to the next, negative; -1 for a single one."""
    return taps[1] - taps[0] if len(taps) > 1 else -1
