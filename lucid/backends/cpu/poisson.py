"""Quantiles of Poisson distributions on the CPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any


def poisson_quantile(rate: Array, chance: Array) -> Array:
    """The smallest counts of events that are not exceeded with more than the probabilities `chance` in [0, 1), for finite
    rates >= 0; all float64, of one shape.
    """
    from lucid_kernels.cpu.random import poisson as kernels

    return kernels.poisson_quantile(rate, chance)


TABLE: dict[str, Callable[..., Any]] = {"poisson_quantile": poisson_quantile}
