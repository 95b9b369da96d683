"""Where the images lie that a direct convolution takes: those of a batch, or the slices of volumes.

An image of the result of a 3-d convolution is a sum of 2-d convolutions, of one slice of the input for each slice of the taps.
They are read where they lie; stacked as channels of new images they took 1.7 to 2.2 times as long for strides of 2.
"""
from __future__ import annotations

import functools
import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..arrays.layout import Array
from ..runtime.jit import jit
from .im2row import fill_planes

Sizes = tuple[int, ...]


class Images(NamedTuple):
    """Images, whose planes of `height` and `width` lie `source_pitch` elements apart in the flat input, from one channel to the
    next, and `target_pitch` in the flat result.

    `sources` (images, slices) has the first element of each image, for each slice of the taps, or -1 where that meets none,
    and `targets` (images,) that in the result. Runs of `alike` images meet the same slices.
    """

    height: int
    width: int
    source_pitch: int
    target_pitch: int
    sources: Array
    targets: Array
    alike: int


@functools.lru_cache(maxsize=256)
def planes_of(source: Sizes, target: Sizes) -> Images:
    """The images of a batch (N, C, H, W) that become those of another."""
    height, width = source[2:]
    pitches = height * width, target[2] * target[3]
    starts = [np.arange(source[0]) * (shape[1] * pitch) for shape, pitch in zip((source, target), pitches)]
    return Images(height, width, *pitches, starts[0].reshape(-1, 1), starts[1], source[0])


@functools.lru_cache(maxsize=256)
def slices_of(source: Sizes, target: Sizes, met: tuple[tuple[int, ...], ...]) -> Images:
    """The slices of volumes (N, C, D, H, W) that become those of others, which meet slices `met` each: one for each slice of the
    taps, -1 for none.
    """
    planes = [shape[3] * shape[4] for shape in (source, target)]
    order = sorted(range(len(met)), key=lambda place: [there < 0 for there in met[place]])  # alike ones next to each other
    batch = np.arange(source[0]).reshape(-1, 1)
    table = np.array(met, np.int64)[order]
    kinds = Counter(tuple(there < 0 for there in some) for some in met)
    volumes = batch * math.prod(source[1:])
    sources = np.where(table < 0, -1, volumes.reshape(-1, 1, 1) + table * planes[0])
    targets = batch * math.prod(target[1:]) + np.array(order) * planes[1]
    # All samples of a slice, then the next slice.
    return Images(source[3], source[4], source[2] * planes[0], target[2] * planes[1],
                  np.ascontiguousarray(sources.swapaxes(0, 1)).reshape(-1, table.shape[1]),
                  np.ascontiguousarray(targets.T).reshape(-1), source[0] * math.gcd(*kinds.values()))


def split_run(together: int, samples: int, alike: int, least: int) -> int:
    """`together` of `samples` images, or fewer, but `least`, which are parts of a run of `alike` ones.

    Slices that some of them meet are computed for all: twice the time for the input gradient of 3x3x3 taps with strides of 2.
    """
    if alike == samples:
        return together
    fewer = max(count for count in range(1, together + 1) if alike % count == 0)
    return fewer if fewer >= least else together


@jit
def meets(images, n, samples, number):
    """Whether a slice of the taps meets any of `samples` images from `n` on."""
    found = False
    for i in range(n, n + samples):
        found |= images.sources[i, number] >= 0
    return found


@jit
def fill_images(x, images, n, samples, number, first_channel, channels, window, period, top, rows, step, copies):
    """`fill_copies` of what one slice of the taps meets of some images of flat x."""
    for i in range(samples):
        source = images.sources[n + i, number]
        height = images.height if source >= 0 else 0
        fill_planes(x, max(source, 0) + first_channel * images.source_pitch, images.source_pitch, height, images.width, channels,
                    window, period, top, rows, step, copies, i * rows * window.out_width)


@jit
def deliver(sums, first, pitch, y, start, plane, rows, count):
    """Copy `count` elements of the rows of flat `sums`, `pitch` apart from `first` on, to those of y, `plane` apart."""
    for r in range(rows):
        target = y[start + r * plane : start + r * plane + count]
        values = sums[first + r * pitch :]
        for i in range(target.shape[0]):
            target[i] = values[i]
