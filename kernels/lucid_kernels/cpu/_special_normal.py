"""The error function and the normal distribution in float64, for use inside kernels."""
from __future__ import annotations

import math

import numpy as np

from . import _special_tables as tables
from ._compile import jit_exact
from ._math import fma
from ._special_series import polynomial

_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_LOW = -4.833646656726457e-17  # sqrt(1/2) minus the line above
_SQRT_PI = math.sqrt(math.pi)


@jit_exact
def erfcx(x: float) -> float:
    """exp(x^2) erfc(x). Beyond 25 the asymptotic series, Abramowitz & Stegun 7.1.23."""
    if x > 25.0:
        r = 0.5 / (x * x)
        series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r * (1.0 - 11.0 * r)))))
        return series / (x * _SQRT_PI)
    if x < -27.0:
        return np.inf
    square = x * x
    return math.erfc(x) * (math.exp(square) * (1.0 + fma(x, x, -square)))  # the rounding error of x^2 is put back


@jit_exact
def ndtr(x: float) -> float:
    """The normal distribution function, erfc(-x / sqrt 2) / 2, with the rounding error of the argument put back."""
    t = -x * _SQRT_HALF
    tail = math.erfc(t)
    if -1.0 < t < 28.0:
        error = -fma(x, _SQRT_HALF, t) - x * _SQRT_HALF_LOW
        tail -= 2.0 / _SQRT_PI * math.exp(-t * t) * error
    return 0.5 * tail


@jit_exact
def log_ndtr(x: float) -> float:
    """The logarithm of `ndtr`, which underflows long before it."""
    if x < -1.0:
        return math.log(0.5 * erfcx(-x * _SQRT_HALF)) - 0.5 * x * x
    return math.log1p(-ndtr(-x))


@jit_exact
def _quantile(q: float, tail: float) -> float:
    """The normal quantile of 1/2 + q; `tail` is 1/2 - |q|, without cancellation. Wichura (1988), algorithm AS 241."""
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * polynomial(tables.QUANTILE_CENTRE_P, r) / polynomial(tables.QUANTILE_CENTRE_Q, r)
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        x = polynomial(tables.QUANTILE_TAIL_P, r - 1.6) / polynomial(tables.QUANTILE_TAIL_Q, r - 1.6)
    else:
        x = polynomial(tables.QUANTILE_FAR_P, r - 5.0) / polynomial(tables.QUANTILE_FAR_Q, r - 5.0)
    return math.copysign(x, q)


@jit_exact
def ndtri(p: float) -> float:
    """The inverse of `ndtr`; NaN outside [0, 1]."""
    if p == 0.0 or p == 1.0:
        return -np.inf if p == 0.0 else np.inf
    if not 0.0 < p < 1.0:
        return np.nan
    return _quantile(p - 0.5, min(p, 1.0 - p))


@jit_exact
def erfinv(y: float) -> float:
    """The inverse of erf; NaN outside [-1, 1]."""
    if abs(y) == 1.0:
        return math.copysign(np.inf, y)
    if not abs(y) < 1.0:
        return np.nan
    return _SQRT_HALF * _quantile(0.5 * y, 0.5 * (1.0 - abs(y)))
