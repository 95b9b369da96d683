"""Functions for formulas beside those of `basic`.

Those of float32 are computed in float64, without branches, so that LLVM vectorises the loops that call them, and rounded
once: errors are at most 0.51 units in the last place (1.2 of logarithms, `exp2`, `expm1` and `erf`, which are computed in
float32). libm, one element at a time, takes 4 to 17 times as long. Of float64 there are `log`, `log1p`, `expm1` and `erf`, which
most activations and losses are made of, `power` and `hypot`; the others are left to it.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ..runtime.intrinsic import intrinsic
from ..runtime.jit import EXACT, jit_inline
from . import basic as math_basic
from . import log as math_log
from .basic import bits, fma, from_bits, real_intrinsic
from .normal import erf as double_erf
from .polynomial import ROUND, ROUND_BITS, SQRT_HALF_BITS, polynomial, select
from .polynomial import erfc as single_erfc
from .pow import power_of_size

__all__ = ["UNARY", "ceil", "cos", "erf", "erfc", "exp2", "expm1", "floor", "fmod", "hypot", "log", "log1p", "log2", "log10",
           "maximum", "minimum", "power", "rint", "sin", "tan", "trunc"]
UNARY = ("ceil", "cos", "erf", "erfc", "exp2", "expm1", "floor", "log", "log1p", "log2", "log10", "rint", "sin", "tan", "trunc")


# ---- choices -------------------------------------------------------------------------------------------------------------
def _choice(comparison: str) -> Callable[..., Any]:
    """`x` where it compares so to `y`, or is NaN, else `y`: three instructions. LLVM's own `maximum`, which also tells the zeros
    apart, takes more; `clip` of 1M elements took 1.4 times as long.
    """

    def typed(typing_context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            x, y = values
            chosen = builder.select(builder.fcmp_ordered(comparison, x, y), x, y)
            return builder.select(builder.fcmp_unordered("uno", x, x), x, chosen)

        return x(x, y), generate

    return typed


@intrinsic
def maximum(typing_context: Any, x: Any, y: Any) -> Any:
    """The larger one, NaN if either is NaN."""
    return _choice(">")(typing_context, x, y)


@intrinsic
def minimum(typing_context: Any, x: Any, y: Any) -> Any:
    """The smaller one, NaN if either is NaN."""
    return _choice("<")(typing_context, x, y)


# ---- LLVM's own ----------------------------------------------------------------------------------------------------------
@intrinsic
def floor(typing_context: Any, x: Any) -> Any:
    """The largest integer not above `x`."""
    return real_intrinsic("llvm.floor", 1)(x)


@intrinsic
def ceil(typing_context: Any, x: Any) -> Any:
    """The smallest integer not below `x`."""
    return real_intrinsic("llvm.ceil", 1)(x)


@intrinsic
def trunc(typing_context: Any, x: Any) -> Any:
    """`x` without its fraction."""
    return real_intrinsic("llvm.trunc", 1)(x)


@intrinsic
def rint(typing_context: Any, x: Any) -> Any:
    """The nearest integer, halves to even."""
    return real_intrinsic("llvm.rint", 1)(x)


# ---- logarithms, powers and exponentials -----------------------------------------------------------------------------------
# log(m) = 2 artanh(s), s = (m - 1) / (m + 1), by its series: |s| < 0.172 for m between sqrt(1/2) and sqrt(2), so the next term
# is below 1e-14 of the sum. A power multiplies the error by up to 90, so the logarithm of `polynomial` would not do.
_ARTANH = tuple(2.0 / k for k in range(17, 0, -2))
_LN2 = math.log(2.0)


@jit_inline
def _log_positive(x: float) -> float:
    """The logarithm of a positive, finite number."""
    exponent = (bits(x) - SQRT_HALF_BITS) >> 52
    mantissa = from_bits(bits(x) - (exponent << 52))
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return (from_bits(exponent + ROUND_BITS) - ROUND) * _LN2 + s * polynomial(_ARTANH, s * s)


@jit_inline
def log_body(x: float) -> float:
    value = select(x < math.inf, _log_positive(x), x)
    return select(x > 0.0, value, select(x == 0.0, -math.inf, math.nan))


@jit_inline
def _power_of_signed(x: float, y: float, value: float) -> float:
    """x to the power y, `value` for the size of x, with the exceptions of C99, annex F.9.4.4."""
    value = select(abs(x) == 1.0, 1.0, value)
    half = 0.5 * y
    odd = rint(half) != half
    negative = bits(x) < 0
    value = select(negative and odd, -value, value)
    value = select(x < 0.0 and rint(y) != y and x > -math.inf, math.nan, select(rint(y) != y, abs(value), value))
    value = select(x != x or y != y, math.nan, value)
    return select(x == 1.0 or y == 0.0, 1.0, value)


@jit_inline
def _power(x: float, y: float) -> float:
    size = abs(x)
    logarithm = select(size == 0.0, -math.inf, select(size < math.inf, _log_positive(size), size))
    return _power_of_signed(x, y, math_basic.exp(y * logarithm))


@jit_inline
def _power64(x: float, y: float) -> float:
    return _power_of_signed(x, y, power_of_size(abs(x), y))


# ---- the same of float64, at most 1.3 units in the last place off ------------------------------------------------------------
# fdlibm's e_log.c: with f = m - 1, s = f / (2 + f) and R(s^2), log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R), fitted to 2^-58.
_LOG_R = (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
          2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01)  # fmt: skip
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first has 32 bits


@jit_inline
def _log_double(x: float, error: float) -> float:
    """log(x + error), where `error` is less than half a unit in the last place of x; NaN below 0."""
    tiny = x < 2.0**-1022  # an integer is a subnormal number without its exponent
    scaled = select(tiny, x * 2.0**54, x)
    exponent = (bits(scaled) - SQRT_HALF_BITS) >> 52
    mantissa = from_bits(bits(scaled) - (exponent << 52))
    f = mantissa - 1.0
    s = f / (2.0 + f)
    half = 0.5 * f * f
    n = (from_bits(exponent + ROUND_BITS) - ROUND) - select(tiny, 54.0, 0.0)
    square = s * s
    rest = s * (half + square * polynomial(_LOG_R, square)) + (n * _LN2_LOW + error / x)
    value = n * _LN2_HIGH - ((half - rest) - f)
    value = select(x < math.inf, value, x)
    return select(x > 0.0, value, select(x == 0.0, -math.inf, math.nan))


@jit_inline
def _log64(x: float) -> float:
    return _log_double(x, 0.0)


@jit_inline
def _log1p64(x: float) -> float:
    u = 1.0 + x
    # What is rounded off, exact: the smaller one is subtracted from the sum last.
    error = select(abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x))
    return select(u == 1.0, x, select(u < math.inf, _log_double(u, error), _log_double(u, 0.0)))


# exp(r) - 1 = r + r^2 P(r), |r| <= ln2 / 2: the next term of the series is below 2e-17 of the sum.
_EXPM1 = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))


@jit_inline
def _expm1_64(x: float) -> float:
    """2^n expm1(r) + (2^n - 1), x = n ln2 + r with what is rounded off r; both halved, as 2^1024 is infinite."""
    within = select(x < -40.0, -40.0, select(x > 710.0, 710.0, x))
    shifted = within * math_basic.LOG2_E64 + ROUND
    n = shifted - ROUND
    high = within - n * math_basic.LN2_HIGH64
    r = high - n * math_basic.LN2_LOW64
    small = fma(r * r, polynomial(_EXPM1, r), (high - r) - n * math_basic.LN2_LOW64)
    scale = from_bits((bits(shifted) - ROUND_BITS + 1022) << 52)
    value = 2.0 * (fma(scale, r, scale - 0.5) + scale * small)
    return select(x < math.inf and x != 0.0, select(n == 0.0, r + small, value), x)


# ---- rests and distances ---------------------------------------------------------------------------------------------------
# The rest by multiples of y 2^260, y 2^208, ..., y: quotients have at most 53 bits, so a product with y that is added unrounded
# leaves an exact rest, at most one divisor off. Quotients of float32 are below 2^278. libm's takes 10 times as long.
@jit_inline
def _fmod(x: float, y: float) -> float:
    rest, divisor = abs(x), abs(y)
    inverse = 1.0 / divisor
    rest = fma(-trunc(rest * (inverse * 2.0**-260)), divisor * 2.0**260, rest)
    rest = fma(-trunc(rest * (inverse * 2.0**-208)), divisor * 2.0**208, rest)
    rest = fma(-trunc(rest * (inverse * 2.0**-156)), divisor * 2.0**156, rest)
    rest = fma(-trunc(rest * (inverse * 2.0**-104)), divisor * 2.0**104, rest)
    rest = fma(-trunc(rest * (inverse * 2.0**-52)), divisor * 2.0**52, rest)
    rest = fma(-trunc(rest * inverse), divisor, rest)
    rest = select(rest < 0.0, rest + divisor, select(rest >= divisor, rest - divisor, rest))
    return math.copysign(select(divisor == math.inf and abs(x) < math.inf, abs(x), rest), x)


@jit_inline
def _hypot(x: float, y: float) -> float:
    size = math.sqrt(x * x + y * y)  # of float32: no square is too large or too small
    return select(abs(x) == math.inf or abs(y) == math.inf, math.inf, size)


@jit_inline
def _hypot64(x: float, y: float) -> float:
    """At most 0.75 ulp off, which PyTorch's is by 0.94. Borges, "An improved algorithm for hypot(a, b)", 2019."""
    longer, shorter = max(abs(x), abs(y)), min(abs(x), abs(y))
    large, small = longer > 1e150, longer < 1e-150  # whose squares are too large or too small
    scale = select(large, 2.0**-600, select(small, 2.0**600, 1.0))
    a, b = longer * scale, shorter * scale
    size = math.sqrt(fma(a, a, b * b))
    square, whole = size * size, a * a
    excess = fma(-b, b, square - whole) + fma(size, size, -square) - fma(a, a, -whole)
    size = select(size > 0.0, size - excess / (2.0 * size), size) * select(large, 2.0**600, select(small, 2.0**-600, 1.0))
    size = select(x == x and y == y, size, x + y)
    return select(abs(x) == math.inf or abs(y) == math.inf, math.inf, size)


