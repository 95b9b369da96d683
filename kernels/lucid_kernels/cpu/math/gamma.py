"""The derivatives of lgamma and the Hurwitz zeta function in float64, for use inside kernels."""
from __future__ import annotations

import math

import numpy as np

from lucid_kernels import special_tables as tables

from ..runtime.jit import jit_exact
from .series import polynomial

# The zero of digamma in three parts, each exact in float64 where it is subtracted.
_ZERO_HIGH = 1569415565.0 / 1073741824.0
_ZERO_MIDDLE = 381566830.0 / 1073741824.0 / 1073741824.0
_ZERO_LOW = 9.016312093258695918615e-20


@jit_exact
def digamma(x: float) -> float:
    """The derivative of lgamma. NaN at the negative integers, an infinity of the sign of -x at zero.

    Reflection for negative x, recurrence down to [1, 2] or the asymptotic series, Abramowitz & Stegun 6.3.
    """
    if x == 0.0:
        return math.copysign(np.inf, -x)
    reflected = 0.0
    if x < 0.0:
        if x == math.floor(x):
            return np.nan
        fraction = x - np.rint(x)  # exact; tan has the period pi
        reflected = -math.pi / math.tan(math.pi * fraction)
        x = 1.0 - x
    if x >= 10.0:
        r = 1.0 / (x * x)
        return reflected + (math.log(x) - 0.5 / x - r * polynomial(tables.DIGAMMA_ASYMPTOTIC, r))
    shift = 0.0
    while x > 2.0:
        x -= 1.0
        shift += 1.0 / x
    if x < 1.0:
        shift -= 1.0 / x
        t = x
        from_zero = (x + (1.0 - _ZERO_HIGH)) - _ZERO_MIDDLE - _ZERO_LOW
    else:
        t = x - 1.0
        from_zero = x - _ZERO_HIGH - _ZERO_MIDDLE - _ZERO_LOW
    ratio = polynomial(tables.DIGAMMA_P, t) / polynomial(tables.DIGAMMA_Q, t)
    return reflected + (shift + from_zero * (0.99558162689208984375 + ratio))


@jit_exact
def zeta(x: float, q: float) -> float:
    """The Hurwitz zeta function, the sum of (k + q)^-x over k >= 0; inf at x = 1 and at the poles, NaN where undefined.

    Ten terms or more, and the Euler-Maclaurin correction for the rest: Cephes, zeta.c.
    """
    if x == 1.0:
        return np.inf
    if not x > 1.0 or q != q:
        return np.nan
    if q <= 0.0:
        if q == math.floor(q):
            return np.inf
        if x != math.floor(x):
            return np.nan
    total = math.pow(q, -x)
    a = q
    term = 0.0
    i = 0
    while i < 9 or a <= 9.0:
        i += 1
        a += 1.0
        term = math.pow(a, -x)
        total += term
        if abs(term) < 1.1e-16 * abs(total):
            return total
    total += term * a / (x - 1.0) - 0.5 * term
    factor, k = 1.0, 0.0
    for i in range(12):
        factor *= x + k
        term /= a
        correction = factor * term / tables.EULER_MACLAURIN[i]
        total += correction
        if abs(correction) < 1.1e-16 * abs(total):
            return total
        k += 1.0
        factor *= x + k
        term /= a
        k += 1.0
    return total


@jit_exact
def polygamma(x: float, n: float, factor: float) -> float:
    """The derivative of order n >= 1 of digamma; `factor` is (-1)^(n+1) n!. Abramowitz & Stegun 6.4.10.

    The first derivative of negative x is reflected (6.4.7), which costs the same however far from 0.
    """
    if n == 1.0 and np.isinf(x):
        return 0.0 if x > 0.0 else np.nan
    if n == 1.0 and x < 0.0 and x != math.floor(x):
        sine = math.sin(math.pi * (x - np.rint(x)))
        return (math.pi / sine) * (math.pi / sine) - zeta(2.0, 1.0 - x)
    return factor * zeta(n + 1.0, x)
