"""Weight gradient of a convolution, directly: dot products of the gradient with `_row_copies`, sums in registers."""
from __future__ import annotations

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import Array
from ._microkernels import DOT_ROWS, DOT_SUMS, DOT_TAPS, dot_block
from ._row_copies import Window, copies_of, enough_work, extra_rows, fill_copies, least_period, tap_starts

# Bytes of copies, and of the rows of g beside them, in one pass: together they stay in a 1 MiB L2 cache.
_PASS_BYTES = 3 << 17
# Positions of a sum in registers: fewer, and adding up its lanes shows; more, and the rows leave the L1 cache.
_POSITIONS = 768
# Smaller planes are put side by side, those of all samples of a channel.
_SMALL_PLANE = 128
# Work is cut into at least this many tasks: chunks of channels, and where these are few, parts of the samples. The numbers
# are fixed, so results do not depend on the number of threads.
_TASKS = 8
# Bytes of all partial sums.
_PARTS_BYTES = 1 << 26


def suits_grad_weight(x: Array, window: Window, groups: int, out_channels: int) -> bool:
    """Whether to call `grad_weight`: enough work."""
    return groups == 1 and enough_work(x, window, out_channels)


@jit
def _sum_products(g, g_step, x, window, period, first_sample, last_sample, first_channel, channels, band, chunk, taps, g_rows,
                  rows_each, copies, sums):
    """Add to sums (blocks of g_rows, blocks of taps, DOT_SUMS) the products of the gradient with x.

    `g` is flat; its samples are `g_step` elements apart and the rows of a sample start at `g_rows`.
    """
    width, height = window.out_width, window.out_height
    rows = band + (window.kh - 1) // period * (period * window.dh // window.sh)
    step = chunk * rows * width
    for n in range(first_sample, last_sample, chunk):
        samples = min(chunk, last_sample - n)
        for top in range(0, height, band):
            count = (min(height, top + band) - top) * width
            fill_copies(x, n, samples, first_channel, channels, window, period, top, rows, step, copies)
            g_start = n * g_step + top * width
            # Where neither side has anything between one sample and the next, they are one run.
            runs, length = (1, samples * count) if g_step == count and rows * width == count else (samples, count)
            for first in range(0, sums.shape[0], rows_each):
                for t in range(taps.shape[0]):
                    for b in range(first, min(sums.shape[0], first + rows_each)):
                        dot_block(g, g_start, g_rows[b], copies, 0, taps[t], runs, g_step, rows * width, length, sums[b, t])


@jit_parallel
def _sum_parts(g, g_step, x, window, period, channels_each, band, chunk, taps, g_rows, rows_each, step, parts):
    """parts is (parts, chunks of channels, blocks of g_rows, blocks of taps, DOT_SUMS)."""
    samples, channels = x.shape[:2]
    each = (samples + parts.shape[0] - 1) // parts.shape[0]
    for task in numba.prange(parts.shape[0] * parts.shape[1]):
        part, group = task // parts.shape[1], task % parts.shape[1]
        first = group * channels_each
        copies = np.empty(channels_each * window.kw * period * step, x.dtype)
        _sum_products(g, g_step, x, window, period, part * each, min(samples, (part + 1) * each), first,
                      min(channels_each, channels - first), band, chunk, taps, g_rows, rows_each, copies, parts[part, group])


def _blocks(starts: Array, size: int) -> Array:
    """`starts` in blocks of `size`; the last one repeats the last start."""
    count = -(-starts.size // size)
    return starts[np.minimum(np.arange(count * size), starts.size - 1)].reshape(count, size)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array) -> None:
    """Fill dweight (O, C, KH, KW) from g (N, O, OH, OW) and x (N, C, H, W)."""
    samples, channels = x.shape[:2]
    out_channels, height, width = g.shape[1:]
    positions = height * width
    if positions < _SMALL_PLANE:
        # All samples side by side: the last vector of each plane would be half empty.
        g = np.ascontiguousarray(g.transpose(1, 0, 2, 3))
        g_step, g_rows, period, band = positions, np.arange(out_channels) * (samples * positions), window.kh, height
    else:
        g_step, g_rows, period = out_channels * positions, np.arange(out_channels) * positions, least_period(window)
        band = min(height, max(1, -(-_POSITIONS // width)))
        band = -(-height // -(-height // band))
    rows = band + extra_rows(window, period)
    chunk = 1 if band < height else max(1, min(samples, _POSITIONS // positions))
    channel_bytes = chunk * copies_of(x, window, period, rows)
    groups = -(-channels // max(1, min(channels, _PASS_BYTES // channel_bytes)))
    channels_each = -(-channels // groups)
    parts = max(1, min(-(-_TASKS // groups), samples, _PARTS_BYTES // dweight.nbytes))
    chunk = min(chunk, -(-samples // parts))
    step = chunk * rows * width
    taps = tap_starts(channels_each, window, period, step)
    row_blocks, tap_blocks = _blocks(g_rows, DOT_ROWS), _blocks(taps, DOT_TAPS)
    rows_each = max(1, _PASS_BYTES // (DOT_ROWS * chunk * band * width * x.itemsize))
    rows_each = -(-len(row_blocks) // -(-len(row_blocks) // rows_each))
    sums = np.zeros((parts, groups, len(row_blocks), len(tap_blocks), DOT_SUMS), x.dtype)
    _sum_parts(
        g.reshape(-1), g_step, x, window, period, channels_each, band, chunk, tap_blocks, row_blocks, rows_each, step, sums
    )
    whole = sums[0] if parts == 1 else sums.sum(0)
    whole = whole[..., : DOT_ROWS * DOT_TAPS].reshape(groups, len(row_blocks), len(tap_blocks), DOT_ROWS, DOT_TAPS)
    whole = whole.transpose(1, 3, 0, 2, 4)
    whole = whole.reshape(row_blocks.size, groups, tap_blocks.size)[:out_channels, :, : taps.size]
    dweight.reshape(out_channels, -1)[:] = whole.reshape(out_channels, -1)[:, : dweight[0].size]