# ---- circular functions ------------------------------------------------------------------------------------------------------
# x = m 2^e with an integer m of 24 bits. The table has 2^e in quarter turns, less whole turns, in two parts: the first is a
# multiple of 2^-27, so its product with m is exact, and the second has all digits that are needed behind it. So arguments of
# any size are reduced. Payne and Hanek, "Radian reduction for trigonometric functions", 1983.
_PI = Fraction(31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679, 10**100)


def _quarter_turns() -> tuple[np.ndarray, np.ndarray]:
    first, second = np.full(256, np.nan), np.full(256, np.nan)
    for exponent in range(255):
        turns = Fraction(2) ** (max(exponent, 1) - 150) * 2 / _PI % 4
        first[exponent] = float(Fraction(math.floor(turns * 2**27), 2**27))
        second[exponent] = float(turns - Fraction(first[exponent]))
    return first, second


_TURNS, _MORE_TURNS = _quarter_turns()
_SIN = tuple((-1.0) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(7, -1, -1))
_COS = tuple((-1.0) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(7, -1, -1))
_SINGLE_BITS = np.int32(0x007FFFFF)
_SINGLE_ONE = np.int32(0x00800000)


@jit_inline
def _reduced(x: Any) -> tuple[float, int]:
    """A float32 in quarter turns from the nearest whole one, and the number of that, of which the last two bits count."""
    pattern = bits(x)
    exponent = (pattern >> np.int32(23)) & np.int32(255)
    whole = (pattern & _SINGLE_BITS) | (_SINGLE_ONE if exponent > 0 else np.int32(0))
    mantissa = np.float64(-whole if pattern < 0 else whole)
    exact = mantissa * _TURNS[exponent]
    more = mantissa * _MORE_TURNS[exponent]
    shifted = (exact + more) + ROUND
    return (exact - (shifted - ROUND)) + more, bits(shifted)


