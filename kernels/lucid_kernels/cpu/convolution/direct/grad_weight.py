"""Weight gradient of a convolution, directly: dot products of the gradient with `im2row`, sums in registers.

The gradient of the bias is one more tap, which meets a one everywhere: most blocks of taps have room for it.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime.allocator import empty
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned_empty, whole_vectors
from ...simd.copy_rows import copy_rows
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.dot import DOT_ROWS, DOT_SUMS, DOT_TAPS, dot_block
from ..im2row import copies_of, extra_rows, least_period, tap_starts
from ..image_batch import Images, Sizes, fill_images, planes_of, slices_of
from ..volume import Slices

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
def _sum_products(g, g_first, g_step, x, images, batch, number, window, period, first_image, last_image, first_channel, channels,
                  band, chunk, taps, g_rows, rows_each, step, copies, sums):
    """Add to sums (blocks of g_rows, blocks of taps, DOT_SUMS) the products of the gradient with what slice `number` of the taps
    meets of x.

    `g` and `x` are flat; from `g_first` on images of g lie at their targets, `g_step` elements apart within a batch, and the rows
    of one start at `g_rows`.
    """
    width, height = window.out_width, window.out_height
    rows = band + (window.kh - 1) // period * (period * window.dh // window.sh)
    n = first_image
    while n < last_image:
        samples = min(chunk, last_image - n, batch - n % batch)
        n += samples
        if images.sources[n - samples, number] < 0:
            continue
        for top in range(0, height, band):
            count = (min(height, top + band) - top) * width
            fill_images(x, images, n - samples, samples, number, first_channel, channels, window, period, top, rows, step, copies)
            g_start = g_first + images.targets[n - samples] + top * width
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
def _sum_parts(g, g_group, g_step, x, images, batch, groups, window, period, channels, channels_each, chunks, band, chunk, taps,
               g_rows, rows_each, step, ones, dweight, dbias):
    """Fill dweight (KD, parts, O, C / G * KH * KW), and dbias (parts, O) unless that is empty, each part from some of the images.

    A task has a chunk of `channels` channels of a group and a slice of the taps; its sums stay in the cache until they are
    delivered.

    Groups of g are `g_group` apart. Behind the copies are `ones` ones, for the tap of the bias.
    """
    samples, slices, parts = images.targets.shape[0], dweight.shape[0], dweight.shape[1]
    each, outputs = (samples + parts - 1) // parts, dweight.shape[2] // groups
    for task in numba.prange(slices * parts * groups * chunks):
        number, rest = task // (parts * groups * chunks), task % (parts * groups * chunks)
        part, place = rest // (groups * chunks), rest % (groups * chunks)
        group, first = place // chunks, place % chunks * channels_each
        size = channels_each * window.kw * period * step
        copies = aligned_empty(size + ones, x)
        copies[size:] = 1
        sums = np.zeros((g_rows.shape[0], taps.shape[0], DOT_SUMS), x.dtype)
        _sum_products(g, group * g_group, g_step, x, images, batch, number, window, period, part * each,
                      min(samples, (part + 1) * each), group * channels + first, min(channels_each, channels - first), band,
                      chunk, taps, g_rows, rows_each, step, copies, sums)
        _deliver(sums, channels_each * window.kh * window.kw, place % chunks, group * outputs,
                 dweight[number, part, group * outputs : (group + 1) * outputs], dbias[part])


def _blocks(starts: Array, size: int) -> Array:
    """`starts` in blocks of `size`; the last one repeats the last start."""
    count = -(-starts.size // size)
    return starts[np.minimum(np.arange(count * size), starts.size - 1)].reshape(count, size)


def _alike(channels: int, chunks: int) -> int:
    """The channels of a chunk for so many chunks, or for a few more that are alike if the last one would be much smaller: three
    channels in chunks of two and one took 1.2 times as long as one by one, for 7x7 taps.
    """
    each = -(-channels // chunks)
    if 5 * (chunks * each - channels) <= channels:
        return each
    return next((channels // count for count in range(chunks, 3 * chunks // 2 + 1) if channels % count == 0), each)


class _Plan(NamedTuple):
    """What `_sum_parts` needs to know, the `order` of the axes of g in which samples lie side by side, if they shall, and the
    shape of its sums: slices of taps, parts of the images, results and other taps.
    """

    order: Sizes
    images: Images
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
    shape: tuple[int, int, int, int]
    chunks: int


@functools.lru_cache(maxsize=256)
def _plan(source: Sizes, target: Sizes, met: Slices | None, itemsize: int, window: Window, groups: int, bias: bool) -> _Plan:
    """For x and g of the shapes `source` and `target`: images, or volumes of which slices of g meet slices `met` of x.

    Kept: it takes 15 us, as long as a small convolution.
    """
    images = slices_of(source, target, met) if met else planes_of(source, target)
    depth, slices = (len(met[0]), target[2]) if met else (1, 1)
    channels, out_channels, batch, samples = source[1] // groups, target[1] // groups, source[0], images.targets.size
    height, width = window.out_height, window.out_width
    positions = height * width
    lanes = VECTOR_BYTES // itemsize
    surplus = (-(-positions // lanes) + 0.25) * lanes / positions - 1
    side_by_side = positions < _SMALL_PLANE and channels * window.kh * window.kw * surplus > _COPY
    order: Sizes = ()
    if side_by_side:
        row, g_step, period, band = samples * positions, positions, window.kh, height
        order = (1, 2, 0, 3, 4) if met else (1, 0, 2, 3)
        sample, place = np.divmod(images.targets, target[1] * slices * positions)
        images = images._replace(targets=(place // positions * batch + sample) * positions)
    else:
        row, g_step, period = slices * positions, groups * out_channels * slices * positions, least_period(window)
        band = min(height, max(1, -(-_POSITIONS // width)))
        band = -(-height // -(-height // band))
    rows = band + extra_rows(window, period)
    chunk = 1 if band < height else max(1, min(batch, _POSITIONS // positions))
    channel_bytes = chunk * copies_of(itemsize, window, period, rows)
    chunks = -(-channels // max(1, min(channels, _PASS_BYTES // channel_bytes)))
    weight_bytes = groups * out_channels * channels * window.kh * window.kw * itemsize
    tasks = depth * groups * chunks
    parts = -(-_TASKS // tasks)
    parts += parts * tasks % 2  # an even number of tasks: of nine alike, two threads take as long as for ten
    parts = max(1, min(parts, samples, _PARTS_BYTES // weight_bytes, samples * positions // _PART))
    wanted = min(-(-_TASKS // (depth * groups * parts)), channels * window.kh * window.kw // _LEAST_TAPS)
    channels_each = _alike(channels, max(chunks, wanted))
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
    return _Plan(order, images, out_channels * row, g_step, period, channels_each, band, chunk, taps, g_rows, rows_each, step,
                 step if bias else 0, (depth, parts, target[1], channels * window.kh * window.kw), chunks)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, dbias: Array | None = None, groups: int = 1,
                met: Slices | None = None) -> None:
    """Fill dweight (O, C / G, KH, KW) and dbias (O,) from g (N, O, OH, OW) and x (N, C, H, W).

    With `met`, dweight (O, C / G, KD, KH, KW), without a bias, from volumes: slices of g (N, O, OD, OH, OW) meet these of
    x (N, C, D, H, W).
    """
    plan = _plan(x.shape, g.shape, met, x.itemsize, window, groups, dbias is not None)
    if plan.order:
        g = np.ascontiguousarray(g.transpose(plan.order))
    rows, depth = dweight.reshape(1, len(dweight), -1), plan.shape[0]
    biases = np.empty((1, 0), x.dtype) if dbias is None else dbias.reshape(1, -1)
    parts, bias_parts, apart = rows[np.newaxis], biases, plan.shape[0] * plan.shape[1] > 1
    if apart:
        parts, bias_parts = empty(plan.shape, x.dtype), empty((plan.shape[1], biases.shape[1]), x.dtype)
    _sum_parts(
        g.reshape(-1), plan.g_group, plan.g_step, x.reshape(-1), plan.images, len(x), groups, window, plan.period,
        dweight.shape[1], plan.channels_each, plan.chunks, plan.band, plan.chunk, plan.taps, plan.g_rows, plan.rows_each,
        plan.step, plan.ones, parts, bias_parts,
    )
    if apart and dbias is not None:
        bias_parts.sum(0, out=dbias)
    if apart and depth == 1:
        parts.sum(1, out=rows)
    elif apart:
        dweight.transpose(2, 0, 1, 3, 4)[:] = parts.sum(1).reshape(depth, *dweight.shape[:2], *window[:2])
