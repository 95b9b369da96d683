"""Indices of the maxima of windows that begin anywhere, on the CPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import wide

Array = Any


def fractional_max_indices(x: Array, *starts: Array, kernel: tuple[int, ...]) -> Array:
    """The indices (N, windows) of the maxima in x (N, D, H, W) or (N, H, W), flattened: the first of equal ones, the last NaN.

    Windows of the size `kernel` begin at `starts`, for each dimension (N, its number of windows); none of the lengths is 0.
    """
    from lucid_kernels.cpu.pooling import fractional_max as kernels

    if len(starts) == 2:
        x, starts, kernel = x[:, None], (np.zeros((x.shape[0], 1), np.int64), *starts), (1, *kernel)
    depths, rows, columns = starts
    return kernels.fractional_max_indices(wide(x), depths, rows, columns, kernel)


TABLE: dict[str, Callable[..., Any]] = {"fractional_max_indices": fractional_max_indices}