@jit_inline
def _sine(turns: float, quarter: int) -> float:
    square = turns * turns
    value = select(quarter & 1 == 1, polynomial(_COS, square), turns * polynomial(_SIN, square))
    return select(quarter & 2 == 2, -value, value)


@jit_inline
def _sin32(x: Any) -> Any:
    turns, quarter = _reduced(x)
    return np.float32(select(x == 0.0, x, _sine(turns, quarter)))  # also of -0.0


@jit_inline
def _cos32(x: Any) -> Any:
    turns, quarter = _reduced(x)
    return np.float32(_sine(turns, quarter + 1))


@jit_inline
def _tan32(x: Any) -> Any:
    turns, quarter = _reduced(x)
    return np.float32(select(x == 0.0, x, _sine(turns, quarter) / _sine(turns, quarter + 1)))


# ---- by type -----------------------------------------------------------------------------------------------------------------
def log(x: Any) -> Any:
    """The natural logarithm."""


def log2(x: Any) -> Any:
    """The logarithm to base 2."""


def log10(x: Any) -> Any:
    """The logarithm to base 10."""


def log1p(x: Any) -> Any:
    """log(1 + x)."""


def exp2(x: Any) -> Any:
    """2 to the power x."""


def expm1(x: Any) -> Any:
    """exp(x) - 1."""


