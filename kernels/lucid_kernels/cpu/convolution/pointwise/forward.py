"""1x1 convolution of planes without padding: of each image, the product of the weight and the pixels.

A task packs a panel of pixels at a time, of all channels, and prefetches the next one while it multiplies, a line in every few
steps of the sums: the planes are far apart in memory, and nothing else would fetch them ahead. In 0.7 to 0.85 of the time of
reading the pixels where they lie, for 64 and 256 channels of 56x56 pixels; with many lines prefetched before each block of
products it took 1.2 times as long for 256 channels. Planes a multiple of 4 KiB apart need no other algorithm. The weight is read
where it lies: packing it took a third to two fifths of the time for one image of 14x14 or 7x7.
"""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ...arrays.layout import Array, contiguous
from ...arrays.window import Window
from ...matmul.packing import VECTORS as PANEL_VECTORS
from ...matmul.panel_microkernels import (
    EACH_STEP,
    PANEL_BYTES,
    ROWS,
    block_count,
    fills_blocks,
    first_row,
    multiply_pixels,
    pack_pixels,
)
from ...runtime.implementations import unmet
from ...runtime.jit import jit, jit_parallel
from ...runtime.threads import THREADS
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.dot import DOT_POSITIONS
from ...simd.pointer import moved, pointer
from ..direct.microkernels import VECTORS
from ..direct.packed_weight import MOST_POSITIONS
from ..direct.parts import grad_input_of_one_tap
from ..im2row import subsampled
from ..problem import Problem

# Channels that are added up at a time: their panel, 32 KiB, stays in the L1 cache for all results.
_DEPTH_BYTES = 1024
_PANELS = 16  # of a task
# Threads take equal shares of the tasks, in order. Where images and runs make fewer of them for each thread, and no whole number,
# there are more runs, if each thread has enough panels; else channels are shared too, as many blocks of them at least by a task:
# each packs the pixels again. One image of 28x28 takes 0.8 of the time with two equal runs on two threads.
_TASKS_OF_A_THREAD, _PANELS_OF_A_THREAD, _BLOCKS = 4, 12, 8
_LINE = 64  # bytes of a cache line


@jit
def run_of(index: int, runs: int, positions: int, width: int) -> tuple[int, int]:
    """The first position of a run, and the one after its last: tasks, none of which writes what another one adds to. Two panels
    at least, if there are several, so that the last panel overlaps only its own.
    """
    panels = (positions + width - 1) // width
    return index * panels // runs * width, min(positions, (index + 1) * panels // runs * width)


