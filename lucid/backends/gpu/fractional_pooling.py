"""Indices of the maxima of windows that begin anywhere, on a GPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ..half_precision import wide

Array = Any


def fractional_max_indices(x: Array, *starts: Array, kernel: tuple[int, ...]) -> Array:
    """The indices (N, windows) of the maxima in x (N, D, H, W) or (N, H, W), flattened: the first of equal
    ones, the last NaN.

    Windows of the size `kernel` begin at `starts`, for each dimension (N, its number of windows); none of the lengths is 0.
    """
    x = wide(x)
    indices, within = cupy.zeros((x.shape[0], 1), np.int64), cupy.zeros(1, np.int64)
    for first, length, size in zip(starts, x.shape[1:], kernel, strict=True):
        indices = (indices[:, :, None] * length + first[:, None, :]).reshape(x.shape[0], -1)
        within = (within[:, None] * length + cupy.arange(size)).reshape(-1)
    inside = indices[:, :, None] + within
    values = cupy.take_along_axis(x.reshape(x.shape[0], -1), inside.reshape(x.shape[0], -1), 1).reshape(inside.shape)
    last_nan = cupy.where(cupy.isnan(values), cupy.arange(within.size), -1).max(axis=2)
    best = cupy.where(last_nan < 0, values.argmax(axis=2), last_nan)
    return cupy.take_along_axis(inside, best[:, :, None], 2)[:, :, 0]


TABLE: dict[str, Callable[..., Any]] = {"fractional_max_indices": fractional_max_indices}
