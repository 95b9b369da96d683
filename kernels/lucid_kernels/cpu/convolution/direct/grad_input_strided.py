"""Input gradient of a strided convolution, which is a transposed convolution, directly: sums in registers.

The elements of the result with one remainder by the strides, a *phase*, meet the same taps: a phase is a convolution of the
upstream gradient, with strides of 1, with those taps turned around. All phases of a band of rows read the same copies of the
gradient, and their sums stay in the cache until they are interleaved as they are stored. One convolution after the other,
each into an array of its own, and a pass that puts these together took 1.3 times as long.
"""
from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numba
import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime.allocator import empty
from ...runtime.jit import jit, jit_parallel
from ...simd.cpu_features import VECTOR_BYTES
from ..im2row import copies_of, extra_rows, matching_taps, tap_starts
from ..image_batch import Images, fill_images, meets, planes_of, split_run
from .copy_microkernels import interleave_rows, pick_columns
from .forward import ALIKE_BLOCKS, whole_blocks
from .microkernels import ROWS, VECTORS_OF, multiply_rows, multiply_rows_narrow, rows_of

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


# Bytes of a part of the weight that a task packs by itself, right before it reads it, if no other one needs it: 512 channels of
# one image of 14x14 take 0.75 of the time. Where two tasks needed it, that took 1.05 of the time of packing it once.
_OWN_BYTES = 3 << 17
# Blocks of outputs whose weight is packed at a time.
_PACKED = 16


class _Cut(NamedTuple):
    """A task is `samples` images, or `band` rows of each phase of one, with `channels` channels at a time.

    Their copies have `rows` rows and lie `step` elements apart (`im2row`).
    """

    period: int
    samples: int
    band: int
    channels: int
    rows: int
    step: int


