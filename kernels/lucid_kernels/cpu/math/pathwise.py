"""How numbers of gamma and beta distributions move with a parameter at a fixed probability, in float64, for use inside kernels.

With the distribution function P and the density p of x this is ``dx/da = -(dP/da) / p`` (Figurnov, Mohamed & Mnih, "Implicit
Reparameterization Gradients", 2018). The expansions of P have p as a factor, which cancels: nothing overflows in the tails.
"""
from __future__ import annotations

import math

import numpy as np

from lucid_kernels import special_tables as tables

from ..runtime.jit import jit_exact
from .gamma import digamma
from .incomplete_gamma import excess
from .series import polynomial

_TOLERANCE = 1e-15
_STEPS = 20000  # of series and fractions, of which as many are needed as the root of a parameter of 1e8
_LARGE = 200.0  # from here on Temme's expansion, where x / a is near 1
_HUGE = 1e7  # from here on the leading term, where both parameters of a beta distribution are as large
_TINY = 1e-300


@jit_exact
def _from_series(a: float, x: float) -> float:
    """By the power series of P (DLMF 8.11.4) and its derivative, in which each factor x / (a + k) gives a term -1 / (a + k)."""
    n, term, total, reciprocals, slope = a, 1.0, 1.0, 0.0, 0.0
    for _ in range(_STEPS):
        n += 1.0
        term *= x / n
        reciprocals += 1.0 / n
        total += term
        slope -= term * reciprocals
        if term <= _TOLERANCE * total and -term * reciprocals >= _TOLERANCE * slope:
            break
    return -x / a * (total * (math.log(x) - digamma(a + 1.0)) + slope)


@jit_exact
def _from_fraction(a: float, x: float) -> float:
    """By the continued fraction of Q = 1 - P (DLMF 8.9.2) and its derivative, both by Lentz's method (Numerical Recipes, 5.2)."""
    b = x + 1.0 - a
    c, c_slope = 1.0 / _TINY, 0.0
    d = 1.0 / b
    d_slope = d * d
    h, slope = d, d_slope
    for i in range(1, _STEPS):
        numerator = -i * (i - a)
        b += 2.0
        d_slope = i * d + numerator * d_slope - 1.0
        d = numerator * d + b
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        d_slope *= -d * d
        c_slope = i / c - numerator * c_slope / (c * c) - 1.0
        c = b + numerator / c
        c = c if abs(c) > _TINY else _TINY
        step, step_slope = c * d, c_slope * d + c * d_slope
        change = slope * (step - 1.0) + h * step_slope
        slope += change
        h *= step
        if abs(step - 1.0) <= _TOLERANCE and abs(change) <= _TOLERANCE * abs(slope):
            break
    return x * (h * (math.log(x) - digamma(a)) + slope)


@jit_exact
def _from_uniform_expansion(a: float, x: float) -> float:
    """By Temme's uniform expansion, DLMF 8.12.3-8.12.8, for large `a` and x near it."""
    u = (x - a) / a
    eta = math.copysign(math.sqrt(2.0 * excess(u)), u)
    ratio = u / eta if eta != 0.0 else 1.0
    total, by_eta, by_a = 0.0, 0.0, 0.0
    for k in range(tables.TEMME.shape[0] - 1, -1, -1):
        row, row_slope = 0.0, 0.0
        for n in range(tables.TEMME.shape[1] - 1, -1, -1):
            row_slope = row_slope * eta + row
            row = row * eta + tables.TEMME[k, n]
        by_a = (by_a - total / a) / a
        total = total / a + row
        by_eta = by_eta / a + row_slope
    slope = ratio - 0.5 * eta + total * (math.log1p(u) - 0.5 / a) - by_eta * ratio / a + by_a
    return x / a * math.exp(polynomial(tables.STIRLING, 1.0 / (a * a)) / a) * slope


@jit_exact
def gamma_slope(a: float, x: float) -> float:
    """dx/da of a number x from the gamma distribution of shape a and rate 1; 0 at x = 0, NaN outside of a > 0, x >= 0."""
    if not (a > 0.0 and x >= 0.0 and a < np.inf and x < np.inf):
        return np.nan
    if x == 0.0:
        return 0.0
    if a > _LARGE and abs(x - a) < 0.3 * a:
        return _from_uniform_expansion(a, x)
    return _from_series(a, x) if x <= a or x < 1.5 else _from_fraction(a, x)


@jit_exact
def _beta_fraction(p: float, q: float, x: float, by_p: float) -> tuple[float, float]:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22) and its derivative by p (`by_p` 1) or q (0)."""
    by_q, total = 1.0 - by_p, p + q
    c, c_slope = 1.0, 0.0
    d = 1.0 - total * x / (p + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    d_slope = d * d * x / (p + 1.0) * (1.0 - total * by_p / (p + 1.0))
    h, slope = d, d_slope
    for i in range(2, _STEPS):
        m, even, before = i // 2, p + 2 * (i // 2), p + 2 * (i // 2) - 1.0
        if i % 2 == 0:
            shared = m * x / (before * even)
            numerator = shared * (q - m)
            numerator_slope = shared * by_q - numerator * by_p * (1.0 / before + 1.0 / even)
        else:
            numerator = -(p + m) * (total + m) * x / (even * (even + 1.0))
            numerator_slope = numerator * (by_p / (p + m) + 1.0 / (total + m) - by_p / even - by_p / (even + 1.0))
        d_slope = numerator_slope * d + numerator * d_slope
        d = 1.0 + numerator * d
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        d_slope *= -d * d
        c_slope = numerator_slope / c - numerator * c_slope / (c * c)
        c = 1.0 + numerator / c
        c = c if abs(c) > _TINY else _TINY
        step, step_slope = c * d, c_slope * d + c * d_slope
        change = slope * (step - 1.0) + h * step_slope
        slope += change
        h *= step
        if abs(step - 1.0) <= _TOLERANCE and abs(change) <= _TOLERANCE * abs(slope):
            break
    return h, slope


@jit_exact
def beta_slope(a: float, b: float, x: float) -> float:
    """(dx/da) / (1 - x) of a number x from the beta distribution of a and b; 0 at x = 0, NaN outside of [0, 1] and for
    parameters that are not positive.
    """
    if not (a > 0.0 and b > 0.0 and 0.0 <= x <= 1.0 and a + b < np.inf):
        return np.nan
    if x == 0.0:
        return 0.0
    if x == 1.0:  # the slope's limit, of the largest number below 1
        x = 1.0 - 2.0**-53
    if min(a, b) > _HUGE:  # the logit is nearly normal, of variance 1 / a + 1 / b
        return x * (1.0 / a - math.log(x / (1.0 - x) * (b / a)) / (2.0 * a * a * (1.0 / a + 1.0 / b)))
    centre = math.log(x) - digamma(a) + digamma(a + b)
    if x < (a + 1.0) / (a + b + 2.0):
        h, slope = _beta_fraction(a, b, x, 1.0)
        return -x / a * (h * (centre - 1.0 / a) + slope)
    h, slope = _beta_fraction(b, a, 1.0 - x, 0.0)
    return x / b * (h * centre + slope)
