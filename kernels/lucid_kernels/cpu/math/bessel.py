"""Modified Bessel functions of the first kind, orders 0 and 1, in float64, for use inside kernels.

Up to 8 the power series, all of whose terms are positive; beyond that, Chebyshev series of the scaled function.
"""
from __future__ import annotations

import math

import numpy as np

from lucid_kernels import special_tables as tables

from ..runtime.jit import jit_exact
from .series import chebyshev, polynomial


@jit_exact
def _grow(scaled: float, size: float) -> float:
    """`scaled` times exp(size), in two steps, so that it overflows no earlier than the result."""
    half = math.exp(0.5 * size)
    return scaled * half * half


@jit_exact
def i0e(x: float) -> float:
    """exp(-|x|) I0(x)."""
    size = abs(x)
    if size <= 8.0:
        return math.exp(-size) * polynomial(tables.I0_SERIES, 0.25 * x * x)
    return chebyshev(tables.I0_LARGE, 16.0 / size - 1.0) / math.sqrt(size)


@jit_exact
def i0(x: float) -> float:
    """I0(x)."""
    size = abs(x)
    if size <= 8.0:
        return polynomial(tables.I0_SERIES, 0.25 * x * x)
    return np.inf if size > 714.0 else _grow(i0e(size), size)


@jit_exact
def i1e(x: float) -> float:
    """exp(-|x|) I1(x)."""
    size = abs(x)
    if size <= 8.0:
        return math.exp(-size) * x * polynomial(tables.I1_SERIES, 0.25 * x * x)
    return math.copysign(chebyshev(tables.I1_LARGE, 16.0 / size - 1.0) / math.sqrt(size), x)


@jit_exact
def i1(x: float) -> float:
    """I1(x)."""
    size = abs(x)
    if size <= 8.0:
        return x * polynomial(tables.I1_SERIES, 0.25 * x * x)
    return math.copysign(np.inf if size > 714.0 else _grow(i1e(size), size), x)
