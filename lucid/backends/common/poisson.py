"""Quantiles of Poisson distributions on either backend."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, gammaincc: Kernel) -> dict[str, Kernel]:
    """The operation on `xp` (numpy or cupy); `gammaincc` is the regularised upper incomplete gamma function there."""

    def by_bisection(rate: Array, chance: Array) -> Array:
        # Nine standard deviations hold all numbers that 53 bits can tell apart; small rates have a longer tail.
        width = 9 * xp.sqrt(rate) + 40
        low, high = xp.maximum(xp.floor(rate - width), 0), xp.ceil(rate + width)
        for _ in range(math.ceil(math.log2(float((high - low).max()))) + 1 if rate.size else 0):
            middle = xp.floor((low + high) / 2)
            enough = gammaincc(middle + 1, rate) > chance
            low, high = xp.minimum(xp.where(enough, low, middle + 1), high), xp.where(enough, middle, high)
        return high

    def poisson_quantile(rate: Array, chance: Array) -> Array:
        """The smallest numbers of events that are not exceeded with more than the probabilities `chance` in [0, 1), for finite
        rates >= 0; all float64, of one shape.
        """
        if xp is not np:
            return by_bisection(rate, chance)
        from lucid_kernels.cpu.random import poisson as kernels

        return kernels.poisson_quantile(rate, chance)

    return {"poisson_quantile": poisson_quantile}
