"""The error function and the normal distribution in float64, for use inside kernels."""
from __future__ import annotations

import math

import numpy as np

from lucid_kernels import special_tables as tables

from ..runtime.jit import jit_exact, jit_inline
from .basic import exp, fma
from .polynomial import polynomial as horner
from .polynomial import select
from .series import polynomial

_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_LOW = -4.833646656726457e-17  # sqrt(1/2) minus the line above
_SQRT_PI = math.sqrt(math.pi)


# Polynomials, the highest power first, interpolated at Chebyshev points with 50 digits: erf(x) / x - 1 in x^2, |x| <= 1, and
# (x + 3.5) erfcx(x) in (x - 3.5) / (x + 3.5), 1 <= x <= 6, both to 1.1e-17 of erf(x).
_ERF_NEAR = (
    -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06, -1.492473690741966e-05,
    0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225, -0.02686617064323777, 0.11283791670945006,
    -0.37612638903183543, 0.12837916709551256,
)
_ERF_FAR = (
    -5.325852820005336e-07, 9.573808367772481e-06, 1.9030266990564716e-05, -7.514430910298664e-05, -4.2218305846265036e-05,
    0.0007145431863152921, -0.0013053403679673728, -0.0031770496303749167, 0.026518619309901546, -0.09231870668733425,
    0.22573862165794398, -0.43525602671603414, 0.6941136466345683, -0.9377997245671157, 1.0870555892622602,
)


@jit_inline
def erf(x: float) -> float:
    """The error function, without branches, so that loops vectorise: an eighth of the time of libm's. At most 1.2 ulp off."""
    size = min(abs(x), 6.0)  # from 5.92 on it is 1
    place = 1.0 / (size + 3.5)
    far = 1.0 - exp(-size * size) * (horner(_ERF_FAR, 1.0 - 7.0 * place) * place)
    return select(not size > 1.0, fma(horner(_ERF_NEAR, x * x), x, x), math.copysign(far, x))


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
