"""Special functions: error functions, normal distribution, gamma functions, Bessel functions.

Everything is computed in float64 and rounded once to the dtype of the argument, so float32 results are the nearest numbers but
for the last bit, also where a float32 formula would cancel. The formulas and their sources are in `_special_*.py`: those of
`math/polynomial.py` serve float32, where they are less exact than float64 and make loops vectorise, at a tenth of the time. Only
erf is a float32 formula (`basic.erf32`), which takes a quarter of the time of one in float64.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, chunk, chunks, deliver, result
from ..math import bessel, gamma, normal
from ..math import elementary as formula
from ..math import polynomial as single
from ..runtime.jit import EXACT, jit_exact, jit_parallel
from .special_binary import gammainc, gammaincc, zeta

__all__ = [
    "digamma", "erf", "erfc", "erfcx", "erfinv", "gammainc", "gammaincc", "i0", "i0e", "i1", "i1e", "lgamma",
    "log_ndtr", "ndtr", "ndtri", "polygamma", "zeta",
]
_OPTIONS: Any = {"fastmath": EXACT, "error_model": "numpy", "forceinline": True}


def _by_precision(for_single: Any, for_double: Any) -> Any:
    """A function for jitted code: `for_single`, of a float64, for a float32, and `for_double` for a float64."""

    def function(x: Any) -> Any:
        raise NotImplementedError("only compiled code can call this")

    def choose(x):  # no annotations: Numba compares them with those of the lambdas
        return (lambda x: for_single(np.float64(x))) if x == types.float32 else (lambda x: for_double(x))

    overload(function, jit_options=_OPTIONS)(choose)
    return function


def _unary(loop: Callable[..., None], x: Array, out: Array | None, *attributes: float) -> Array:
    """Apply a loop over the flat arrays `(x, y)`."""
    y = result(out, x.shape, x.dtype)
    loop(x.ravel(), y.ravel(), *attributes)
    return deliver(out, y)


@jit_parallel
def _erf(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = formula.erf(given[j])


@upcast_half
def erf(x: Array, *, out: Array | None = None) -> Array:
    """The error function."""
    return _unary(_erf, x, out)


_erfc_of = _by_precision(single.erfc, math.erfc)


@jit_parallel
def _erfc(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _erfc_of(given[j])


@upcast_half
def erfc(x: Array, *, out: Array | None = None) -> Array:
    """1 - erf(x), with small relative error where it is small."""
    return _unary(_erfc, x, out)


_erfinv_of = _by_precision(single.erfinv, normal.erfinv)


@jit_parallel
def _erfinv(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _erfinv_of(given[j])


@upcast_half
def erfinv(x: Array, *, out: Array | None = None) -> Array:
    """The inverse of erf; NaN outside [-1, 1]."""
    return _unary(_erfinv, x, out)


_erfcx_of = _by_precision(single.erfcx, normal.erfcx)


@jit_parallel
def _erfcx(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _erfcx_of(given[j])


@upcast_half
def erfcx(x: Array, *, out: Array | None = None) -> Array:
    """exp(x^2) erfc(x)."""
    return _unary(_erfcx, x, out)


_ndtr_of = _by_precision(single.ndtr, normal.ndtr)


@jit_parallel
def _ndtr(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _ndtr_of(given[j])


@upcast_half
def ndtr(x: Array, *, out: Array | None = None) -> Array:
    """The normal distribution function."""
    return _unary(_ndtr, x, out)


_ndtri_of = _by_precision(single.ndtri, normal.ndtri)


@jit_parallel
def _ndtri(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _ndtri_of(given[j])


@upcast_half
def ndtri(x: Array, *, out: Array | None = None) -> Array:
    """The normal quantile; NaN outside [0, 1]."""
    return _unary(_ndtri, x, out)


_log_ndtr_of = _by_precision(single.log_ndtr, normal.log_ndtr)


@jit_parallel
def _log_ndtr(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _log_ndtr_of(given[j])


@upcast_half
def log_ndtr(x: Array, *, out: Array | None = None) -> Array:
    """The logarithm of the normal distribution function."""
    return _unary(_log_ndtr, x, out)


_lgamma_of = _by_precision(single.lgamma, math.lgamma)


@jit_parallel
def _lgamma(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _lgamma_of(given[j])


@upcast_half
def lgamma(x: Array, *, out: Array | None = None) -> Array:
    """log |Gamma(x)|; inf at 0 and the negative integers."""
    return _unary(_lgamma, x, out)


_digamma_of = _by_precision(single.digamma, gamma.digamma)


@jit_parallel
def _digamma(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _digamma_of(given[j])


@upcast_half
def digamma(x: Array, *, out: Array | None = None) -> Array:
    """The derivative of lgamma; NaN at the negative integers."""
    return _unary(_digamma, x, out)


_i0_of = _by_precision(single.i0, bessel.i0)


@jit_parallel
def _i0(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _i0_of(given[j])


@upcast_half
def i0(x: Array, *, out: Array | None = None) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return _unary(_i0, x, out)


_i0e_of = _by_precision(single.i0e, bessel.i0e)


@jit_parallel
def _i0e(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _i0e_of(given[j])


@upcast_half
def i0e(x: Array, *, out: Array | None = None) -> Array:
    """exp(-|x|) I0(x)."""
    return _unary(_i0e, x, out)


_i1_of = _by_precision(single.i1, bessel.i1)


@jit_parallel
def _i1(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _i1_of(given[j])


@upcast_half
def i1(x: Array, *, out: Array | None = None) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return _unary(_i1, x, out)


_i1e_of = _by_precision(single.i1e, bessel.i1e)


@jit_parallel
def _i1e(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _i1e_of(given[j])


@upcast_half
def i1e(x: Array, *, out: Array | None = None) -> Array:
    """exp(-|x|) I1(x)."""
    return _unary(_i1e, x, out)


@jit_exact
def _trigamma_double(x: float) -> float:
    return gamma.polygamma(x, 1.0, 1.0)


_trigamma_of = _by_precision(single.trigamma, _trigamma_double)


@jit_parallel
def _trigamma(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        given, computed = chunk(x, i), chunk(y, i)
        for j in range(computed.shape[0]):
            computed[j] = _trigamma_of(given[j])


@jit_parallel
def _polygamma(x: Any, y: Any, n: float, factor: float) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = gamma.polygamma(np.float64(x[j]), n, factor)


@upcast_half
def polygamma(x: Array, *, n: int, out: Array | None = None) -> Array:
    """The derivative of order `n` of `digamma`; n >= 0."""
    if n < 2:
        return _unary(_trigamma if n else _digamma, x, out)
    return _unary(_polygamma, x, out, float(n), _signed_factorial(n))


@functools.cache
def _signed_factorial(n: int) -> float:
    """(-1)^(n+1) n!, infinite where float64 ends."""
    size = float(math.factorial(n)) if n <= 170 else math.inf
    return size if n % 2 else -size
