"""Special functions of float32 in float64 without branches, so that LLVM vectorises the loops that call them.

Every function takes and returns a float64, with a relative error of 1e-9 at most: rounded to float32 it is the nearest number but
for the last bit. What an argument does not need is computed all the same and then not chosen, so choices stand last. The domain
is that of float32: nothing overflows in float64. The formulas are those of the other `_special_*.py`, where they are cited.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_inline
from . import basic as math_basic
from . import polynomial_tables as single
from .basic import bits, from_bits

_LN2 = math.log(2.0)
_SQRT_HALF = math.sqrt(0.5)
SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer
ROUND_BITS = np.int64(0x4338000000000000)
_INTEGERS = 8388608.0  # 2^23: from here on every float32 is an integer
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@intrinsic
def polynomial(typing_context: Any, coefficients: Any, x: Any) -> Any:
    """The polynomial with the tuple `coefficients`, the one of the highest power first, at `x` (Horner), without a loop."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        double = ir.DoubleType()
        fma = builder.module.declare_intrinsic("llvm.fma", [double], ir.FunctionType(double, [double] * 3))
        total = builder.extract_value(values[0], 0)
        for k in range(1, coefficients.count):
            total = builder.call(fma, (total, values[1], builder.extract_value(values[0], k)))
        return total

    return types.float64(coefficients, types.float64), generate


@intrinsic
def select(typing_context: Any, condition: Any, first: Any, second: Any) -> Any:
    """`first` if `condition` else `second`, both computed. Branches LLVM would fill with all that only one side needs, and then
    not vectorise.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(*values)

    return types.float64(types.boolean, types.float64, types.float64), generate


@jit_inline
def _log(x: float) -> float:
    """The logarithm of a positive, finite number."""
    exponent = (bits(x) - SQRT_HALF_BITS) >> 52
    mantissa = from_bits(bits(x) - (exponent << 52))  # between sqrt(1/2) and sqrt(2)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return (from_bits(exponent + ROUND_BITS) - ROUND) * _LN2 + s * polynomial(single.LOG, s * s)


@jit_inline
def _fraction(x: float) -> float:
    """x minus the nearest integer, exact."""
    return select(abs(x) < _INTEGERS, x - ((x + ROUND) - ROUND), 0.0)


# ---- error functions and the normal distribution ----------------------------------------------------------------------


@jit_inline
def _scaled_erfc(size: float) -> float:
    """exp(x^2) erfc(x) for x >= 0."""
    size = select(size > 1e60, 1e60, size)  # inf would make NaN
    return polynomial(single.SCALED_ERFC, (size - 3.5) / (size + 3.5)) / (1.0 + 2.0 * size)


@jit_inline
def erfc(x: float) -> float:
    """1 - erf(x)."""
    size = abs(x)
    tail = math_basic.exp(-size * size) * _scaled_erfc(size)
    near = 1.0 - x * polynomial(single.ERF, x * x)
    return select(not size > 0.4, near, select(x < 0.0, 2.0 - tail, tail))


@jit_inline
def erfcx(x: float) -> float:
    """exp(x^2) erfc(x)."""
    scaled = _scaled_erfc(abs(x))
    return select(x < 0.0, 2.0 * math_basic.exp(x * x) - scaled, scaled)


@jit_inline
def ndtr(x: float) -> float:
    """The normal distribution function."""
    return 0.5 * erfc(-x * _SQRT_HALF)


@jit_inline
def log_ndtr(x: float) -> float:
    """The logarithm of `ndtr`; log1p by Kahan's quotient, which makes up for the rounding of 1 - upper."""
    scaled = _scaled_erfc(abs(x) * _SQRT_HALF)
    tail = 0.5 * scaled * math_basic.exp(-0.5 * x * x)
    upper = select(x < 0.0, 1.0 - tail, tail)
    lower = 1.0 - upper
    logarithm = _log(select(x < -1.0, 0.5 * scaled, lower))
    near = select(lower == 1.0, -upper, logarithm * (upper / (1.0 - lower)))
    value = select(x < -1.0, logarithm - 0.5 * x * x, near)
    return select(x != x, x, value)


@jit_inline
def _quantile(q: float, tail: float) -> float:
    """The size of the normal quantile of 1/2 + q, tail = 1/2 - |q|. Wichura (1988), algorithm AS 241."""
    centre = 0.180625 - q * q
    r = math.sqrt(-_log(tail))
    inner = abs(q) * (polynomial(single.QUANTILE_CENTRE_P, centre) / polynomial(single.QUANTILE_CENTRE_Q, centre))
    outer = polynomial(single.QUANTILE_TAIL_P, r - 1.6) / polynomial(single.QUANTILE_TAIL_Q, r - 1.6)
    outermost = polynomial(single.QUANTILE_FAR_P, r - 5.0) / polynomial(single.QUANTILE_FAR_Q, r - 5.0)
    return select(abs(q) <= 0.425, inner, select(r > 5.0, outermost, outer))


@jit_inline
def ndtri(p: float) -> float:
    """The inverse of `ndtr`; NaN outside [0, 1]."""
    q = p - 0.5
    size = _quantile(q, select(p < 0.5, p, 1.0 - p))
    size = select((p == 0.0) | (p == 1.0), np.inf, size)
    size = select((p >= 0.0) & (p <= 1.0), size, np.nan)
    return select(q < 0.0, -size, size)


