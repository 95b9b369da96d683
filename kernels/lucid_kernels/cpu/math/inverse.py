"""Hyperbolic functions and the inverses of these and of the circular ones, for formulas: float32, as in `elementary`.

Of float64 they are libm's, one element at a time.
"""
from __future__ import annotations

import math
from typing import Any

from ..runtime.jit import jit_inline
from . import basic as math_basic
from .basic import bits
from .elementary import log_body, vectorised, vectorised_pair
from .polynomial import polynomial, select

UNARY = ("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cosh", "sinh")

_HALF_PI, _QUARTER_PI = 0.5 * math.pi, 0.25 * math.pi
# sinh(x) = x P(x^2) for |x| < 1, by its series: the next term is below 2e-10 of the sum.
_SINH = tuple(1.0 / math.factorial(k) for k in range(11, 0, -2))
# Below this size, of the series of arcsinh and arctanh two terms are enough, and logarithms lose more than 1e-13.
_TINY = 1e-3


@jit_inline
def _sinh(x: float) -> float:
    power = math_basic.exp(abs(x))
    return select(abs(x) < 1.0, x * polynomial(_SINH, x * x), math.copysign(0.5 * (power - 1.0 / power), x))


@jit_inline
def _cosh(x: float) -> float:
    power = math_basic.exp(abs(x))
    return 0.5 * (power + 1.0 / power)


@jit_inline
def _arcsinh(x: float) -> float:
    size = abs(x)
    far = math.copysign(log_body(size + math.sqrt(size * size + 1.0)), x)
    return select(size < _TINY, x * (1.0 - x * x * (1.0 / 6.0)), far)


@jit_inline
def _arccosh(x: float) -> float:
    return select(x >= 1.0, log_body(x + math.sqrt(x * x - 1.0)), math.nan)


@jit_inline
def _arctanh(x: float) -> float:
    return select(abs(x) < _TINY, x * (1.0 + x * x * (1.0 / 3.0)), 0.5 * log_body((1.0 + x) / (1.0 - x)))


# arcsin(s) = s + s z P(z), z = s^2 <= 1/4, P fitted to 8e-11. Beyond, arcsin(x) = pi/2 - 2 arcsin(sqrt((1 - x) / 2)).
_ARCSIN = (0.02941468427506, 0.005347848170877, 0.01933886113428, 0.02212692148656, 0.03039811365813, 0.04464233869162,
           0.07500000629389, 0.1666666666542)  # fmt: skip


@jit_inline
def _half_arc(size: float) -> float:
    """arcsin(size) below 1/2, else arccos(size) / 2; NaN above 1."""
    z = select(size < 0.5, size * size, 0.5 * (1.0 - size))
    s = select(size < 0.5, size, math.sqrt(z))
    return s + s * z * polynomial(_ARCSIN, z)


@jit_inline
def _arcsin(x: float) -> float:
    arc = _half_arc(abs(x))
    return math.copysign(select(abs(x) < 0.5, arc, _HALF_PI - 2.0 * arc), x)


@jit_inline
def _arccos(x: float) -> float:
    arc = _half_arc(abs(x))
    near = _HALF_PI - math.copysign(arc, x)
    return select(abs(x) < 0.5, near, select(x < 0.0, math.pi - 2.0 * arc, 2.0 * arc))


# arctan(u) = u P(u^2) for |u| <= tan(pi / 8), P fitted to 2e-11. Larger ones are turned by -pi/4 or -pi/2 first.
_ARCTAN = (0.04712996843113, -0.08459108948715, 0.1104105411932, -0.1428163925584, 0.1999988589854, -0.3333333212788,
           0.9999999999791)  # fmt: skip
_TAN_22, _TAN_67 = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


@jit_inline
def _arc_of(rise: float, run: float) -> float:
    """The angle of the point (run, rise), neither of them negative, nor both zero or both infinite."""
    steep, middle = rise > run * _TAN_67, rise > run * _TAN_22
    u = select(steep, -run, select(middle, rise - run, rise)) / select(steep, rise, select(middle, rise + run, run))
    return select(steep, _HALF_PI, select(middle, _QUARTER_PI, 0.0)) + u * polynomial(_ARCTAN, u * u)


@jit_inline
def _arctan(x: float) -> float:
    return math.copysign(_arc_of(abs(x), 1.0), x)


@jit_inline
def _arctan2(y: float, x: float) -> float:
    rise, run = abs(y), abs(x)
    alike = (rise == math.inf) & (run == math.inf)
    run = select(alike | ((rise == 0.0) & (run == 0.0)), 1.0, run)
    arc = _arc_of(select(alike, 1.0, rise), run)
    return math.copysign(select(bits(x) < 0, math.pi - arc, arc), y)


def arccos(x: Any) -> Any:
    """The inverse of the cosine."""


def arccosh(x: Any) -> Any:
    """The inverse of the hyperbolic cosine."""


def arcsin(x: Any) -> Any:
    """The inverse of the sine."""


def arcsinh(x: Any) -> Any:
    """The inverse of the hyperbolic sine."""


def arctan(x: Any) -> Any:
    """The inverse of the tangent."""


def arctan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y)."""


def arctanh(x: Any) -> Any:
    """The inverse of the hyperbolic tangent."""


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""


vectorised(arccos, _arccos, math.acos)
vectorised(arccosh, _arccosh, math.acosh)
vectorised(arcsin, _arcsin, math.asin)
vectorised(arcsinh, _arcsinh, math.asinh)
vectorised(arctan, _arctan, math.atan)
vectorised_pair(arctan2, _arctan2, math.atan2)
vectorised(arctanh, _arctanh, math.atanh)
vectorised(cosh, _cosh, math.cosh)
vectorised(sinh, _sinh, math.sinh)
