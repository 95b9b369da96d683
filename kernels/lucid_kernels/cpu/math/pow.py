"""Powers of float64, at most 1.02 units in the last place off, in loops that LLVM vectorises: libm's take twice as long.

The logarithm has 64 bits, as it is multiplied by the exponent, and what that gives may be as large as 745. Its parts are sums
of two, of which the second is what the first rounded off: by fused multiplication and addition, that of a product is exact. So
nothing here may be contracted.
"""
from __future__ import annotations

import functools
import math

from ..runtime.jit import jit_strict
from . import basic as math_basic
from .basic import bits, fma, from_bits
from .polynomial import ROUND, ROUND_BITS, SQRT_HALF_BITS, polynomial, select

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first has 32 bits
_TWO_THIRDS, _TWO_THIRDS_LOW = 2 / 3, 3.700743415417188e-17
# The series of log(m) / s - 2 - 2/3 s^2 over s^4, in s^2, with s = (m - 1) / (m + 1), |s| < 0.172.
_FURTHER = tuple(2.0 / k for k in range(23, 3, -2))
# exp(r) = 1 + r + r^2 P(r), |r| <= ln2 / 2.
_EXP = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))
_SMALLEST_NORMAL = 2.0**-1022
_BEYOND = 800.0  # e to the power of it is infinite
_TO_NORMAL = 2.0**54


@functools.partial(jit_strict, inline=True)
def power_of_size(size: float, y: float) -> float:
    """`size`, which has no sign, to the power y; nothing in particular where one of them is NaN."""
    tiny = size < _SMALLEST_NORMAL
    scaled = select(tiny, size * _TO_NORMAL, size)
    exponent = (bits(scaled) - SQRT_HALF_BITS) >> 52
    m = from_bits(bits(scaled) - (exponent << 52))
    n = (from_bits(exponent + ROUND_BITS) - ROUND) - select(tiny, 54.0, 0.0)
    # The logarithm of m, as 2 s + 2/3 s^3 + further terms, which need one number only.
    above = m + 1.0
    inverse = 1.0 / above
    s = (m - 1.0) * inverse
    s_low = (fma(-s, above, m - 1.0) - s * (m - (above - 1.0))) * inverse
    square = s * s
    square_low = fma(s, s, -square) + 2.0 * s * s_low
    cube = s * square
    cube_low = fma(s, square, -cube) + (s * square_low + s_low * square)
    third = cube * _TWO_THIRDS
    third_low = fma(cube, _TWO_THIRDS, -third) + (cube_low * _TWO_THIRDS + cube * _TWO_THIRDS_LOW)
    low = third_low + cube * square * polynomial(_FURTHER, square) + (2.0 * s_low + n * _LN2_LOW)
    # n ln2 and these terms, the largest first.
    whole = n * _LN2_HIGH
    first = whole + 2.0 * s
    second = first + third
    low += ((whole - first) + 2.0 * s) + ((first - second) + third)
    high = second + low
    low += second - high
    # e to the power of y times that.
    product = y * high
    within = select(product > _BEYOND, _BEYOND, select(product < -_BEYOND, -_BEYOND, product))
    product_low = select(within == product, fma(y, high, -product) + y * low, 0.0)
    shifted = within * math_basic.LOG2_E64 + ROUND
    k = shifted - ROUND
    left = fma(-k, _LN2_HIGH, within)
    less = product_low - k * _LN2_LOW
    r = left + less
    small = fma(r * r, polynomial(_EXP, r), (left - r) + less)
    value = math_basic.scaled64(1.0 + (r + small), shifted)
    grows = (size > 1.0) == (y > 0.0)
    return select(size == 0.0 or size == math.inf or abs(y) == math.inf, select(grows, math.inf, 0.0), value)
