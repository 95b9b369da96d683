"""Sine and cosine of large arrays, with vectors and on all threads.

x is reduced to r + tail, |r| <= pi / 4, by a quarter turn in three parts: n times the first leaves an exact rest, as both are
multiples of 2^-53. That holds for |x| up to 2^30; libm takes larger ones, one by one. Polynomials: fdlibm, k_sin.c and k_cos.c.
At most 0.74 units in the last place off where libm takes none; PyTorch's are 0.5 off.

Those of float32 are computed in float64, which needs no tail, and rounded once. `elementary` takes larger ones: its reduction
reads tables for each element, with which all together took 3 times as long.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.layout import Array
from ..arrays.loops import Chunked
from ..math import elementary
from ..math.basic import bits, fma
from ..math.polynomial import ROUND, polynomial, select
from ..runtime.jit import jit_exact, jit_inline
from .elementwise import unary

_FARTHEST = 2.0**30
_TURNS = 2.0 / math.pi
_QUARTER = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)  # pi / 2
_SIN = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04,
        8.33333333332248946124e-03)  # fmt: skip
_SIN_FIRST = -1.66666666666666324348e-01
_COS = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05,
        -1.38888888888741095749e-03, 4.16666666666666019037e-02)  # fmt: skip


@jit_inline
def _within(x: float, quarters: int) -> float:
    """sin(x + quarters pi / 2) for |x| <= 2^30."""
    shifted = x * _TURNS + ROUND
    n = shifted - ROUND
    rest = fma(-n, _QUARTER[0], x)
    product = n * _QUARTER[1]
    r = rest - product
    taken = rest - r  # two-sum: what is rounded off r, exact
    tail = (rest - (r + taken)) - (product - taken)
    tail = tail - fma(n, _QUARTER[1], -product) - n * _QUARTER[2]
    z = r * r
    cube = z * r
    sine = r - ((z * (0.5 * tail - cube * polynomial(_SIN, z)) - tail) - cube * _SIN_FIRST)
    half = 0.5 * z
    one = 1.0 - half
    cosine = one + (((1.0 - one) - half) + (z * z * polynomial(_COS, z) - r * tail))
    turn = bits(shifted) + quarters
    value = select(turn & 1 == 1, cosine, sine)
    value = select(turn & 2 == 2, -value, value)
    return select(x == 0.0 and quarters == 0, x, value)


# Taylor's series: the next terms are below 3e-9 of the sums.
_SIN_SHORT = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(4, -1, -1))
_COS_SHORT = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(5, -1, -1))


@jit_inline
def _within32(x: Any, quarters: int) -> Any:
    """`_within` of a float32."""
    wide = np.float64(x)
    shifted = wide * _TURNS + ROUND
    n = shifted - ROUND
    r = fma(-n, _QUARTER[1], fma(-n, _QUARTER[0], wide))
    turn = bits(shifted) + quarters
    value = select(turn & 1 == 1, polynomial(_COS_SHORT, r * r), r * polynomial(_SIN_SHORT, r * r))
    value = select(turn & 2 == 2, -value, value)
    return np.float32(select(wide == 0.0 and quarters == 0, wide, value))


@jit_exact
def _all_within(x: Any) -> bool:
    count = 0
    for i in range(x.shape[0]):
        count += abs(x[i]) <= _FARTHEST
    return count == x.shape[0]


@Chunked
@jit_exact
def _sin(x: Any, y: Any) -> None:
    if _all_within(x):
        for i in range(y.shape[0]):
            y[i] = _within(x[i], 0)
    else:
        for i in range(y.shape[0]):
            y[i] = _within(x[i], 0) if abs(x[i]) <= _FARTHEST else math.sin(x[i])


@Chunked
@jit_exact
def _cos(x: Any, y: Any) -> None:
    if _all_within(x):
        for i in range(y.shape[0]):
            y[i] = _within(x[i], 1)
    else:
        for i in range(y.shape[0]):
            y[i] = _within(x[i], 1) if abs(x[i]) <= _FARTHEST else math.cos(x[i])


@Chunked
@jit_exact
def _sin32(x: Any, y: Any) -> None:
    if _all_within(x):
        for i in range(y.shape[0]):
            y[i] = _within32(x[i], 0)
    else:
        for i in range(y.shape[0]):
            y[i] = _within32(x[i], 0) if abs(x[i]) <= _FARTHEST else elementary.sin(x[i])


@Chunked
@jit_exact
def _cos32(x: Any, y: Any) -> None:
    if _all_within(x):
        for i in range(y.shape[0]):
            y[i] = _within32(x[i], 1)
    else:
        for i in range(y.shape[0]):
            y[i] = _within32(x[i], 1) if abs(x[i]) <= _FARTHEST else elementary.cos(x[i])


def _run(double: Chunked, single: Chunked, x: Array, out: Array | None) -> Array:
    return unary(double if x.dtype == np.float64 else single, x, out)


def sin(x: Array, *, out: Array | None = None) -> Array:
    """The sine of an array of float32 or float64."""
    return _run(_sin, _sin32, x, out)


def cos(x: Array, *, out: Array | None = None) -> Array:
    """The cosine of an array of float32 or float64."""
    return _run(_cos, _cos32, x, out)