@jit_inline
def erfinv(y: float) -> float:
    """The inverse of erf; NaN outside [-1, 1]."""
    size = _SQRT_HALF * _quantile(0.5 * y, 0.5 * (1.0 - abs(y)))
    size = select(abs(y) == 1.0, np.inf, size)
    size = select(abs(y) <= 1.0, size, np.nan)
    return select(y < 0.0, -size, size)


# ---- gamma functions --------------------------------------------------------------------------------------------------


@jit_inline
def _lgamma_positive(x: float) -> float:
    """lgamma of x >= 1/2. Up to 5.5 it is that of a number near 2 and the logarithm of a product; beyond, Stirling's series."""
    below, large = x < 1.5, x >= 5.5
    down = select(below, -1.0, select(x < 2.5, 0.0, select(x < 3.5, 1.0, select(x < 4.5, 2.0, 3.0))))
    product = select(below, x, select(x < 2.5, 1.0, x - 1.0))
    product = select(x < 3.5, product, product * (x - 2.0))
    product = select(x < 4.5, product, product * (x - 3.0))
    logarithm = _log(select(large, x, product))
    t = (x - 2.0) - down
    near = t * polynomial(single.LGAMMA_2, t) + select(below, -logarithm, logarithm)
    r = 1.0 / x
    far = (x - 0.5) * logarithm - x + _HALF_LOG_TWO_PI + r * polynomial(single.STIRLING, r * r)
    return select(large, far, near)


@jit_inline
def lgamma(x: float) -> float:
    """log |Gamma(x)|; inf at 0 and the negative integers. Reflection below 1/2."""
    f = _fraction(x)
    reflected = x < 0.5
    core = _lgamma_positive(select(reflected, 1.0 - x, x))
    sine = abs(f * polynomial(single.SIN_PI, f * f))
    value = select(reflected, _log(math.pi / sine) - core, core)
    value = select(((f == 0.0) & (x <= 0.0)) | (abs(x) == np.inf), np.inf, value)
    return select(x != x, x, value)


@jit_inline
def digamma(x: float) -> float:
    """The derivative of lgamma; NaN at the negative integers, an infinity of the sign of -x at zero."""
    f = _fraction(x)
    y = select(x < 0.0, 1.0 - x, x)
    numerator, denominator = 0.0, 1.0  # of the sum of 1 / (y + k), k = 0 ... 7
    for k in range(8):
        numerator = numerator * (y + k) + denominator
        denominator *= y + k
    small = y < 8.0
    z = select(small, y + 8.0, y)
    r = 1.0 / (z * z)
    value = _log(z) - 0.5 / z - r * polynomial(single.DIGAMMA, r)
    value -= select(small, numerator / denominator, 0.0)
    cotangent = polynomial(single.COS_PI, f * f) / (f * polynomial(single.SIN_PI, f * f))
    value -= select(x < 0.0, math.pi * cotangent, 0.0)
    value = select((f == 0.0) & (x < 0.0), np.nan, value)
    value = select(x == 0.0, -1.0 / x, value)
    return select(abs(x) < np.inf, value, select(x > 0.0, x, np.nan))


@jit_inline
def trigamma(x: float) -> float:
    """The derivative of digamma; inf at 0 and the negative integers."""
    f = _fraction(x)
    y = select(x < 0.0, 1.0 - x, x)
    numerator, denominator = 0.0, 1.0  # of the sum of 1 / (y + k)^2, k = 0 ... 7
    for k in range(8):
        square = (y + k) * (y + k)
        numerator = numerator * square + denominator
        denominator *= square
    small = y < 8.0
    z = select(small, y + 8.0, y)
    r = 1.0 / z
    value = r + 0.5 * r * r + r * r * r * polynomial(single.TRIGAMMA, r * r)
    value += select(small, numerator / denominator, 0.0)
    sine = f * polynomial(single.SIN_PI, f * f)
    value = select(x < 0.0, (math.pi / sine) * (math.pi / sine) - value, value)
    value = select((f == 0.0) & (x <= 0.0), np.inf, value)
    return select(x == -np.inf, np.nan, value)


# ---- Bessel functions -------------------------------------------------------------------------------------------------


@jit_inline
def i0e(x: float) -> float:
    """exp(-|x|) I0(x)."""
    size = abs(x)
    near = math_basic.exp(-size) * polynomial(single.I0, 0.25 * size * size)
    return select(size <= 8.0, near, polynomial(single.I0_FAR, 1.0 / size) / math.sqrt(size))


@jit_inline
def i0(x: float) -> float:
    """I0(x); float32 ends at 92."""
    size = select(abs(x) > 200.0, 200.0, abs(x))
    near = polynomial(single.I0, 0.25 * size * size)
    value = select(size <= 8.0, near, math_basic.exp(size) * polynomial(single.I0_FAR, 1.0 / size) / math.sqrt(size))
    return select(x != x, x, value)


@jit_inline
def i1e(x: float) -> float:
    """exp(-|x|) I1(x)."""
    size = abs(x)
    near = math_basic.exp(-size) * x * polynomial(single.I1, 0.25 * size * size)
    far = polynomial(single.I1_FAR, 1.0 / size) / math.sqrt(size)
    return select(size <= 8.0, near, select(x < 0.0, -far, far))


@jit_inline
def i1(x: float) -> float:
    """I1(x); float32 ends at 92."""
    size = select(abs(x) > 200.0, 200.0, abs(x))
    near = x * polynomial(single.I1, 0.25 * size * size)
    far = math_basic.exp(size) * polynomial(single.I1_FAR, 1.0 / size) / math.sqrt(size)
    value = select(size <= 8.0, near, select(x < 0.0, -far, far))
    return select(x != x, x, value)