def _shares(images: int, panels: int, out_channels: int, threads: int) -> tuple[int, int]:
    """The runs of an image, and the parts of the channels."""
    runs, most = max(1, min(-(-panels // _PANELS), panels // 2)), max(1, out_channels // (_BLOCKS * ROWS))
    if images * runs % threads == 0 or images * runs >= _TASKS_OF_A_THREAD * threads:
        return runs, 1
    if images * panels >= _PANELS_OF_A_THREAD * threads:
        each = threads // math.gcd(threads, images)
        return min(-(-runs // each) * each, panels // 2), 1
    parts = min(threads // math.gcd(threads, images * runs), most)
    return max(1, min(-(-threads // (images * parts)), panels // 2)), parts


@jit_parallel
def _convolve(x: Any, channels: int, positions: int, weight: Any, bias: Any, block: int, runs: int, parts: int,
              y: Any) -> None:
    """Flat y (N, O, P) from flat x (N, C, P), weight (O, C), and bias (O, panel width), or empty; `parts` tasks share O."""
    item, out_channels = x.itemsize, y.size * channels // x.size
    width, lanes = PANEL_BYTES // item, VECTOR_BYTES // item
    images, blocks = x.size // (channels * positions), block_count(out_channels)
    for task in numba.prange(images * runs * parts):
        part, n = np.int64(task) // (images * runs), np.int64(task) // runs % images
        first, last = run_of(np.int64(task) % runs, runs, positions, width)
        first_block, last_block = part * blocks // parts, (part + 1) * blocks // parts
        room = np.empty(block * width + _LINE // item, x.dtype)
        for start in range(first, last, width):
            narrow = last - start <= lanes
            have = lanes if narrow else width
            j = min(start, positions - have)  # the last panel may compute some results again
            for c in range(0, channels, block):
                count = min(block, channels - c)
                address = np.int64(room.ctypes.data)
                panel = pointer(x, address + (_LINE - address % _LINE))
                pixels = pointer(x, x.ctypes.data + ((n * channels + c) * positions + j) * item)
                pack_pixels(pixels, positions, narrow, count, panel)
                following = moved(pixels, width if start + width < last else 0)
                # All lines of aligned pixels; of others the first was the last of the panel before. Divided once for all blocks:
                # for each of them it took up to a tenth of the time for 64 channels.
                pace = PANEL_BYTES // _LINE * EACH_STEP // (last_block - first_block)
                for b in range(last_block - first_block):
                    first_prefetched = b * pace * count // (PANEL_BYTES // _LINE * EACH_STEP)
                    prefetched = moved(following, first_prefetched * positions + _LINE // item - 1)
                    row = first_row(first_block + b, out_channels)
                    rows = first_row(first_block + b + 1, out_channels) - row
                    taps = pointer(x, weight.ctypes.data + (row * channels + c) * item)
                    target = pointer(x, y.ctypes.data + ((n * out_channels + row) * positions + j) * item)
                    added, pitch = target, positions
                    if c == 0 and bias.size > 0:
                        added, pitch = pointer(x, bias.ctypes.data + row * width * item), width
                    add = c > 0 or bias.size > 0
                    multiply_pixels(rows, taps, channels, panel, narrow, count, target, positions, add, added, pitch, prefetched,
                                    positions, pace)  # fmt: skip


def _why_not(problem: Problem, positions: int, outputs: int) -> str | None:
    """For planes of `positions` and so many `outputs`. A few of 7x7 fill the blocks of `direct` better: two vectors and two,
    where 15 lanes of 64 are empty, take 1.1 times as long as three and a dot product.
    """
    panel, block = PANEL_VECTORS * problem.lanes, VECTORS * problem.lanes
    few = panel < positions <= block + DOT_POSITIONS and problem.images * positions <= MOST_POSITIONS
    return unmet(
        (problem.groups == problem.window.kh == problem.window.kw == 1, "not a single tap of all channels"),
        (positions >= panel, "fewer positions than a panel has"),
        (fills_blocks(outputs, problem.vector_bytes), "the outputs fill no blocks"),
        (not few, "few positions, which fill the blocks of `direct` better"),
    )


def why_not(problem: Problem) -> str | None:
    return _why_not(problem, problem.positions, problem.outputs)


def grad_input_why_not(problem: Problem) -> str | None:
    window = problem.window
    # Pixels that the tap meets.
    rows = len(range(-window.ph % window.sh, problem.height, window.sh))
    columns = len(range(-window.pw % window.sw, problem.width, window.sw))
    return _why_not(problem, rows * columns, problem.channels)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, H, W) from x (N, C, H, W), contiguous, weight (O, C, 1, 1), of any strides, and bias (O,)."""
    plain = window[2:6] == (1, 1, 0, 0) and x.shape[2:] == y.shape[2:]  # parts of an input gradient may have another size
    x = x if plain else subsampled(x, window)
    out_channels, channels = weight.shape[:2]
    width = PANEL_BYTES // x.itemsize
    rows = contiguous(weight.reshape(out_channels, channels))
    block = -(-channels // -(-channels // (_DEPTH_BYTES // x.itemsize)))
    biases = np.repeat(bias, width) if bias.any() else bias[:0]
    positions = x.shape[2] * x.shape[3]
    runs, parts = _shares(len(x), -(-positions // width), out_channels, THREADS.value)
    _convolve(x.reshape(-1), channels, positions, rows, biases, block, runs, parts, y.reshape(-1))


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW), contiguous, and weight (O, C, 1, 1)."""
    grad_input_of_one_tap(convolve, g, weight, window, dx, groups)
