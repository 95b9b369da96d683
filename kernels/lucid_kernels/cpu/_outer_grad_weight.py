"""Weight gradient of a convolution as a product of matrices: of the gradient, and of what the taps meet at each position.

The register blocks are those of the forward pass, with positions for taps and taps for positions: no sum is spread over the lanes
of a register, which `_direct_grad_weight` adds up for every block.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numba
import numpy as np

from ._aligned import aligned_empty, whole_vectors
from ._channels_last import LANES, gather_band
from ._compile import jit_parallel
from ._copy_microkernels import pack_block
from ._layout import Array
from ._microkernels import ROWS, VECTOR_BYTES, VECTORS, copy_rows, multiply_block, multiply_narrow
from ._packed_weight import first_row
from ._row_copies import Window, enough_work, fill_copies

# Positions that a sum in registers runs over at most: what they meet, 128 bytes each, stays in the L1 cache.
_POSITIONS = 192
# Bytes of the sums of a task, in a 1 MiB L2 cache, and the taps of a chunk of channels.
_SUMS_BYTES, _TAPS = 1 << 19, 288
# Results that share at least what a position meets, which is transposed first, and the positions of an image at most. With 512
# channels an image of 7x7 takes 0.47 of the time of dot products; eight with 256 -> 512 of 7x7 take 0.93, 128 -> 256 of 14x14
# 0.88, with 64 -> 128 of 28x28 1.2.
_LEAST_OUTPUTS, _MOST_POSITIONS = 256, 256
# Work is cut into this many tasks at least.
_TASKS = 4


class _Plan(NamedTuple):
    """Chunks of `channels` channels, `band` rows of `samples` images at a time, whose copies are `step` elements apart.

    What a position meets is `pitch` elements further on than what the one before does; `places` says where.
    """

    channels: int
    samples: int
    band: int
    step: int
    pitch: int
    places: Array


@jit_parallel
def _multiply(g, x, window, chunks, plan, dweight, dbias):
    """Fill dweight (O, C * KH * KW), and dbias unless it is empty, from flat g (N, O, P) and x (N, C, H, W)."""
    outputs, length = dweight.shape
    each, channels = window.kh * window.kw, x.shape[1]
    width, height, plane = window.out_width, window.out_height, window.out_height * window.out_width
    lanes = VECTOR_BYTES // x.itemsize
    block = VECTORS * lanes
    blocks = (outputs + ROWS - 1) // ROWS
    for task in numba.prange(chunks):
        first = task * plan.channels
        some = min(plan.channels, channels - first)
        taps = some * each
        most = plan.samples * plan.band * width
        copies = aligned_empty((taps + 1) * plan.step, x)
        copies[taps * plan.step :] = 1
        rows = aligned_empty((most + 1) * plan.pitch, x)
        scales = aligned_empty(blocks * most * ROWS, x)
        sums = aligned_empty(blocks * ROWS * plan.pitch, x)
        zeros = np.zeros(ROWS, x.dtype)
        for n in range(0, x.shape[0], plan.samples):
            samples = min(plan.samples, x.shape[0] - n)
            for top in range(0, height, plan.band):
                count = (min(height, top + plan.band) - top) * width
                total = samples * count
                fill_copies(x, n, samples, first, some, window, window.kh, top, plan.band, plan.step, copies)
                gather_band(copies, 0, plan.step, taps + 1, total, plan.places, 0, rows)
                for b in range(blocks):
                    for i in range(samples):
                        start = ((n + i) * outputs + first_row(b, outputs)) * plane + top * width
                        pack_block(g, start, plane, scales, (b * total + i * count) * ROWS, count)
                starts = plan.places[:total]
                for j in range(0, taps + 1, block):
                    narrow = taps + 1 - j <= lanes
                    for b in range(blocks):
                        part, place = scales[b * total * ROWS : (b + 1) * total * ROWS], b * ROWS * plan.pitch + j
                        if narrow:
                            multiply_narrow(rows, j, starts, part, 0, 1, ROWS, zeros, 0, sums, place, plan.pitch, n + top > 0)
                        else:
                            multiply_block(rows, j, starts, part, 0, 1, ROWS, zeros, 0, sums, place, plan.pitch, n + top > 0)
        target = dweight.reshape(-1)
        for b in range(blocks):
            row = first_row(b, outputs)
            copy_rows(sums, b * ROWS * plan.pitch, plan.pitch, target, row * length + first * each, length, ROWS, taps)
            for r in range(ROWS if task == 0 and dbias.shape[0] > 0 else 0):
                dbias[row + r] = sums[(b * ROWS + r) * plan.pitch + taps]


@functools.lru_cache(maxsize=256)
def _plan(samples: int, itemsize: int, channels: int, window: Window, outputs: int) -> tuple[int, _Plan]:
    """The number of chunks, and how they are computed. Kept: it takes as long as a small convolution."""
    height, width, each = window.out_height, window.out_width, window.kh * window.kw
    block = VECTORS * VECTOR_BYTES // itemsize
    fitting = min(_SUMS_BYTES // (outputs * itemsize), _TAPS) - 1
    chunks = min(channels, max(_TASKS, -(-channels * each // max(each, fitting))))
    some = -(-channels // chunks)
    chunks = -(-channels // some)
    together = max(1, min(samples, _POSITIONS // (height * width)))
    together = -(-samples // -(-samples // together))
    band = height if height * width <= _POSITIONS else max(1, _POSITIONS // width)
    band = -(-height // -(-height // band))
    most = together * band * width
    step = whole_vectors(most + LANES, itemsize)
    pitch = -(-(some * each + 1) // block) * block
    return chunks, _Plan(some, together, band, step, pitch, np.minimum(np.arange(most + LANES), most) * pitch)


def suits(x: Array, window: Window, groups: int, outputs: int) -> bool:
    """Whether to call `grad_weight`: for many results, of few positions each."""
    few = groups == 1 and x.dtype == np.float32 and window.out_height * window.out_width <= _MOST_POSITIONS
    return few and outputs >= _LEAST_OUTPUTS and enough_work(x, window, outputs)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, dbias: Array | None = None) -> None:
    """Fill dweight (O, C, KH, KW) and dbias (O,) from g (N, O, OH, OW) and x (N, C, H, W)."""
    rows = dweight.reshape(len(dweight), -1)
    chunks, plan = _plan(len(x), x.itemsize, x.shape[1], window, len(rows))
    _multiply(g.reshape(-1), x, window, chunks, plan, rows, rows[0, :0] if dbias is None else dbias)
