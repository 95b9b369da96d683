"""Quantiles of Poisson distributions. CuPy finds them by bisection: no CUDA twin."""
from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, chunk, chunks
from ..math.incomplete_gamma import gammaincc
from ..math.normal import ndtri
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel

_TOLERANCE = 2.0**-53
_LEAST = 1e-18  # a probability that changes no sum
_SMALL = 400.0  # rates below which adding up from zero is faster
# More than the counts of events that 53 bits of a chance can tell apart for those rates.
_INVERSE = 1.0 / np.maximum(np.arange(1024.0), 1.0)


@jit_exact
def _from_zero(rate: float, chance: float) -> int:
    probability = math.exp(-rate)
    total, number = probability, 0
    while total <= chance and (number < rate or probability > _LEAST):
        number += 1
        probability *= rate * _INVERSE[number]
        total += probability
    return number


@jit_exact
def _from_the_normal_quantile(rate: float, chance: float) -> float:
    """From the expansion of Cornish and Fisher, which is one off at most but far in the tails."""
    z = max(-9.0, min(ndtri(chance), 9.0))
    number = np.floor(max(rate + math.sqrt(rate) * z + (z * z - 1.0) / 6.0, 0.0))
    total = gammaincc(number + 1.0, rate, _TOLERANCE)
    probability = math.exp(number * math.log(rate) - rate - math.lgamma(number + 1.0))
    while total <= chance and (number < rate or probability > _LEAST):
        number += 1.0
        probability *= rate / number
        total += probability
    while number > 0.0 and total - probability > chance:
        total -= probability
        probability *= number / rate
        number -= 1.0
    return number


@jit_exact
def _quantiles(rate: Any, chance: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = _from_zero(rate[i], chance[i]) if rate[i] < _SMALL else _from_the_normal_quantile(rate[i], chance[i])


@jit_parallel
def _quantiles_parallel(rate: Any, chance: Any, y: Any) -> None:
    for c in numba.prange(chunks(y.shape[0])):
        _quantiles(chunk(rate, c), chunk(chance, c), chunk(y, c))


def poisson_quantile(rate: Array, chance: Array) -> Array:
    """The smallest counts of events that are not exceeded with more than the probabilities `chance` in [0, 1), for finite rates
    >= 0; all float64, of one shape.
    """
    y = empty(rate.shape, np.float64)
    _quantiles_parallel(rate.ravel(), chance.ravel(), y.ravel())
    return y
