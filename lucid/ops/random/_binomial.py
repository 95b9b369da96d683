"""Binomial samples: sequential inversion for small expectations, Hörmann's transformed rejection BTRS for others ("The generation
of binomial random variates", 1993).
"""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...tensor import Tensor
from ..elementwise.gamma import lgamma
from ..elementwise.where import where
from ..indexing.nonzero import nonzero
from .random_numbers import random_floats

_FEW = 10  # expected successes up to which inversion takes few steps


def binomial_numbers(trials: Tensor, chance: Tensor, generator: Any) -> Tensor:
    """For vectors in float64 of counts and of probabilities up to one half. Waits for a GPU; zeros on the device meta."""
    result = trials * 0
    if trials.is_meta or not trials.numel():
        return result
    few = trials * chance < _FEW
    for mask, sample in ((few, _inverted), (~few, _rejected)):
        remaining = nonzero(mask).reshape(-1)
        if remaining.numel():
            result = result.index_copy(0, remaining, sample(trials[remaining], chance[remaining], generator))
    return result


def _uniform(like: Tensor, generator: Any) -> Tensor:
    return random_floats("random_uniform", tuple(like.shape), _dtypes.float64, like.device, generator)


def _inverted(trials: Tensor, chance: Tensor, generator: Any) -> Tensor:
    """The first number whose distribution function is above a uniform number, by summing probabilities from 0 on."""
    odds = chance / (1 - chance)
    probability = (trials * (-chance).log1p()).exp()
    rest, number, step = _uniform(trials, generator), trials * 0, 0
    while True:
        beyond = (rest >= probability) & (number == step) & (number < trials)
        if not bool(beyond.any()):
            return number
        rest, step = where(beyond, rest - probability, rest), step + 1
        number = number + beyond.to(number.dtype)
        probability = probability * odds * ((trials - step + 1).clamp(min=0) / step)


def _rejected(trials: Tensor, chance: Tensor, generator: Any) -> Tensor:
    result, remaining = trials * 0, nonzero(trials >= 0).reshape(-1)
    while remaining.numel():
        candidate, accepted = _candidates(trials[remaining], chance[remaining], generator)
        done = nonzero(accepted).reshape(-1)
        result = result.index_copy(0, remaining[done], candidate[done])
        remaining = remaining[nonzero(~accepted).reshape(-1)]
    return result


def _candidates(n: Tensor, p: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """Samples of BTRS, and which of them are accepted; the constants are those of the paper."""
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a, alpha, sure = 0.0248 * b + 0.01 * p - 0.0873, (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b
    u, v = _uniform(n, generator) - 0.5, _uniform(n, generator)
    edge = 0.5 - u.abs()
    number = ((2 * a / edge + b) * u + n * p + 0.5).floor()
    mode = ((n + 1) * p).floor()
    inside = (number >= 0) & (number <= n)
    k = where(inside, number, mode)
    ratio = lgamma(mode + 1) + lgamma(n - mode + 1) - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * (p / (1 - p)).log()
    accepted = (v * alpha / (a / (edge * edge) + b)).log() <= ratio
    return number, inside & (((edge >= 0.07) & (v <= sure)) | accepted)
