"""The weight of a direct convolution, or of its input gradient, in the order in which their register blocks read it.

For few positions the blocks read it where it lies: to pack it, which reads it and writes it once more, takes as long as the
products of a dozen positions; rows, each in pages of its own, are read a little more slowly each time.
"""
from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ...arrays.layout import Array, contiguous
from ...runtime import tuning
from ...runtime.allocator import empty
from ...runtime.jit import jit, jit_parallel
from .copy_microkernels import pack_block
from .microkernels import ROWS

# The most positions of all images for which it is not packed: 0.65 of the time for 49 positions of 512 channels, 0.8 to 0.95 for
# 196 and 784, 0.92 for 512, and 1.0 to 1.05 for several thousand.
MOST_POSITIONS = 1024
# Blocks of an input gradient's weight that are packed at a time: of each output some cache lines in a row.
_TURNED = 4


class Weight(NamedTuple):
    """A weight of G groups, each of `blocks` blocks of outputs, and a bias, both flat: packed, (G, blocks, K, ROWS) and
    (G, blocks, ROWS), or as it `lies`, (O, K) and (O,). K is the `depth`, the products of a result.
    """

    taps: Array
    bias: Array
    blocks: int
    depth: int
    lies: bool


@jit
def first_row(block, outputs):
    """The first of the `outputs` of a group in a block: the last block overlaps the one before if it would not be whole."""
    return max(0, min(block * ROWS, outputs - ROWS))


@jit_parallel
def _pack(weight, bias, outputs, blocks, packed, packed_bias, each):
    """Fill packed (G * blocks, K, ROWS) and packed_bias (G * blocks, ROWS) from weight (G * outputs, K) and bias, `each` blocks
    at a time; a group has ROWS outputs at least.
    """
    depth = weight.shape[1]
    source, target = weight.reshape(-1), packed.reshape(-1)
    for task in numba.prange((packed.shape[0] + each - 1) // each):
        for b in range(task * each, min(packed.shape[0], (task + 1) * each)):
            row = b // blocks * outputs + first_row(b % blocks, outputs)
            pack_block(source, row * depth, depth, target, b * depth * ROWS, depth)
            for r in range(ROWS):
                packed_bias[b, r] = bias[row + r]


def _filled_up(array: Array, groups: int) -> Array:
    """(G * outputs, ...) with rows of zeros, so that each group has ROWS."""
    by_group = array.reshape(groups, -1, *array.shape[1:])
    filled = np.zeros((groups, ROWS, *array.shape[1:]), array.dtype)
    filled[:, : by_group.shape[1]] = by_group
    return filled.reshape(-1, *array.shape[1:])


def packed_weight(weight: Array, bias: Array, groups: int) -> Weight:
    """The weight (O, C / G, KH, KW), of any strides, and the bias (O,), packed.

    By transposition in registers: one element after the other took 4 to 25 times as long, which was most of the time of the
    convolution of one image of 14x14 pixels or less.
    """
    outputs = weight.shape[0] // groups
    rows = contiguous(weight).reshape(weight.shape[0], -1)
    if outputs < ROWS:
        rows, bias, outputs = _filled_up(rows, groups), _filled_up(bias, groups), ROWS
    blocks, depth = -(-outputs // ROWS), rows.shape[1]
    packed, packed_bias = empty((groups * blocks, depth, ROWS), rows.dtype), empty((groups * blocks, ROWS), rows.dtype)
    _pack(rows, bias, outputs, blocks, packed, packed_bias, max(1, tuning.PARALLEL_FROM // (depth * ROWS)))
    return Weight(packed.reshape(-1), packed_bias.reshape(-1), blocks, depth, False)


def weight_to_read(weight: Array, bias: Array, groups: int, positions: int) -> Weight:
    """The weight (O, C / G, KH, KW), of any strides, and the bias (O,) for so many positions of all images."""
    outputs = weight.shape[0] // groups
    if positions > MOST_POSITIONS or outputs < ROWS:
        return packed_weight(weight, bias, groups)
    taps = contiguous(weight).reshape(-1)
    return Weight(taps, bias, -(-outputs // ROWS), taps.size // weight.shape[0], True)


@jit_parallel
def _pack_turned(weight, groups, blocks, packed, each):
    """Fill packed (G * blocks, O / G * K, ROWS) from weight (O, C / G, K), `each` blocks at a time; C / G is ROWS at least."""
    outputs, channels, taps = weight.shape[0] // groups, weight.shape[1], weight.shape[2]
    source, target = weight.reshape(-1), packed.reshape(-1)
    for task in numba.prange((packed.shape[0] + each - 1) // each):
        for o in range(outputs):
            for b in range(task * each, min(packed.shape[0], (task + 1) * each)):
                start = ((b // blocks * outputs + o) * channels + first_row(b % blocks, channels)) * taps
                pack_block(source, start, taps, target, (b * outputs + o) * taps * ROWS, taps)


def turned_weight(weight: Array, groups: int) -> Weight:
    """The weight (O, C / G, KH, KW) of a convolution, packed for its input gradient, whose taps go from the last to the first,
    and zeros for a bias.
    """
    outputs, channels = weight.shape[:2]
    taps = contiguous(weight).reshape(outputs, channels, -1)
    if channels < ROWS:
        taps = np.concatenate((taps, np.zeros((outputs, ROWS - channels, taps.shape[2]), taps.dtype)), 1)
    blocks, depth = -(-channels // ROWS), outputs // groups * taps.shape[2]
    packed = empty((groups * blocks, depth, ROWS), taps.dtype)
    _pack_turned(taps, groups, blocks, packed, max(_TURNED, tuning.PARALLEL_FROM // (depth * ROWS)))
    return Weight(packed.reshape(-1), np.zeros(groups * blocks * ROWS, taps.dtype), blocks, depth, False)
