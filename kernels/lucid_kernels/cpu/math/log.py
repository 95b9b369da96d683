"""Logarithms of float32 computed in float32, at most 1.1 units in the last place off, in loops that LLVM vectorises.

x = 2^n m with m between sqrt(1/2) and sqrt(2), and f = m - 1, which is exact: log(1 + f) = f - f^2 / 2 + f^3 P(f), P fitted to
7e-9 of the logarithm. What is small is added up first. In float64, rounded once, they took 2 to 3 times as long.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..runtime.jit import jit_inline
from .basic import EXPONENT_SHIFT32, HALF32, ONE32, ROUND32, ROUND32_BITS, ZERO32, bits, fma, from_bits

_SQRT_HALF_BITS32 = np.int32(0x3F3504F3)
_SMALLEST_NORMAL32 = np.float32(2.0**-126)
_TO_NORMAL32, _MOVED32 = np.float32(2.0**23), np.float32(23.0)
_INFINITY32, _NAN32 = np.float32(np.inf), np.float32(np.nan)
_P7, _P6, _P5, _P4, _P3, _P2, _P1, _P0 = (
    np.float32(c) for c in (-0.07634493, 0.12761575, -0.13160183, 0.14201759, -0.16623357, 0.20001227, -0.2500082, 0.33333331)
)


def _high_and_low(value: float) -> tuple[Any, Any]:
    """A float32 and what it lacks, another."""
    high = np.float32(value)
    return high, np.float32(value - float(high))


_LN2_HIGH32, _LN2_LOW32 = _high_and_low(math.log(2.0))
_LOG2_E_HIGH32, _LOG2_E_LOW32 = _high_and_low(1 / math.log(2.0))
_LOG10_E_HIGH32, _LOG10_E_LOW32 = _high_and_low(1 / math.log(10.0))
_LOG10_2_HIGH32, _LOG10_2_LOW32 = _high_and_low(math.log10(2.0))


@jit_inline
def _split(x: Any) -> Any:
    """(n, f) of a positive, finite number."""
    tiny = x < _SMALLEST_NORMAL32
    pattern = bits(x * _TO_NORMAL32 if tiny else x)
    exponent = np.int32(np.int32(pattern - _SQRT_HALF_BITS32) >> EXPONENT_SHIFT32)
    n = from_bits(np.int32(exponent + ROUND32_BITS)) - ROUND32
    f = from_bits(np.int32(pattern - np.int32(exponent << EXPONENT_SHIFT32))) - ONE32
    return n - (_MOVED32 if tiny else ZERO32), f


@jit_inline
def _rest(f: Any) -> Any:
    """log(1 + f) - f."""
    p = fma(fma(fma(fma(fma(fma(fma(_P7, f, _P6), f, _P5), f, _P4), f, _P3), f, _P2), f, _P1), f, _P0)
    return f * f * fma(f, p, -HALF32)


@jit_inline
def _at_the_ends(x: Any, value: Any) -> Any:
    """`value`, the logarithm of x, but at 0, infinity and NaN, and below 0."""
    value = value if x < _INFINITY32 else x
    return value if x > ZERO32 else (-_INFINITY32 if x == ZERO32 else _NAN32)


@jit_inline
def log32(x: Any) -> Any:
    """The natural logarithm."""
    n, f = _split(x)
    return _at_the_ends(x, fma(n, _LN2_HIGH32, f + fma(n, _LN2_LOW32, _rest(f))))


@jit_inline
def log2_32(x: Any) -> Any:
    """The logarithm to base 2."""
    n, f = _split(x)
    return _at_the_ends(x, n + fma(f, _LOG2_E_HIGH32, fma(_rest(f), _LOG2_E_HIGH32, f * _LOG2_E_LOW32)))


@jit_inline
def log10_32(x: Any) -> Any:
    """The logarithm to base 10."""
    n, f = _split(x)
    small = fma(_rest(f), _LOG10_E_HIGH32, fma(f, _LOG10_E_LOW32, n * _LOG10_2_LOW32))
    return _at_the_ends(x, fma(n, _LOG10_2_HIGH32, fma(f, _LOG10_E_HIGH32, small)))


@jit_inline
def log1p32(x: Any) -> Any:
    """log(1 + x): of the rounded sum u, and what was rounded off over u."""
    u = ONE32 + x
    lost = x - (u - ONE32) if abs(x) < ONE32 else ONE32 - (u - x)
    n, f = _split(u)
    value = fma(n, _LN2_HIGH32, f + fma(n, _LN2_LOW32, _rest(f) + lost / u))
    return x if x == ZERO32 else _at_the_ends(u, value)