def erf(x: Any) -> Any:
    """The error function."""


def erfc(x: Any) -> Any:
    """1 - erf(x)."""


def sin(x: Any) -> Any:
    """The sine."""


def cos(x: Any) -> Any:
    """The cosine."""


def tan(x: Any) -> Any:
    """The tangent."""


def power(x: Any, y: Any) -> Any:
    """x to the power y."""


def fmod(x: Any, y: Any) -> Any:
    """The rest of the division of x by y, with the sign of x."""


def hypot(x: Any, y: Any) -> Any:
    """The root of x^2 + y^2."""


_OPTIONS: Any = {"fastmath": EXACT, "error_model": "numpy", "forceinline": True}


def vectorised(function: Any, single: Any, double: Any, native: bool = False) -> None:
    """In jitted code, `function` is `double` for a float64, and `single` for a float32, widened unless that is `native`."""

    def choose(x):  # no annotations: Numba compares them with those of the lambdas
        if x != types.float32:
            return lambda x: double(x)
        return (lambda x: single(x)) if native else (lambda x: np.float32(single(np.float64(x))))

    overload(function, jit_options=_OPTIONS)(choose)


vectorised(log, math_log.log32, _log64, native=True)
vectorised(log2, math_log.log2_32, math.log2, native=True)
vectorised(log10, math_log.log10_32, math.log10, native=True)
vectorised(log1p, math_log.log1p32, _log1p64, native=True)
vectorised(exp2, math_basic.exp2_32, np.exp2, native=True)
vectorised(expm1, math_basic.expm1_32, _expm1_64, native=True)
vectorised(erf, math_basic.erf32, double_erf, native=True)
vectorised(erfc, single_erfc, math.erfc)
vectorised(sin, _sin32, math.sin, native=True)
vectorised(cos, _cos32, math.cos, native=True)
vectorised(tan, _tan32, math.tan, native=True)


def vectorised_pair(function: Any, single: Any, double: Any) -> None:
    """`_vectorised` for a function of two scalars of one type."""

    def choose(x, y):
        if x != types.float32:
            return lambda x, y: double(x, y)
        return lambda x, y: np.float32(single(np.float64(x), np.float64(y)))

    overload(function, jit_options=_OPTIONS)(choose)


vectorised_pair(power, _power, _power64)
vectorised_pair(fmod, _fmod, np.fmod)
vectorised_pair(hypot, _hypot, _hypot64)
