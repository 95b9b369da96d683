"""The places of the maxima of windows that begin anywhere, on either backend."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import wide

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any) -> dict[str, Kernel]:
    """The operation on `xp` (numpy or cupy)."""

    def by_gathering(x: Array, starts: tuple[Array, ...], kernel: tuple[int, ...]) -> Array:
        places, within = xp.zeros((x.shape[0], 1), np.int64), xp.zeros(1, np.int64)
        for first, length, size in zip(starts, x.shape[1:], kernel, strict=True):
            places = (places[:, :, None] * length + first[:, None, :]).reshape(x.shape[0], -1)
            within = (within[:, None] * length + xp.arange(size)).reshape(-1)
        inside = places[:, :, None] + within
        values = xp.take_along_axis(x.reshape(x.shape[0], -1), inside.reshape(x.shape[0], -1), 1).reshape(inside.shape)
        last_nan = xp.where(xp.isnan(values), xp.arange(within.size), -1).max(axis=2)
        best = xp.where(last_nan < 0, values.argmax(axis=2), last_nan)
        return xp.take_along_axis(inside, best[:, :, None], 2)[:, :, 0]

    def places_of_maxima(x: Array, *starts: Array, kernel: tuple[int, ...]) -> Array:
        """The places (N, number) of the maxima in x (N, D, H, W) or (N, H, W), flattened: the first of equal
        ones, the last NaN.

        Windows of the size `kernel` begin at `starts`, for each dimension (N, its number of windows); none of the lengths is 0.
        """
        if xp is not np:
            return by_gathering(wide(x), starts, kernel)
        from lucid_kernels.cpu.pooling import fractional_max as kernels

        if len(starts) == 2:
            x, starts, kernel = x[:, None], (np.zeros((x.shape[0], 1), np.int64), *starts), (1, *kernel)
        depths, rows, columns = starts
        return kernels.places_of_maxima(wide(x), depths, rows, columns, kernel)

    return {"places_of_maxima": places_of_maxima}
