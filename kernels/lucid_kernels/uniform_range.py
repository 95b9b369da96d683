"""Uniform samples of a range that do not reach its upper end, although sums round: the constants, for both backends."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np


class UniformRange(NamedTuple):
    """A number is min(unit * span + low, top), in float64 for that dtype and in float32 for all others.

    In half precision it is then cut to a multiple of `step`, and not below `least`: values that are `step` apart are equally
    likely, where those rounded to the nearest would favour the greatest twofold. `step` is None where float32 cannot divide by
    it; then the number is rounded.
    """

    span: Any
    low: Any
    top: Any
    step: Any
    least: Any


@functools.lru_cache(maxsize=64)
def uniform_range(dtype: np.dtype, low: float, high: float) -> UniformRange:
    """The constants for samples of `dtype` in [low, high); both must be finite, and high - low a number of `dtype`."""
    half = dtype.itemsize == 2
    wide: Any = np.float32 if half else dtype.type
    below = dtype.type(-np.inf)
    first, top = dtype.type(low), np.nextafter(dtype.type(high), below)
    # A GPU takes subnormal numbers for 0.
    tiny = np.finfo(wide).tiny
    top = max(wide(first), min(wide(top), -tiny) if -tiny < top < 0 else wide(top))
    span = wide(high - low)
    if not half:
        return UniformRange(span, wide(low), top, None, None)
    largest = max(abs(np.nextafter(first, dtype.type(high))), abs(dtype.type(top)))
    step = wide(np.spacing(largest))
    return UniformRange(span, wide(low), top, step if step > 2.0**-120 else None, wide(first))