@jit
def _interleave(sums, first, size, pitch, phases, window, strides, top, bottom, height, width, outputs, x, start, plane):
    """Rows top..bottom of all phases of an image, from `first` on in `sums`, to the planes of flat x, which begin at `start` and
    lie `plane` elements apart.
    """
    down, across = strides
    for phase in range(down):
        rows = min(bottom, (height - phase + down - 1) // down) - top
        line = phase * across
        for o in range(outputs):
            source, target = first + line * size + o * pitch, start + o * plane + (phase + down * top) * width
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
def _pack(weight, taps, first, channels, rows, first_block, last_block, outputs, phases, tap_indices, place, pitch, size, packed):
    """Blocks first_block..last_block of the outputs, of some channels from `first` on, of the flat weight (channels, outputs,
    taps), for each phase: block number `place` and those behind it of packed (phases of (blocks, pitch * taps, rows), flat),
    which has `size` elements for a tap. Rows beyond the outputs are zeros.

    Channel by channel: what is read of one block is a few lines in each of many pages.
    """
    for channel in range(channels):
        for block in range(last_block - first_block):
            row = (first_block + block) * rows
            start = ((first + channel) * outputs + row) * taps
            for phase in range(phases.shape[0]):
                each, number = phases[phase, 0], phases[phase, 2]
                target = number * size + ((place + block) * pitch + channel) * each * rows
                if rows == ROWS and row + ROWS <= outputs:
                    pick_columns(weight, start, taps, tap_indices, number, each, packed, target, outputs * taps)
                    continue
                for k in range(each):
                    source = start + tap_indices[number + k]
                    for r in range(rows):
                        packed[target + k * rows + r] = weight[source + r * taps] if row + r < outputs else 0


@jit_parallel
def _pack_parallel(weight, taps, channels, rows, outputs, phases, tap_indices, packed):
    """packed (phases of (G, blocks, channels * taps, rows), flat) from flat weight (G * channels, outputs, taps)."""
    blocks = (outputs + rows - 1) // rows
    parts = (blocks + _PACKED - 1) // _PACKED
    for task in numba.prange(weight.shape[0] // (channels * outputs * taps) * parts):
        group, block = task // parts, task % parts * _PACKED
        _pack(weight, taps, group * channels, channels, rows, block, min(blocks, block + _PACKED), outputs, phases, tap_indices,
              group * blocks + block, channels, packed.shape[0] // tap_indices.shape[0], packed)


@jit
def _spread_band(g, images, window, cut, n, samples, top, bottom, phases, taps, tap_indices, weight, block, own_taps, bias,
                 channels, group, first_block, last_block, strides, shape, x):
    """Rows top..bottom of all phases of some images of flat x (`Images`): some blocks of one group, of `channels` channels of g.

    phases (SH * SW, 3) has the taps that a phase has for a channel, where they begin in `taps`, and where their indices do. The
    weight is packed, or has `own_taps`, and this packs its part of it, with the `block` of `rows_of`.
    """
    outputs, height, width = shape
    rows = len(block)
    slices, blocks = images.sources.shape[1], (outputs + rows - 1) // rows
    lanes = VECTOR_BYTES // g.itemsize
    wide = VECTORS_OF[rows] * lanes
    count = (bottom - top) * window.out_width
    total = samples * count
    pitch = (total + wide - 1) // wide * wide
    size = (last_block - first_block) * rows * pitch
    # The last block reads on for up to a block of positions.
    copies = np.empty(cut.channels * window.kw * cut.period * cut.step + wide, g.dtype)
    copies[copies.shape[0] - wide :] = 0
    sums = np.empty(phases.shape[0] * size, g.dtype)
    some = (last_block - first_block) * rows * min(channels, cut.channels)
    packed = np.empty(some * tap_indices.shape[0], g.dtype) if own_taps > 0 else weight
    each_tap = packed.shape[0] // max(1, tap_indices.shape[0])
    added = False
    for s in range(slices):
        if not meets(images, n, samples, s) and (added or s < slices - 1):
            continue
        for first in range(0, channels, cut.channels):
            last = min(channels, first + cut.channels)
            fill_images(g, images, n, samples, s, group * channels + first, last - first, window, cut.period, top, cut.rows,
                        cut.step, copies)
            # Of a block of outputs the packed weight has `lines` channels, of which those from `line` on are taken.
            lines, line, zeroth = slices * channels, s * channels + first, group * blocks
            if own_taps > 0:
                _pack(weight, own_taps, (group * slices + s) * channels + first, last - first, rows, first_block, last_block,
                      outputs, phases, tap_indices, 0, last - first, each_tap, packed)
                lines, line, zeroth = last - first, 0, -first_block
            for phase in range(phases.shape[0]):
                each = phases[phase, 0]
                place = phases[phase, 2] * each_tap + line * each * rows
                tap = taps[phases[phase, 1] : phases[phase, 1] + (last - first) * each]
                j = 0
                while j < total and each > 0:
                    narrow = total - j <= wide // 3
                    for b in range(first_block, last_block):
                        begin = place + (zeroth + b) * lines * each * rows
                        part = packed[begin : begin + (last - first) * each * rows]
                        target = phase * size + (b - first_block) * rows * pitch + j
                        if narrow:
                            multiply_rows_narrow(block, copies, j, tap, part, 0, 1, rows, bias, 0, sums, target, pitch, added)
                        else:
                            multiply_rows(block, copies, j, tap, part, 0, 1, rows, bias, 0, sums, target, pitch, added)
                    j += lanes if narrow else wide
            added = True
    first_output, last_output = first_block * rows, min(outputs, last_block * rows)
    for i in range(samples):
        start = images.targets[n + i] + (group * outputs + first_output) * images.target_pitch
        _interleave(sums, i * count, size, pitch, phases, window, strides, top, bottom, height, width,
                    last_output - first_output, x, start, images.target_pitch)


@jit_parallel
def _spread_bands(g, images, window, cut, phases, taps, tap_indices, weight, block, own_taps, bias, channels, groups, splits,
                  strides, shape, x):
    bands, blocks = (window.out_height + cut.band - 1) // cut.band, (shape[0] + len(block) - 1) // len(block)
    samples = images.targets.shape[0]
    for task in numba.prange((samples + cut.samples - 1) // cut.samples * bands * groups * splits):
        split, group, place = task % splits, task // splits % groups, task // (splits * groups)
        n, top = place // bands * cut.samples, place % bands * cut.band
        _spread_band(g, images, window, cut, n, min(cut.samples, samples - n), top, min(window.out_height, top + cut.band),
                     phases, taps, tap_indices, weight, block, own_taps, bias, channels, group, split * blocks // splits,
                     (split + 1) * blocks // splits, strides, shape, x)


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


def _cut(samples: int, alike: int, itemsize: int, channels: int, window: Window, outputs: int, phases: int,
         groups: int) -> tuple[_Cut, int]:
    """The tasks for some images with `channels` channels and `outputs` results in a group, and the parts of the outputs that
    they share; the window is that of the copies.
    """
    height, width = window.out_height, window.out_width
    parts = -(-channels * window.kh * window.kw // _COPIES)
    each = -(-channels // parts)
    rows = len(rows_of(outputs))
    blocks, block = -(-outputs // rows), VECTORS_OF[rows] * VECTOR_BYTES // itemsize
    row = phases * blocks * rows * width * itemsize  # of sums
    sums = _SUMS_BYTES * max(1, outputs // _LEAST_OUTPUTS)  # of all parts
    if height * width < _SMALL_PLANE and samples > 1:
        fitting = min(sums // (row * height), _COPIES_BYTES // (each * copies_of(itemsize, window, window.kh, height)))
        # All images in tasks that share the outputs, which pack their own parts of the weight: 0.7 to 0.95 of the time of two
        # tasks for 2 to 16 images of 4x4 to 14x14, at most 1.06 where more of the blocks is empty.
        together = samples if blocks > 1 and samples <= fitting else max(1, min(fitting, -(-samples // 2)))
        together = split_run(together, samples, alike, -(-ALIKE_BLOCKS * block // (height * width)))
        cut = _Cut(window.kh, together, height, each, height, together * height * width)
    else:
        fitting = min(sums // row, _COPIES_BYTES // (each * copies_of(itemsize, window, 1, 1)) - extra_rows(window, 1))
        wanted = min(-(-_TASKS // (samples * groups)), max(1, height * width // _LEAST_POSITIONS))
        bands = min(height, max(-(-height // max(1, fitting)), wanted))
        band = whole_blocks(-(-height // bands), height, width, block)
        copied = band + extra_rows(window, 1)
        cut = _Cut(1, 1, band, each, copied, copied * width)
    tasks = -(-samples // cut.samples) * -(-height // cut.band) * groups
    least = -(-row * cut.band * cut.samples // _SUMS_BYTES)
    return cut, min(blocks, max(least, -(-_TASKS // (2 * tasks))))  # each part copies the gradient again


@functools.lru_cache(maxsize=256)
def _plan(samples: int, alike: int, itemsize: int, channels: int, window: Window, shape: tuple[int, int, int], groups: int
          ) -> tuple[Window, _Cut, int, Array, Array, Array, bool]:
    """The window of the copies, the cut, the parts of the outputs, the phases and their taps (`_spread_band`), the indices of the
    taps, kh * KW + kw, and whether a task packs its own part of the weight.

    Kept: it takes as long as a small convolution.
    """
    outputs, height, width = shape
    down = _axis(height, window.kh, window.sh, window.dh, window.ph)
    across = _axis(width, window.kw, window.sw, window.dw, window.pw)
    copied = Window(down.number, across.number, 1, 1, -down.first, -across.first, down.step, across.step,
                    -(-height // window.sh), -(-width // window.sw))
    cut, splits = _cut(samples, alike, itemsize, channels, copied, outputs, window.sh * window.sw, groups)
    starts = tap_starts(cut.channels, copied, cut.period, cut.step).reshape(cut.channels, down.number, across.number)
    kinds = [(row, column) for row in range(window.sh) for column in range(window.sw)]
    taps = [starts[:, down.copies[row]][:, :, across.copies[column]].reshape(-1) for row, column in kinds]
    tap_indices = [[a * window.kw + b for a in down.taps[row] for b in across.taps[column]] for row, column in kinds]
    each = [len(some) for some in tap_indices]
    phases = np.stack([each, np.cumsum([0, *(some.size for some in taps[:-1])]), np.cumsum([0, *each[:-1]])], 1)
    own = -(-samples // cut.samples) * -(-copied.out_height // cut.band) == 1
    if own:
        rows = len(rows_of(outputs))
        block = rows * min(channels, cut.channels) * window.kh * window.kw * itemsize
        blocks = -(-outputs // rows)
        splits = max(splits, -(-blocks // max(1, _OWN_BYTES // block)))
    every = np.array([number for some in tap_indices for number in some], np.int64)
    return copied, cut, splits, phases, np.concatenate(taps), every, own


def grad_input_strided(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C / G, KH, KW), contiguous."""
    spread_images(g, planes_of(g.shape, dx.shape), weight, window, dx, groups)


def spread_images(g: Array, images: Images, weight: Array, window: Window, dx: Array, groups: int) -> None:
    """`grad_input_strided` for any `images` of g (N, O, ...), which become those of dx (N, C, ...).

    The weight of a group is that of all its channels for the first slice of the taps, then for the next: (KD * O, C / G, KH, KW).
    """
    channels, outputs, slices = g.shape[1] // groups, dx.shape[1] // groups, images.sources.shape[1]
    shape = (outputs, *dx.shape[-2:])
    copied, cut, splits, phases, taps, tap_indices, own = _plan(len(images.targets), images.alike, g.itemsize, channels, window,
                                                            shape, groups)
    packed, every = weight.reshape(-1), window.kh * window.kw
    block = rows_of(outputs)
    rows = len(block)
    if not own:
        padded = -(-outputs // rows) * rows
        packed = empty((groups * padded * slices * channels * tap_indices.size,), g.dtype)
        _pack_parallel(weight.reshape(-1), every, slices * channels, rows, outputs, phases, tap_indices, packed)
    _spread_bands(g.reshape(-1), images, copied, cut, phases, taps, tap_indices, packed, block, every if own else 0,
                  np.zeros(rows, g.dtype), channels, groups, splits, (window.sh, window.sw), shape, dx.reshape(-1))
