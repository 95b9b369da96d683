"""Quantiles of Poisson distributions on a GPU."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy

Array = Any
Kernel = Callable[..., Any]


def table(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operation, with the other `entries` of the backend, by the time of a call."""

    def poisson_quantile(rate: Array, chance: Array) -> Array:
        """The smallest counts of events that are not exceeded with more than the probabilities `chance` in [0, 1), for finite
        rates >= 0; all float64, of one shape.
        """
        # Nine standard deviations hold all counts that 53 bits can tell apart; small rates have a longer tail.
        width = 9 * cupy.sqrt(rate) + 40
        low, high = cupy.maximum(cupy.floor(rate - width), 0), cupy.ceil(rate + width)
        for _ in range(math.ceil(math.log2(float((high - low).max()))) + 1 if rate.size else 0):
            middle = cupy.floor((low + high) / 2)
            enough = entries["gammaincc"](middle + 1, rate) > chance
            low, high = cupy.minimum(cupy.where(enough, low, middle + 1), high), cupy.where(enough, middle, high)
        return high

    return {"poisson_quantile": poisson_quantile}
