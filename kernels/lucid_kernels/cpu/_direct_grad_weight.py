"""Weight gradient of a convolution, directly: dot products of the gradient with `_row_copies`, sums in registers.

The gradient of the bias is one more tap, which meets a one everywhere: most blocks of taps have room for it.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np

from ._aligned import aligned_empty, whole_vectors
from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import DOT_ROWS, DOT_SUMS, DOT_TAPS, VECTOR_BYTES, copy_rows, dot_block
from ._pool import empty
from ._row_copies import Window, copies_of, extra_rows, fill_copies, least_period, tap_starts

# Bytes of copies, and of the rows of g beside them, in one pass: together they stay in a 1 MiB L2 cache.
_PASS_BYTES = 3 << 17
# Positions of a sum in registers: fewer, and adding up its lanes shows; more, and the rows leave the L1 cache.
_POSITIONS = 768
# Of smaller planes those of all samples of a channel may be put side by side: apart each has a last vector that is partly empty,
# and takes a quarter of a vector to begin. Putting an element there takes as long as this many products with it.
_SMALL_PLANE = 128
_COPY = 32
# Work is cut into at least this many tasks: chunks of channels, and where these are few, parts of the samples. The numbers
# are fixed, so results do not depend on the number of threads.
_TASKS = 8
# Bytes of all partial sums.
_PARTS_BYTES = 1 << 26
# Positions that a part of the samples has at least, and taps that a chunk has: with 8 positions each, 512 channels of 2x2 images
# took twice as long.
_PART, _LEAST_TAPS = 512, 8 * DOT_TAPS


@jit
def _sum_products(g, g_first, g_step, x, window, period, first_sample, last_sample, first_channel, channels, band, chunk, taps,
                  g_rows, rows_each, step, copies, sums):
    """Add to sums (blocks of g_rows, blocks of taps, DOT_SUMS) the products of the gradient with x.

    `g` is flat; from `g_first` on its samples are `g_step` elements apart and the rows of a sample start at `g_rows`.
    """
    width, height = window.out_width, window.out_height
    rows = band + (window.kh - 1) // period * (period * window.dh // window.sh)
    for n in range(first_sample, last_sample, chunk):
        samples = min(chunk, last_sample - n)
        for top in range(0, height, band):
            count = (min(height, top + band) - top) * width
            fill_copies(x, n, samples, first_channel, channels, window, period, top, rows, step, copies)
            g_start = g_first + n * g_step + top * width
            # Where neither side has anything between one sample and the next, they are one run.
            runs, length = (1, samples * count) if g_step == count and rows * width == count else (samples, count)
            for first in range(0, sums.shape[0], rows_each):
                for t in range(taps.shape[0]):
                    for b in range(first, min(sums.shape[0], first + rows_each)):
                        dot_block(g, g_start, g_rows[b], copies, 0, taps[t], runs, g_step, rows * width, length, sums[b, t])


@jit
def _deliver(sums, taps, chunk, first, dweight, dbias):
    """The sums (blocks of rows, blocks of taps, DOT_SUMS) of a chunk of `taps` taps go to dweight (O, C / G * KH * KW) and, from
    `first` on, to dbias unless that is empty.
    """
    outputs, length = dweight.shape
    source, target = sums.reshape(-1), dweight.reshape(-1)
    count = min(taps, length - chunk * taps)
    whole = count // DOT_TAPS
    for row in range(outputs):
        start = row // DOT_ROWS * sums.shape[1] * DOT_SUMS + row % DOT_ROWS * DOT_TAPS
        if chunk == 0 and dbias.shape[0] > 0:
            dbias[first + row] = source[start + taps // DOT_TAPS * DOT_SUMS + taps % DOT_TAPS]
        place = row * length + chunk * taps
        copy_rows(source, start, DOT_SUMS, target, place, DOT_TAPS, whole, DOT_TAPS)
        copy_rows(source, start + whole * DOT_SUMS, DOT_SUMS, target, place + whole * DOT_TAPS, DOT_TAPS, 1,
                  count - whole * DOT_TAPS)


@jit_parallel
def _sum_parts(g, g_group, g_step, x, groups, window, period, channels_each, chunks, band, chunk, taps, g_rows, rows_each, step,
               ones, dweight, dbias):
    """Fill dweight (parts, O, C / G * KH * KW), and dbias (parts, O) unless that is empty, each part from some of the samples.

    A task has a chunk of channels of a group; its sums stay in the cache until they are delivered.

    Groups of g are `g_group` apart. Behind the copies are `ones` ones, for the tap of the bias.
    """
    samples, channels = x.shape[0], x.shape[1] // groups
    each, outputs = (samples + dweight.shape[0] - 1) // dweight.shape[0], dweight.shape[1] // groups
    for task in numba.prange(dweight.shape[0] * groups * chunks):
        part, place = task // (groups * chunks), task % (groups * chunks)
        group, first = place // chunks, place % chunks * channels_each
        size = channels_each * window.kw * period * step
        copies = aligned_empty(size + ones, x)
        copies[size:] = 1
        sums = np.zeros((g_rows.shape[0], taps.shape[0], DOT_SUMS), x.dtype)
        _sum_products(g, group * g_group, g_step, x, window, period, part * each, min(samples, (part + 1) * each),
                      group * channels + first, min(channels_each, channels - first), band, chunk, taps, g_rows, rows_each,
                      step, copies, sums)
        _deliver(sums, channels_each * window.kh * window.kw, place % chunks, group * outputs,
                 dweight[part, group * outputs : (group + 1) * outputs], dbias[part])


def _blocks(starts: Array, size: int) -> Array:
    """`starts` in blocks of `size`; the last one repeats the last start."""
    count = -(-starts.size // size)
    return starts[np.minimum(np.arange(count * size), starts.size - 1)].reshape(count, size)


class _Plan(NamedTuple):
    """What `_sum_parts` needs to know, and the shapes of its sums."""

    side_by_side: bool
    g_group: int
    g_step: int
    period: int
    channels_each: int
    band: int
    chunk: int
    taps: Array
    g_rows: Array
    rows_each: int
    step: int
    ones: int
    parts: int
    chunks: int


@functools.lru_cache(maxsize=256)
def _plan(samples: int, itemsize: int, channels: int, window: Window, out_channels: int, groups: int, bias: bool) -> _Plan:
    """For `channels` channels and `out_channels` results in a group. Kept: it takes 15 us, as long as a small convolution."""
    height, width = window.out_height, window.out_width
    positions = height * width
    lanes = VECTOR_BYTES // itemsize
    surplus = (-(-positions // lanes) + 0.25) * lanes / positions - 1
    side_by_side = positions < _SMALL_PLANE and channels * window.kh * window.kw * surplus > _COPY
    if side_by_side:
        row, g_step, period, band = samples * positions, positions, window.kh, height
    else:
        row, g_step, period = positions, groups * out_channels * positions, least_period(window)
        band = min(height, max(1, -(-_POSITIONS // width)))
        band = -(-height // -(-height // band))
    rows = band + extra_rows(window, period)
    chunk = 1 if band < height else max(1, min(samples, _POSITIONS // positions))
    channel_bytes = chunk * copies_of(itemsize, window, period, rows)
    chunks = -(-channels // max(1, min(channels, _PASS_BYTES // channel_bytes)))
    weight_bytes = groups * out_channels * channels * window.kh * window.kw * itemsize
    parts = max(1, min(-(-_TASKS // (groups * chunks)), samples, _PARTS_BYTES // weight_bytes, samples * positions // _PART))
    wanted = min(-(-_TASKS // (groups * parts)), channels * window.kh * window.kw // _LEAST_TAPS)
    channels_each = -(-channels // max(chunks, wanted))
    chunks = -(-channels // channels_each)
    chunk = min(chunk, -(-samples // parts))
    step = whole_vectors(chunk * rows * width, itemsize)
    starts = tap_starts(channels_each, window, period, step)
    if bias:
        starts = np.append(starts, channels_each * window.kw * period * step)
    taps = _blocks(starts, DOT_TAPS)
    g_rows = _blocks(np.arange(out_channels) * row, DOT_ROWS)
    rows_each = max(1, _PASS_BYTES // (DOT_ROWS * chunk * band * width * itemsize))
    rows_each = -(-len(g_rows) // -(-len(g_rows) // rows_each))
    return _Plan(side_by_side, out_channels * row, g_step, period, channels_each, band, chunk, taps, g_rows, rows_each, step,
                 step if bias else 0, parts, chunks)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1, dbias: Array | None = None) -> None:
    """Fill dweight (O, C / G, KH, KW) and dbias (O,) from g (N, O, OH, OW) and x (N, C, H, W)."""
    out_channels = g.shape[1] // groups
    plan = _plan(x.shape[0], x.itemsize, dweight.shape[1], window, out_channels, groups, dbias is not None)
    if plan.side_by_side:
        g = np.ascontiguousarray(g.transpose(1, 0, 2, 3))
    rows = dweight.reshape(1, groups * out_channels, -1)
    biases = rows[:, :0, 0] if dbias is None else dbias.reshape(1, -1)
    parts, bias_parts = rows, biases
    if plan.parts > 1:
        parts, bias_parts = (empty((plan.parts, *whole.shape[1:]), x.dtype) for whole in (rows, biases))
    _sum_parts(
        g.reshape(-1), plan.g_group, plan.g_step, x, groups, window, plan.period, plan.channels_each, plan.chunks, plan.band,
        plan.chunk, plan.taps, plan.g_rows, plan.rows_each, plan.step, plan.ones, parts, bias_parts,
    )
    if plan.parts > 1:
        parts.sum(0, out=rows[0])
        bias_parts.sum(0, out=biases[0])
