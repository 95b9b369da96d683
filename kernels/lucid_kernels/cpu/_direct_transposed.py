"""Input gradient of a strided convolution, which is a transposed convolution, directly: sums in registers.

The elements of the result with one remainder by the strides, a *phase*, meet the same taps: a phase is a convolution of the
upstream gradient, with strides of 1, with those taps turned around. All phases of a band of rows read the same copies of the
gradient, and their sums stay in the cache until they are interleaved on the way to memory. One convolution after the other,
each into an array of its own, and a pass that puts these together took 1.3 times as long.
"""
from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._copy_microkernels import interleave_rows
from ._direct import whole_blocks
from ._layout import Array
from ._microkernels import ROWS, VECTOR_BYTES, VECTORS, multiply_block
from ._pool import empty
from ._row_copies import Window, copies_of, extra_rows, fill_copies, matching_taps, tap_starts

# Copies that the products of a block of positions read, 128 bytes of each: they stay in the L1 cache for all outputs.
_COPIES = 256
# Bytes of copies and of sums of a task, in a 1 MiB L2 cache.
_COPIES_BYTES, _SUMS_BYTES = 13 << 15, 1 << 19
# Work is cut into this many tasks at least.
_TASKS = 8
# Positions of a phase that a band has at least; tasks share the outputs where that makes few.
_LEAST_POSITIONS = 128
# Results that share copies of the gradient at least, where not all sums of some images fit.
_LEAST_OUTPUTS = 64
# Images with fewer positions of a phase are taken several at a time, to fill the blocks.
_SMALL_PLANE = 256


class _Cut(NamedTuple):
    """A task is `samples` images, or `band` rows of each phase of one, with `channels` channels at a time.

    Their copies have `rows` rows and lie `step` elements apart (`_row_copies`).
    """

    period: int
    samples: int
    band: int
    channels: int
    rows: int
    step: int


