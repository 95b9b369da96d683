"""Weight gradient of a convolution as a product of matrices: of the gradient, and of what the taps meet at each position.

The register blocks are those of the forward pass, with positions for taps and taps for positions: no sum is spread over the lanes
of a register, which `grad_weight` adds up for every block. They read images with the channels last, as Winograd's
transforms do: what neighbouring columns of taps meet are neighbours in memory, a *run*, and each pixel is transposed once only.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np

from lucid_kernels.integers import round_up

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime import tuning
from ...runtime.implementations import unmet
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned_empty
from ...simd.cpu_features import VECTOR_BYTES
from ..channels_last import LANES, fill_band, offsets_of, scatter_band
from ..problem import Problem
from .copy_microkernels import pack_block
from .microkernels import ROWS, VECTORS, multiply_block, multiply_narrow
from .packed_weight import first_row

# Positions that a sum in registers runs over at most: what they meet, 192 bytes each, stays in the L1 or L2 cache.
_POSITIONS = 192
# Bytes of an image with the channels last, and of the sums of a task, in a 1 MiB L2 cache.
_IMAGE_BYTES, _SUMS_BYTES = 1 << 18, 1 << 19
# Work is cut into this many tasks at least.
_TASKS = 8
# Products that take as long as transposing an element.
_TRANSPOSED = 32

_BLOCK = VECTORS * VECTOR_BYTES // 4


class _Plan(NamedTuple):
    """Chunks of `channels` channels and `splits` parts of the outputs make tasks; `samples` images, or `band` rows of one, at a
    time.

    An image has `lines` lines of `columns` pixels; `pixels` says where its pixels lie, `starts` where the positions of a band
    meet the first tap. Run r, of `length` elements, begins `runs[r]` behind that, and its sums at r * `run_pitch`; `taps` says
    where the sums of a tap begin.
    """

    channels: int
    splits: int
    samples: int
    band: int
    lines: int
    columns: int
    pixels: Array
    starts: Array
    length: int
    runs: Array
    run_pitch: int
    taps: Array


@jit
def _add_products(rows, first, starts, scales, total, blocks, plan, zeros, accumulate, sums):
    """Add to the sums what `total` positions meet, for `blocks` blocks of results."""
    pitch = plan.runs.shape[0] * plan.run_pitch
    for r in range(plan.runs.shape[0]):
        for j in range(0, plan.length, _BLOCK):
            source = first + plan.runs[r] + j
            for b in range(blocks):
                part, place = b * total * ROWS, b * ROWS * pitch + r * plan.run_pitch + j
                if plan.length - j <= LANES:
                    multiply_narrow(rows, source, starts, scales, part, 1, ROWS, zeros, 0, sums, place, pitch, accumulate)
                else:
                    multiply_block(rows, source, starts, scales, part, 1, ROWS, zeros, 0, sums, place, pitch, accumulate)


@jit_parallel
def _multiply(g, x, window, chunks, plan, dweight):
    """Fill dweight (O, C * KH * KW) from flat g (N, O, P) and x (N, C, 1, H, W)."""
    outputs, length = dweight.shape
    channels, each, all_blocks = x.shape[1], window.kh * window.kw, (outputs + ROWS - 1) // ROWS
    width, height, plane = window.out_width, window.out_height, window.out_height * window.out_width
    for task in numba.prange(chunks * plan.splits):
        first, split = task // plan.splits * plan.channels, task % plan.splits
        first_block, last_block = split * all_blocks // plan.splits, (split + 1) * all_blocks // plan.splits
        some, blocks = min(plan.channels, channels - first), last_block - first_block
        pixel = (plan.channels + LANES - 1) // LANES * LANES
        line = plan.columns * pixel
        size = plan.lines * line + pixel
        rows = aligned_empty(plan.samples * size + _BLOCK, x)
        rows[:] = 0
        scales = aligned_empty(blocks * plan.starts.shape[0] * ROWS, x)
        pitch = plan.runs.shape[0] * plan.run_pitch
        sums = aligned_empty(blocks * ROWS * pitch + _BLOCK, x)
        zeros = np.zeros(ROWS, x.dtype)
        for n in range(0, x.shape[0], plan.samples):
            samples = min(plan.samples, x.shape[0] - n)
            for i in range(samples):
                fill_band(x, n + i, 0, first, some, -window.ph, plan.lines, line, plan.pixels, rows[i * size : (i + 1) * size])
            for top in range(0, height, plan.band):
                count = (min(height, top + plan.band) - top) * width
                total = samples * count
                for b in range(blocks):
                    for i in range(samples):
                        start = ((n + i) * outputs + first_row(first_block + b, outputs)) * plane + top * width
                        pack_block(g, start, plane, scales, (b * total + i * count) * ROWS, count)
                _add_products(rows, top * window.sh * line, plan.starts[:total], scales, total, blocks, plan, zeros, n + top > 0,
                              sums)
        target = dweight.reshape(-1)
        for row in range(blocks * ROWS):
            output = first_row(first_block + row // ROWS, outputs) + row % ROWS
            scatter_band(sums[row * pitch :], plan.taps, some, each, target, output * length + first * each, each)


def _cut(channels: int, pixels: int, outputs: int, positions: int, kh: int, kw: int, joined: bool) -> tuple[int, int]:
    """The channels of a chunk and the parts of the outputs: each chunk transposes the gradient, each part the pixels."""
    blocks = -(-outputs // ROWS)
    best = None
    for some in range(LANES, max(LANES, min(round_up(channels, LANES), _IMAGE_BYTES // (4 * pixels))) + 1, LANES):
        chunks, length = -(-channels // some), kw * some if joined else some
        splits = min(blocks, max(-(-_TASKS // chunks), -(-outputs * kh * kw * some * 4 // _SUMS_BYTES)))
        rest = length % _BLOCK
        computed = chunks * kh * (1 if joined else kw) * (length - rest + (LANES if rest <= LANES else _BLOCK) * (rest > 0))
        time = positions * outputs * (computed + _TRANSPOSED * chunks) + _TRANSPOSED * splits * chunks * some * pixels
        if best is None or time < best[0]:
            best = time, some, splits
    assert best is not None
    return best[1:]


@functools.lru_cache(maxsize=256)
def _plan(samples: int, channels: int, width: int, window: Window, outputs: int) -> tuple[int, _Plan]:
    """The number of chunks, and how they are computed. Kept: it takes as long as a small convolution."""
    kh, kw, sh, sw, _, pw, dh, dw, out_height, out_width = window
    lines, columns = (out_height - 1) * sh + (kh - 1) * dh + 1, (out_width - 1) * sw + (kw - 1) * dw + 1
    joined = dw == 1 or kw == 1
    some, splits = _cut(channels, lines * columns, outputs, out_height * out_width, kh, kw, joined)
    positions = out_height * out_width
    together = max(1, min(samples, _POSITIONS // positions, _IMAGE_BYTES // (4 * lines * columns * some)))
    together = -(-samples // -(-samples // together))
    band = max(1, min(out_height, _POSITIONS // out_width))
    band = -(-out_height // -(-out_height // band))
    row, column = np.arange(band).reshape(-1, 1) * (sh * columns), np.arange(out_width) * sw
    images = np.arange(together).reshape(-1, 1) * ((lines * columns + 1) * some)
    starts = (images + (row + column).reshape(-1) * some).reshape(-1)
    length = kw * some if joined else some
    a, b = np.indices((kh, 1 if joined else kw))
    runs = ((a * dh * columns + b * dw) * some).reshape(-1)
    run_pitch = -(-length // _BLOCK) * _BLOCK
    a, b = np.indices((kh, kw))
    taps = a * run_pitch + b * some if joined else (a * kw + b) * run_pitch
    pixels, taps = offsets_of(lines, width, columns, pw, some), np.append(taps.reshape(-1), np.zeros(LANES, np.int64))
    plan = _Plan(some, splits, together, band, lines, columns, pixels, starts, length, runs, run_pitch, taps)
    return -(-channels // some), plan


def why_not(problem: Problem) -> str | None:
    channels, outputs = tuning.OUTER_GRAD_WEIGHT_LEAST_CHANNELS, tuning.OUTER_GRAD_WEIGHT_LEAST_OUTPUTS
    positions = tuning.OUTER_GRAD_WEIGHT_MOST_POSITIONS
    return unmet(
        (problem.groups == 1, "groups"),
        (problem.itemsize == 4, "not float32"),
        (problem.channels >= channels, f"fewer than {channels} channels"),
        (problem.outputs >= outputs, f"fewer than {outputs} outputs"),
        (problem.positions <= positions, f"more than {positions} positions"),
        (problem.is_large, "small"),
    )


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1) -> None:
    """Fill dweight (O, C, KH, KW) from g (N, O, OH, OW) and x (N, C, H, W)."""
    rows = dweight.reshape(len(dweight), -1)
    chunks, plan = _plan(len(x), x.shape[1], x.shape[3], window, len(rows))
    _multiply(g.reshape(-1), x[:, :, np.newaxis], window, chunks, plan, rows)
