"""Direct convolution: no matrix of columns, sums in registers.

The pixels are read from `im2row`, of a band of one image at a time, or of several small images, and of as many channels
as stay in the cache; a task is such a band. Against columns and GEMM: KH times fewer values copied, a launch less, and no
OpenBLAS threads, which spin on while the next Numba kernel wants their core.
"""
from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numba
import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime.jit import jit, jit_parallel
from ...runtime.threads import THREADS
from ...simd.aligned import aligned_empty, whole_vectors
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.dot import DOT_POSITIONS, RUN_SUMS, RUN_TAPS, dot_run
from ..im2row import copies_of, extra_rows, least_period, tap_starts
from ..image_batch import Images, deliver, fill_images, meets, split_run
from .microkernels import PRODUCTS, ROWS, VECTORS, multiply_block, multiply_narrow
from .packed_weight import Weight, first_row, turned_weight, weight_to_read
from .parts import grad_input_of_one_tap, gradient_parts, parts

# Products that a sum in registers should have at most: the pixels of a block, 128 bytes for each, stay in the L1 cache then.
_STEPS = 192
# Bytes of copies, of sums and of weights that a task works with at a time, in a 1 MiB L2 cache: it reads the copies once only.
_COPIES_BYTES = 1 << 19
_SUMS_BYTES = 1 << 19
_WEIGHT_BYTES = 1 << 18
# Work is cut into this many tasks at least.
_TASKS = 8
# Blocks of positions that a band has at least: of one row of 7 positions, nine tenths of a block are empty, and of one of 140 an
# eighth of all. Where that makes few tasks, they share the outputs: one image of 28x28 takes 0.8 to 0.95 of the time that it
# takes with 4 blocks.
_LEAST_BLOCKS = 12
# Products of a task, or one image: to begin one takes as long as some 2^13, and longer on several threads.
_TASK_PRODUCTS = 1 << 17
# Images with fewer positions may be taken several at a time: 7x7 positions fill two blocks of 32 to 77%, 8 such images 13 to 94%.
# Each tap has its own copy then: writing an element takes as long as so many products with it, more than groups of 16 save.
_SMALL_PLANE = 256
_COPY = 6
# Blocks of positions that a few images fill which meet the same slices of a volume.
ALIKE_BLOCKS = 2
# Products that take as long as copying an element, of small planes with a stride.
_COPIED = 20


# Bytes of the positions that are computed at once.
_BLOCK_BYTES = VECTORS * VECTOR_BYTES


class _Cut(NamedTuple):
    """How the work is cut: `samples` images, or `band` output rows of one, with `channels` channels and `blocks` blocks of
    outputs at a time. A task does that for `images` images, one after the other.
    """

    period: int
    samples: int
    images: int
    band: int
    channels: int
    blocks: int


