"""Where the windows of pooling lie along an axis, and the bands of ones that add up over them."""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..arrays.layout import Array
from ..interpolation.resize import Band


class Axis(NamedTuple):
    """`pooled` windows over `length` elements: `kernel` long and `stride` apart, or adaptive ones, which cover it evenly."""

    length: int
    pooled: int
    kernel: int = 0
    stride: int = 0
    padding: int = 0


@functools.lru_cache(maxsize=256)
def ranges(axis: Axis) -> Array:
    """Where the windows start and stop inside of the axis, in two rows."""
    length, pooled, kernel, stride, padding = axis
    i = np.arange(pooled, dtype=np.int64)
    if kernel == 0:
        return np.stack((i * length // max(1, pooled), -(-(i + 1) * length // max(1, pooled))))
    start = i * stride - padding
    return np.stack((np.maximum(start, 0), np.minimum(start + kernel, length)))


def _ones(starts: Array, stops: Array, dtype: Any) -> Band:
    counts = np.maximum(stops - starts, 0)
    return Band(np.where(counts > 0, starts, 0), counts, np.ones((starts.size, max(1, counts.max(initial=0))), dtype))


@functools.lru_cache(maxsize=256)
def sums(axis: Axis, dtype: Any) -> Band:
    """The sums over each window."""
    starts, stops = ranges(axis)
    return _ones(starts, stops, dtype)


@functools.lru_cache(maxsize=256)
def spreads(axis: Axis, dtype: Any) -> Band:
    """For each element the sum over the windows that it is in, which lie side by side."""
    starts, stops = ranges(axis)
    positions = np.arange(axis.length)
    return _ones(np.searchsorted(stops, positions, "right"), np.searchsorted(starts, positions, "right"), dtype)
