"""The regularised incomplete gamma functions P and Q = 1 - P in float64, for use inside kernels.

`tolerance` is the relative size of the terms at which sums and fractions end.

Which of the expansions is used where follows Cephes (igam.c); they are cited at the functions.
"""
from __future__ import annotations

import math

import numpy as np

from lucid_kernels import special_tables as tables

from ..runtime.jit import jit_exact
from .series import polynomial

_LARGE = 200.0  # from here on the uniform expansion, where x / a is near 1
_EULER_GAMMA = 0.57721566490153286


@jit_exact
def _lgamma1p(a: float) -> float:
    """lgamma(1 + a), exact to its last digits near 0 too; |a| <= 1/2. Abramowitz & Stegun 6.1.33."""
    return a * (1.0 - _EULER_GAMMA) - math.log1p(a) + a * a * _alternating(a)


@jit_exact
def _alternating(a: float) -> float:
    """The sum of (-1)^n (zeta(n) - 1) a^(n-2) / n over n >= 2."""
    total = 0.0
    count = tables.ZETA_MINUS_ONE.shape[0]
    for i in range(count):
        total = total * -a + tables.ZETA_MINUS_ONE[i] / (count + 1 - i)
    return total


@jit_exact
def excess(u: float) -> float:
    """u - log(1 + u), without cancellation near 0: with s = u / (2 + u) the logarithm is 2 (s + s^3 / 3 + ...)."""
    if abs(u) > 0.5:
        return u - math.log1p(u)
    s = u / (2.0 + u)
    square = s * s
    total = 0.0
    for k in range(18, 0, -1):
        total = total * square + 1.0 / (2 * k + 1)
    return u * s - 2.0 * s * square * total


@jit_exact
def _density(a: float, x: float) -> float:
    """x^a exp(-x) / Gamma(a + 1). For large `a` relative to its peak: the powers would cancel."""
    if a < 10.0:
        return math.exp(a * math.log(x) - x - (_lgamma1p(a) if a <= 0.5 else math.lgamma(a + 1.0)))
    r = 1.0 / (a * a)
    stirling = polynomial(tables.STIRLING, r) / a
    return math.exp(-a * excess((x - a) / a) - stirling) / math.sqrt(2.0 * math.pi * a)


@jit_exact
def _series_p(a: float, x: float, tolerance: float) -> float:
    """P by its power series, DLMF 8.11.4."""
    term, total, n = 1.0, 1.0, a
    for _ in range(2000):
        n += 1.0
        term *= x / n
        total += term
        if term <= tolerance * total:
            break
    return total * _density(a, x)


@jit_exact
def _series_q(a: float, x: float, tolerance: float) -> float:
    """Q for small `a` and `x` by the power series of P (DLMF 8.7.3), from which 1 has been taken away."""
    term, total = 1.0, 0.0
    for n in range(1, 2000):
        term *= -x / n
        total += term / (a + n)
        if abs(term) <= tolerance * abs(total) * (a + n):
            break
    log_gamma = _lgamma1p(a) if a <= 0.5 else math.lgamma(1.0 + a)
    power = a * math.log(x) - log_gamma
    return -math.expm1(power) - a * math.exp(power) * total


@jit_exact
def _fraction_q(a: float, x: float, tolerance: float) -> float:
    """Q by its continued fraction, DLMF 8.9.2, evaluated by Lentz's method (Numerical Recipes, 5.2)."""
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    h = d
    for i in range(1, 2000):
        numerator = -i * (i - a)
        b += 2.0
        d = numerator * d + b
        d = 1.0 / (d if abs(d) > 1e-300 else 1e-300)
        c = b + numerator / c
        c = c if abs(c) > 1e-300 else 1e-300
        h *= d * c
        if abs(d * c - 1.0) <= 2.0 * tolerance:
            break
    return a * _density(a, x) * h


@jit_exact
def _uniform(a: float, x: float, sign: float) -> float:
    """P (`sign` -1) or Q (1) for large `a` and x near it: Temme's uniform expansion, DLMF 8.12.3-8.12.8."""
    u = (x - a) / a
    exponent = excess(u)
    eta = math.copysign(math.sqrt(2.0 * exponent), u)
    total = 0.0
    for k in range(tables.TEMME.shape[0] - 1, -1, -1):
        row = 0.0
        for n in range(tables.TEMME.shape[1] - 1, -1, -1):
            row = row * eta + tables.TEMME[k, n]
        total = total / a + row
    rest = math.exp(-a * exponent) / math.sqrt(2.0 * math.pi * a) * total
    return 0.5 * math.erfc(sign * eta * math.sqrt(0.5 * a)) + sign * rest


@jit_exact
def _is_uniform(a: float, x: float) -> bool:
    return a > _LARGE and abs(x - a) < 0.3 * a


@jit_exact
def gammainc(a: float, x: float, tolerance: float) -> float:
    """P(a, x), for a >= 0 and x >= 0; NaN elsewhere."""
    if not (a >= 0.0 and x >= 0.0) or (a == 0.0 and x == 0.0) or (a == np.inf and x == np.inf):
        return np.nan
    if a == 0.0 or x == np.inf:
        return 1.0
    if x == 0.0 or a == np.inf:
        return 0.0
    if _is_uniform(a, x):
        return _uniform(a, x, -1.0)
    if x > 1.0 and x > a:
        return 1.0 - gammaincc(a, x, tolerance)
    return _series_p(a, x, tolerance)


@jit_exact
def gammaincc(a: float, x: float, tolerance: float) -> float:
    """Q(a, x) = 1 - P(a, x), with small relative error where it is small."""
    if not (a >= 0.0 and x >= 0.0) or (a == 0.0 and x == 0.0) or (a == np.inf and x == np.inf):
        return np.nan
    if a == 0.0 or x == np.inf:
        return 0.0
    if x == 0.0 or a == np.inf:
        return 1.0
    if _is_uniform(a, x):
        return _uniform(a, x, 1.0)
    if x > 1.1:
        return _fraction_q(a, x, tolerance) if x > a else 1.0 - _series_p(a, x, tolerance)
    from_p = -0.4 / math.log(x) < a if x <= 0.5 else 1.1 * x < a
    return 1.0 - _series_p(a, x, tolerance) if from_p else _series_q(a, x, tolerance)