@jit
def convolve_band(x, images, window, cut, n, samples, top, bottom, rows, step, taps, weight, first_block, last_block, group,
                  out_channels, copies, y):
    """Output rows top..bottom of some images, blocks first_block..last_block of the `out_channels` output channels of a group.

    x and y are flat (`Images`); `copies` is room for the copies.
    """
    each, slices, depth = window.kh * window.kw, images.sources.shape[1], weight.depth
    channels = depth // (slices * each)
    tap_step = 1 if weight.lies else ROWS
    plane = images.target_pitch
    lanes = VECTOR_BYTES // x.itemsize
    block = VECTORS * lanes
    count = (bottom - top) * window.out_width
    total = samples * count
    padded = (total + block - 1) // block * block
    place = group * out_channels * plane + top * window.out_width
    few = total % block if weight.lies and total > block and total % block <= DOT_POSITIONS else 0
    # Whole blocks are added up in y; planes a multiple of 4 KiB apart would compete for the same lines of the cache.
    apart = out_channels % ROWS == 0  # no two blocks of outputs have a row in common
    whole = (total - few) % block == 0 and apart and plane * x.itemsize % 4096 != 0
    direct = samples == 1 and total >= block and out_channels >= ROWS and (slices * channels <= cut.channels or whole)
    # Parts of sums are read again: not where a block of another task has the row.
    direct = direct and (apart or depth <= PRODUCTS or last_block - first_block == weight.blocks)
    # Others are kept here until they have seen all channels.
    sums = copies[:0] if direct else np.empty((last_block - first_block) * ROWS * padded, x.dtype)
    target, start, pitch = (y, images.targets[n] + place, plane) if direct else (sums, -first_block * ROWS * padded, padded)
    added = False
    for s in range(slices):
        if not meets(images, n, samples, s) and (added or s < slices - 1):
            continue
        for first in range(0, channels, cut.channels):
            last = min(channels, first + cut.channels)
            fill_images(x, images, n, samples, s, group * channels + first, last - first, window, cut.period, top, rows, step,
                        copies)
            tap = taps[: (last - first) * each]
            for some in range(first_block, last_block, cut.blocks):
                # The pixels of a block of positions stay in the L1 cache while the weights of these outputs stream by from L2.
                for position in range(0, total - few, block):
                    narrow = total - position <= lanes
                    # The last block computes some sums again.
                    j = min(position, total - (lanes if narrow else block)) if direct and few == 0 else position
                    for b in range(some, min(last_block, some + cut.blocks)):
                        row = first_row(b, out_channels)
                        line = group * out_channels + row if weight.lies else (group * weight.blocks + b) * ROWS
                        part = line * depth + (s * channels + first) * each * tap_step
                        goal = start + (row if direct else b * ROWS) * pitch + j
                        # Steps that are not constants take up to 1.08 times as long.
                        if narrow and weight.lies:
                            multiply_narrow(copies, j, tap, weight.taps, part, depth, 1, weight.bias, line, target, goal, pitch,
                                            added)
                        elif narrow:
                            multiply_narrow(copies, j, tap, weight.taps, part, 1, ROWS, weight.bias, line, target, goal, pitch,
                                            added)
                        elif weight.lies:
                            multiply_block(copies, j, tap, weight.taps, part, depth, 1, weight.bias, line, target, goal, pitch,
                                           added)
                        else:
                            multiply_block(copies, j, tap, weight.taps, part, 1, ROWS, weight.bias, line, target, goal, pitch,
                                           added)
                if few > 0:  # for each block in the loop above it made convolutions of 3 channels take up to twice as long
                    _multiply_last(copies, total - few, few, tap, weight, (s * channels + first) * each, some,
                                   min(last_block, some + cut.blocks), group, out_channels, direct, target,
                                   start + total - few, pitch, added)
            added = True
    if not direct:
        for i in range(samples):
            for b in range(first_block, last_block):
                there = images.targets[n + i] + place + first_row(b, out_channels) * plane
                deliver(sums, (b - first_block) * ROWS * padded + i * count, padded, y, there, plane, min(ROWS, out_channels),
                         count)


@jit
def _multiply_last(copies, position, count, taps, weight, first, first_block, last_block, group, out_channels, direct, out,
                   start, pitch, accumulate):
    """`multiply_block` for `count` positions of some blocks, by dot products of what the taps meet there with the rows of a
    weight that lies, from step `first` on.
    """
    depth = taps.shape[0]
    pixels, sums = np.empty(count * depth, copies.dtype), np.empty(RUN_SUMS, copies.dtype)
    rows = np.arange(RUN_TAPS) % ROWS * weight.depth
    for p in range(count):
        for k in range(depth):
            pixels[p * depth + k] = copies[taps[k] + position + p]
    for b in range(first_block, last_block):
        row = first_row(b, out_channels)
        line, target = group * out_channels + row, start + (row if direct else b * ROWS) * pitch
        for p in range(count):
            sums[:] = 0
            dot_run(pixels, p * depth, rows, weight.taps, line * weight.depth + first, rows, 1, 0, 0, depth, sums)
            for r in range(ROWS):
                there = target + r * pitch + p
                out[there] = sums[r] + (out[there] if accumulate else weight.bias[line + r])