@jit
def _interleave(sums, first, size, pitch, phases, window, strides, top, bottom, height, width, outputs, x, start):
    """Rows top..bottom of all phases of an image, from `first` on in `sums`, to the planes of flat x that begin at `start`."""
    down, across = strides
    for phase in range(down):
        rows = min(bottom, (height - phase + down - 1) // down) - top
        line = phase * across
        for o in range(outputs):
            source, target = first + line * size + o * pitch, start + (o * height + phase + down * top) * width
            if across == 2:
                interleave_rows(sums, source, window.out_width if phases[line, 0] > 0 else 0,
                                sums, source + size, window.out_width if phases[line + 1, 0] > 0 else 0,
                                x, target, down * width, rows, width)
                continue
            for r in range(rows):
                for column in range(across):
                    values, here = source + column * size + r * window.out_width, target + r * down * width + column
                    missing = phases[line + column, 0] == 0
                    for j in range((width - column + across - 1) // across):
                        x[here + j * across] = 0 if missing else sums[values + j]


@jit
def _spread_band(g, window, cut, n, samples, top, bottom, phases, taps, weight, bias, group, groups, first_block, last_block,
                 strides, shape, x):
    """Rows top..bottom of all phases of some samples of flat x (N, G * outputs, height, width): some blocks of one group.

    phases (SH * SW, 4) has the taps that a phase has for a channel, where they begin in `taps`, where its weight (G, blocks, K,
    ROWS) begins, and where the numbers of its taps do.
    """
    outputs, height, width = shape
    channels, blocks = g.shape[1] // groups, (outputs + ROWS - 1) // ROWS
    block = VECTORS * (VECTOR_BYTES // g.itemsize)
    count = (bottom - top) * window.out_width
    total = samples * count
    pitch = (total + block - 1) // block * block
    size = (last_block - first_block) * ROWS * pitch
    # The last block reads on for up to a block of positions.
    copies = np.empty(cut.channels * window.kw * cut.period * cut.step + block, g.dtype)
    copies[copies.shape[0] - block :] = 0
    sums = np.empty(phases.shape[0] * size, g.dtype)
    for first in range(0, channels, cut.channels):
        last = min(channels, first + cut.channels)
        fill_copies(g, n, samples, group * channels + first, last - first, window, cut.period, top, cut.rows, cut.step, copies)
        for phase in range(phases.shape[0]):
            each, place = phases[phase, 0], phases[phase, 2]
            tap = taps[phases[phase, 1] : phases[phase, 1] + (last - first) * each]
            line = channels * each * ROWS  # of the weight, for a block of outputs
            place += group * blocks * line
            for j in range(0, total if each > 0 else 0, block):
                for b in range(first_block, last_block):
                    part = weight[place + b * line + first * each * ROWS : place + b * line + last * each * ROWS]
                    target = phase * size + (b - first_block) * ROWS * pitch + j
                    multiply_block(copies, j, tap, part, bias, sums, target, pitch, first > 0)
    first_output, last_output = first_block * ROWS, min(outputs, last_block * ROWS)
    for i in range(samples):
        start = (((n + i) * groups + group) * outputs + first_output) * height * width
        _interleave(sums, i * count, size, pitch, phases, window, strides, top, bottom, height, width,
                    last_output - first_output, x, start)


@jit_parallel
def _spread_bands(g, window, cut, phases, taps, weight, bias, groups, splits, strides, shape, x):
    bands, blocks = (window.out_height + cut.band - 1) // cut.band, (shape[0] + ROWS - 1) // ROWS
    for task in numba.prange((g.shape[0] + cut.samples - 1) // cut.samples * bands * groups * splits):
        split, group, place = task % splits, task // splits % groups, task // (splits * groups)
        n, top = place // bands * cut.samples, place % bands * cut.band
        _spread_band(g, window, cut, n, min(cut.samples, g.shape[0] - n), top, min(window.out_height, top + cut.band), phases,
                     taps, weight, bias, group, groups, split * blocks // splits, (split + 1) * blocks // splits, strides,
                     shape, x)


@jit
def _pack(weight, group, block, blocks, phases, numbers, packed):
    """A block of the weight of a group (channels, outputs, KH * KW) for each phase; rows beyond the outputs are zeros."""
    channels, outputs, _ = weight.shape
    for phase in range(phases.shape[0]):
        each, first = phases[phase, 0], phases[phase, 3]
        k = phases[phase, 2] + (group * blocks + block) * channels * each * ROWS
        for channel in range(channels):
            for number in numbers[first : first + each]:
                for r in range(ROWS):
                    output = block * ROWS + r
                    packed[k + r] = weight[channel, output, number] if output < outputs else 0
                k += ROWS


@jit_parallel
def _pack_parallel(weight, groups, phases, numbers, packed):
    """packed (phases of (G, blocks, channels * taps, ROWS), flat) from weight (O, C / G, KH * KW)."""
    blocks, channels = (weight.shape[1] + ROWS - 1) // ROWS, weight.shape[0] // groups
    for task in numba.prange(groups * blocks):
        group = task // blocks
        _pack(weight[group * channels : (group + 1) * channels], group, task % blocks, blocks, phases, numbers, packed)


class _Axis(NamedTuple):
    """One dimension: the taps of each phase, from the last to the first, and the copies that they read.

    Copy i of the upstream gradient begins at the element `first` + i * `step`; copies[phase] are those of the taps.
    """

    taps: list[list[int]]
    copies: list[list[int]]
    number: int
    first: int
    step: int


def _axis(size: int, taps: int, stride: int, dilation: int, padding: int) -> _Axis:
    """The phases along a dimension of `size` elements of the result."""
    matching = [matching_taps(taps, stride, dilation, padding, phase) if phase < size else [] for phase in range(stride)]
    starts = [[(phase + padding - tap * dilation) // stride for tap in some] for phase, some in enumerate(matching)]
    every = sorted({start for some in starts for start in some}) or [0]
    step = max(1, math.gcd(*(start - every[0] for start in every)))
    copies = [[(start - every[0]) // step for start in some] for some in starts]
    return _Axis(matching, copies, (every[-1] - every[0]) // step + 1, every[0], step)


def _cut(samples: int, itemsize: int, channels: int, window: Window, outputs: int, phases: int, groups: int
         ) -> tuple[_Cut, int]:
    """The tasks for some images with `channels` channels and `outputs` results in a group, and the parts of the outputs that
    they share; the window is that of the copies.
    """
    height, width = window.out_height, window.out_width
    parts = -(-channels * window.kh * window.kw // _COPIES)
    each = -(-channels // parts)
    blocks = -(-outputs // ROWS)
    row = phases * blocks * ROWS * width * itemsize  # of sums
    sums = _SUMS_BYTES * max(1, outputs // _LEAST_OUTPUTS)  # of all parts
    if height * width < _SMALL_PLANE and samples > 1:
        fitting = min(sums // (row * height), _COPIES_BYTES // (each * copies_of(itemsize, window, window.kh, height)))
        together = max(1, min(fitting, -(-samples // 2)))
        cut = _Cut(window.kh, together, height, each, height, together * height * width)
    else:
        fitting = min(sums // row, _COPIES_BYTES // (each * copies_of(itemsize, window, 1, 1)) - extra_rows(window, 1))
        wanted = min(-(-_TASKS // (samples * groups)), max(1, height * width // _LEAST_POSITIONS))
        bands = min(height, max(-(-height // max(1, fitting)), wanted))
        band = whole_blocks(-(-height // bands), height, width, VECTORS * VECTOR_BYTES // itemsize)
        rows = band + extra_rows(window, 1)
        cut = _Cut(1, 1, band, each, rows, rows * width)
    tasks = -(-samples // cut.samples) * -(-height // cut.band) * groups
    least = -(-row * cut.band * cut.samples // _SUMS_BYTES)
    return cut, min(blocks, max(least, -(-_TASKS // (2 * tasks))))  # each part copies the gradient again


@functools.lru_cache(maxsize=256)
def _plan(samples: int, itemsize: int, channels: int, window: Window, shape: tuple[int, int, int], groups: int
          ) -> tuple[Window, _Cut, int, Array, Array, Array]:
    """The window of the copies, the cut, the parts of the outputs, the phases and their taps (`_spread_band`), and the numbers of
    the taps, kh * KW + kw.

    Kept: it takes as long as a small convolution.
    """
    outputs, height, width = shape
    down = _axis(height, window.kh, window.sh, window.dh, window.ph)
    across = _axis(width, window.kw, window.sw, window.dw, window.pw)
    copied = Window(down.number, across.number, 1, 1, -down.first, -across.first, down.step, across.step,
                    -(-height // window.sh), -(-width // window.sw))
    cut, splits = _cut(samples, itemsize, channels, copied, outputs, window.sh * window.sw, groups)
    starts = tap_starts(cut.channels, copied, cut.period, cut.step).reshape(cut.channels, down.number, across.number)
    kinds = [(row, column) for row in range(window.sh) for column in range(window.sw)]
    taps = [starts[:, down.copies[row]][:, :, across.copies[column]].reshape(-1) for row, column in kinds]
    numbers = [[a * window.kw + b for a in down.taps[row] for b in across.taps[column]] for row, column in kinds]
    each = [len(some) for some in numbers]
    begins = np.cumsum([0, *each[:-1]])
    line = groups * -(-outputs // ROWS) * ROWS * channels
    phases = np.stack([each, np.cumsum([0, *(some.size for some in taps[:-1])]), line * begins, begins], 1)
    return copied, cut, splits, phases, np.concatenate(taps), np.array([number for some in numbers for number in some], np.int64)


def grad_input_strided(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C / G, KH, KW), contiguous."""
    channels, outputs = g.shape[1] // groups, dx.shape[1] // groups
    shape = (outputs, *dx.shape[2:])
    copied, cut, splits, phases, taps, numbers = _plan(g.shape[0], g.itemsize, channels, window, shape, groups)
    packed = empty((groups * -(-outputs // ROWS) * ROWS * channels * numbers.size,), g.dtype)
    _pack_parallel(weight.reshape(*weight.shape[:2], -1), groups, phases, numbers, packed)
    _spread_bands(g, copied, cut, phases, taps, packed, np.zeros(ROWS, g.dtype), groups, splits, (window.sh, window.sw), shape,
                  dx.reshape(-1))
