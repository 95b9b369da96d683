"""Direct convolution with few results in a group: all of them at more positions at a time than `forward` has.

The blocks of `forward` have ROWS results. Where a group has fewer, as the input gradient of an image's first layer and the groups
of a ResNeXt have, rows of zeros took up to three quarters of the time, and a matrix of columns three times as long as those.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from ...arrays.layout import Array, contiguous
from ...arrays.window import Window
from ...runtime.implementations import unmet
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned_empty, whole_vectors
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.pointer import pointer
from ..im2row import copies_of, extra_rows, least_period, tap_starts
from ..image_batch import Images, deliver, fill_images, meets
from ..problem import Problem
from .microkernels import VECTORS_OF, is_few, multiply_rows, multiply_rows_narrow, rows_of
from .parts import by_input, grad_input_of_one_tap, gradient_parts, gradient_why_not, parts

# Steps of a sum of a block, whose pixels are read from the L1 cache for the next row of taps.
_STEPS = 64
# Bytes of copies that a task works with at a time, in a 1 MiB L2 cache.
_COPIES_BYTES = 1 << 18
# Work is cut into this many tasks at least.
_TASKS = 8


class _Cut(NamedTuple):
    """A task is `samples` images, or `band` output rows of one, with `channels` channels at a time; without `copies` the pixels
    are read where they lie.
    """

    period: int
    samples: int
    band: int
    channels: int
    copies: bool


def why_not(problem: Problem) -> str | None:
    return unmet((is_few(problem.outputs_of_group, problem.vector_bytes), "many outputs of a group"))


def grad_input_why_not(problem: Problem) -> str | None:
    few = is_few(problem.channels // problem.groups, problem.vector_bytes)
    return gradient_why_not(problem) or unmet((few, "many channels of a group"))


@jit
def _convolve_band(x, images, window, cut, n, samples, top, bottom, rows, step, taps, weight, bias, block, group, copies, y):
    """Output rows top..bottom of some images, the results of a group; x, y and the weight are flat. The `block` is `rows_of`."""
    results, each, slices = len(block), window.kh * window.kw, images.sources.shape[1]
    depth = weight.shape[0] // bias.shape[0]
    channels = depth // (slices * each)
    lanes = VECTOR_BYTES // x.itemsize
    width = VECTORS_OF[results] * lanes
    count = (bottom - top) * window.out_width
    total = samples * count
    line, goal = group * results, group * results * images.target_pitch + top * window.out_width
    direct = samples == 1 and total >= width and slices * channels <= cut.channels
    padded = (total + width - 1) // width * width
    sums = copies[:0] if direct else np.empty(results * padded, x.dtype)
    target, start, pitch = (y, images.targets[n] + goal, images.target_pitch) if direct else (sums, 0, padded)
    pixels = copies if cut.copies else carray(pointer(x, x.ctypes.data), x.shape)
    added = False
    for s in range(slices):
        if not meets(images, n, samples, s) and (added or s < slices - 1):
            continue
        for first in range(0, channels, cut.channels):
            last = min(channels, first + cut.channels)
            source = images.sources[n, s] + (group * channels + first) * images.source_pitch + top * images.width
            if cut.copies:
                source = 0
                fill_images(x, images, n, samples, s, group * channels + first, last - first, window, cut.period, top, rows,
                            step, copies)
            tap = taps[: (last - first) * each]
            part = line * depth + (s * channels + first) * each
            position = 0
            while position < total:
                narrow = total - position <= width // 3
                size = lanes if narrow else width
                j = min(position, total - size) if direct else position  # the last one computes some sums again
                if narrow:
                    multiply_rows_narrow(block, pixels, source + j, tap, weight, part, depth, 1, bias, line, target, start + j,
                                         pitch, added)
                else:
                    multiply_rows(block, pixels, source + j, tap, weight, part, depth, 1, bias, line, target, start + j, pitch,
                                  added)
                position += size
            added = True
    if not direct:
        for i in range(samples):
            deliver(sums, i * count, padded, y, images.targets[n + i] + goal, images.target_pitch, results, count)


@jit_parallel
def _convolve_bands(x, images, window, cut, rows, step, taps, weight, bias, block, groups, y):
    height, samples = window.out_height, images.targets.shape[0]
    bands = (height + cut.band - 1) // cut.band
    for task in numba.prange((samples + cut.samples - 1) // cut.samples * bands * groups):
        group, place = task % groups, task // groups
        n, top = place // bands * cut.samples, place % bands * cut.band
        width = VECTORS_OF[len(block)] * (VECTOR_BYTES // x.itemsize)
        copies = aligned_empty((cut.channels * window.kw * cut.period * step if cut.copies else 0) + width, x)
        copies[copies.shape[0] - width :] = 0  # the last block reads on for up to a block of positions
        _convolve_band(x, images, window, cut, n, min(cut.samples, samples - n), top, min(height, top + cut.band), rows, step,
                       taps, weight, bias, block, group, copies, y)


def _cut(samples: int, slices: int, itemsize: int, channels: int, window: Window, results: int, groups: int, pitch: int) -> _Cut:
    """The tasks for some images with `channels` channels in a group, whose planes lie `pitch` elements apart."""
    height, positions = window.out_height, window.out_height * window.out_width
    block = VECTORS_OF[results] * VECTOR_BYTES // itemsize
    least = min(-(-_TASKS // (samples * groups)), max(1, positions // (2 * block)))
    if window[:6] == (1, 1, 1, 1, 0, 0) and slices == 1 and block <= positions == pitch:
        band = -(-height // least)
        last = (height - 1) % band + 1
        return _Cut(1, 1, band if last * window.out_width >= block else height, channels, False)
    parts = -(-channels * window.kh * window.kw // _STEPS)
    each = -(-channels // parts)
    if positions < block and samples > 1:  # together they fill blocks better; each tap has its own copy then
        fitting = _COPIES_BYTES // (each * copies_of(itemsize, window, window.kh, height))
        return _Cut(window.kh, max(1, min(samples, fitting, -(-4 * block // positions))), height, each, True)
    period = least_period(window)
    if 2 * extra_rows(window, period) * each * copies_of(itemsize, window, period, 1) > _COPIES_BYTES:
        period = window.kh  # a band would copy more rows for taps further down than of its own
    fitting = max(1, _COPIES_BYTES // (each * copies_of(itemsize, window, period, 1)) - extra_rows(window, period))
    return _Cut(period, 1, -(-height // max(least, -(-height // fitting))), each, True)


@functools.lru_cache(maxsize=256)
def _plan_of(samples: int, slices: int, itemsize: int, channels: int, window: Window, results: int, groups: int, pitch: int,
             turned: bool) -> tuple[_Cut, int, int, Array]:
    """The cut, the rows of copies of a band, what they are apart, and where the taps start."""
    cut = _cut(samples, slices, itemsize, channels, window, results, groups, pitch)
    rows = cut.band + extra_rows(window, cut.period)
    step = whole_vectors(cut.samples * rows * window.out_width, itemsize)
    taps = tap_starts(cut.channels, window, cut.period, step if cut.copies else pitch)
    if turned:
        taps = np.ascontiguousarray(taps.reshape(cut.channels, -1)[:, ::-1]).reshape(-1)
    return cut, rows, step, taps


def convolve_images(x: Array, images: Images, weight: Array, bias: Array, window: Window, y: Array, groups: int, turned: bool
                    ) -> None:
    """Fill y (N, O, ...) from the `images` of x (N, C, ...), weight (O, K), contiguous, and bias (O,); `turned` where the
    weight's taps go from the last to the first.
    """
    results = len(weight) // groups
    cut, rows, step, taps = _plan_of(*images.sources.shape, x.itemsize, x.shape[1] // groups, window, results, groups,
                                     images.source_pitch, turned)
    _convolve_bands(x.reshape(-1), images, window, cut, rows, step, taps, weight.reshape(-1), bias, rows_of(results), groups,
                    y.reshape(-1))


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C / G, KH, KW), of any strides, and bias (O,)."""
    for source, images, taps, single, target in parts(x, weight, window, y):
        convolve_images(source, images, contiguous(taps), bias, single, target, groups, False)


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C / G, KH, KW)."""
    if window[:2] == (1, 1):
        grad_input_of_one_tap(convolve, g, weight, window, dx, groups)
        return
    none = np.zeros(dx.shape[1], g.dtype)
    for source, images, taps, turned, target in gradient_parts(g, weight, window, dx):
        convolve_images(source, images, contiguous(by_input(taps, groups)), none, turned, target, groups, True)