@jit_parallel
def _convolve_bands(x, images, window, cut, rows, step, taps, weight, splits, groups, out_channels, y):
    height, samples = window.out_height, images.targets.shape[0]
    bands = (height + cut.band - 1) // cut.band
    for task in numba.prange((samples + cut.images - 1) // cut.images * bands * groups * splits):
        split, group, place = task % splits, task // splits % groups, task // (splits * groups)
        first, top = place // bands * cut.images, place % bands * cut.band
        block = VECTORS * (VECTOR_BYTES // x.itemsize)
        channels = weight.depth // (window.kh * window.kw * images.sources.shape[1])
        copies = aligned_empty(min(channels, cut.channels) * window.kw * cut.period * step + block, x)
        copies[copies.shape[0] - block :] = 0  # the last block reads on for up to a block of positions
        for n in range(first, min(samples, first + cut.images), cut.samples):
            convolve_band(x, images, window, cut, n, min(cut.samples, samples - n), top, min(height, top + cut.band), rows, step,
                          taps, weight, split * weight.blocks // splits, (split + 1) * weight.blocks // splits, group,
                          out_channels, copies, y)


def _cut(samples: int, alike: int, itemsize: int, channels: int, window: Window, out_channels: int, groups: int) -> _Cut:
    """The tasks for some images with `channels` channels and `out_channels` results in a group."""
    height, width = window.out_height, window.out_width
    block = _BLOCK_BYTES // itemsize
    positions = height * width
    parts = -(-channels * window.kh * window.kw // _STEPS)
    each = -(-channels // parts)
    blocks = max(1, _WEIGHT_BYTES // (each * window.kh * window.kw * ROWS * itemsize))
    if positions < _SMALL_PLANE and samples > 1:
        fitting = min(_SUMS_BYTES // (out_channels * positions * itemsize),
                      _COPIES_BYTES // (each * copies_of(itemsize, window, window.kh, height)))
        together = max(1, min(samples, fitting))
        if groups == 1:  # two tasks or four, unless a block has room for more images
            some = {max(1, min(fitting, max(-(-samples // tasks), -(-block // positions)))) for tasks in (2, 4)}
            together = min(sorted(some), key=lambda count: _cost(samples, count, positions, out_channels, block))
        together = split_run(together, samples, alike, -(-ALIKE_BLOCKS * block // positions))
        saved = -(-positions // block) / positions - -(-together * positions // block) / (together * positions)
        copied = window.kw * (window.kh - least_period(window))
        if saved * block * out_channels * window.kh * window.kw > _COPY * copied:
            return _Cut(window.kh, together, together, height, each, blocks)
    period = least_period(window)
    if 2 * extra_rows(window, period) * each * copies_of(itemsize, window, period, 1) > _COPIES_BYTES:
        period = window.kh  # a band would copy more rows for taps further down than of its own
    extra, row = extra_rows(window, period), copies_of(itemsize, window, period, 1)
    least = min(-(-_TASKS // (samples * groups)), max(1, positions // (_LEAST_BLOCKS * block)))
    fitting = max(1, _COPIES_BYTES // (each * row) - extra)
    band = whole_blocks(-(-height // max(least, -(-height // fitting))), height, width, block, _shares(samples * groups))
    products = channels * window.kh * window.kw * out_channels * band * width
    images = max(1, min(_TASK_PRODUCTS // max(1, products), samples // _TASKS))
    return _Cut(period, 1, images, band, each, blocks)


def _shares(images: int) -> int:
    """The shares that bands of so many images make: those of a single one are the tasks of two threads, or of twice as many. One
    of 3 channels of 224x224 takes 0.94 of the time with eight bands that are alike.
    """
    return 2 if images == 1 else 1


def _cost(samples: int, together: int, positions: int, out_channels: int, block: int) -> float:
    """Products for each pixel of a copy, with `together` images at a time: those of whole vectors, and what copying takes."""
    count, lanes = together * positions, block // VECTORS
    products = out_channels * -(-count // lanes) * lanes / count
    return products + _COPIED * splits_of(-(-samples // together), out_channels)


def splits_of(tasks: int, out_channels: int) -> int:
    """The parts of the outputs for each of `tasks` with which a few threads have enough to do, for what changes results, which
    do not depend on the number of threads.
    """
    return min(-(-out_channels // ROWS), -(-_TASKS // (2 * tasks)))


def _parts(tasks: int, out_channels: int, threads: int) -> int:
    """The parts of the outputs for each of `tasks`: each copies the pixels again, so no more than it takes for a multiple of the
    threads, or a quarter of _TASKS for each of them: on two threads one image with strides of 2 takes 0.92 to 1.0 of the time
    with two parts that it takes with four.
    """
    most = min(-(-out_channels // ROWS), -(-_TASKS * threads // (4 * tasks)))
    return next((parts for parts in range(1, most) if tasks * parts % threads == 0), most)


@functools.lru_cache(maxsize=256)
def plan_of(
    samples: int, alike: int, itemsize: int, channels: int, window: Window, out_channels: int, groups: int, turned: bool,
    threads: int,
) -> tuple[_Cut, int, int, Array, int]:
    """The cut, the rows of copies of a band, what they are apart, where the taps start and the parts of the outputs.

    Kept: it takes 10 us, as long as a small convolution.
    """
    cut = _cut(samples, alike, itemsize, channels, window, out_channels, groups)
    rows = cut.band + extra_rows(window, cut.period)
    step = whole_vectors(cut.samples * rows * window.out_width, itemsize)
    tasks = -(-samples // cut.images) * -(-window.out_height // cut.band) * groups
    splits = _parts(tasks, out_channels, threads)
    taps = tap_starts(cut.channels, window, cut.period, step)
    if turned:
        taps = np.ascontiguousarray(taps.reshape(cut.channels, -1)[:, ::-1]).reshape(-1)
    return cut, rows, step, taps, splits


def whole_blocks(band: int, height: int, width: int, block: int, shares: int = 1) -> int:
    """Rows of a band for `height` rows: about `band`, up to a quarter more or less, so that all bands make the fewest blocks; in
    the largest of `shares` shares of the bands, which are tasks in order. A single band stays one: its tasks share the outputs.
    """
    shares = shares if band < height else 1
    rows = block // math.gcd(block, width)  # make whole blocks

    def blocks_and_bands(band: int) -> tuple[int, int]:
        blocks = [-(-min(band, height - top) * width // block) for top in range(0, height, band)]
        each = -(-len(blocks) // shares)
        return max(sum(blocks[first : first + each]) for first in range(0, len(blocks), each)), len(blocks)

    bands = -(-height // band)
    wanted = [band, -(-height // (bands + -bands % shares)), band // rows * rows, min(height, -(-band // rows) * rows)]
    return min((rows for rows in wanted if 3 * band <= 4 * rows <= 5 * band), key=blocks_and_bands)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C / G, KH, KW), of any strides, and bias (O,)."""
    positions = len(x) * window.out_height * window.out_width
    for source, images, taps, single, target in parts(x, weight, window, y):
        convolve_images(source, images, weight_to_read(taps, bias, groups, positions), single, target, groups, False)


def convolve_images(x: Array, images: Images, weight: Weight, window: Window, y: Array, groups: int, turned: bool) -> None:
    """Fill y (N, O, ...) from the `images` of x (N, C, ...); `turned` where the weight's taps go from the last to the first."""
    channels, out_channels = x.shape[1] // groups, y.shape[1] // groups
    cut, rows, step, taps, splits = plan_of(len(images.targets), images.alike, x.itemsize, channels, window,
                                             out_channels, groups, turned, THREADS.value)
    _convolve_bands(x.reshape(-1), images, window, cut, rows, step, taps, weight, splits, groups, out_channels, y.reshape(-1))


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C / G, KH, KW)."""
    if window[:2] == (1, 1):
        grad_input_of_one_tap(convolve, g, weight, window, dx, groups)
        return
    for source, images, taps, turned, target in gradient_parts(g, weight, window, dx):
        convolve_images(source, images, turned_weight(taps, groups), turned, target, groups, True)
