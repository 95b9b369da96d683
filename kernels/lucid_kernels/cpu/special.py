"""Special functions: error functions, normal distribution, gamma functions, Bessel functions.

Everything is computed in float64 and rounded once to the dtype of the argument, so float32 results are the nearest numbers but
for the last bit, also where a float32 formula would cancel. The formulas and their sources are in `_special_*.py`. Elements cost
5 to 200 ns, so a chunk is worth a thread, and small arrays run in the caller.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from . import _special_bessel as bessel
from . import _special_gamma as gamma
from . import _special_incomplete_gamma as incomplete
from . import _special_normal as normal
from ._compile import jit_parallel
from ._layout import GRAIN, Array, chunks, deliver, result, upcast_half


def _unary(loop: Callable[..., None], x: Array, out: Array | None, *attributes: float) -> Array:
    """Apply a loop over the flat arrays `(x, y)`."""
    y = result(out, x.shape, x.dtype)
    loop(x.ravel(), y.ravel(), *attributes)
    return deliver(out, y)


def _binary(loop: Callable[..., None], a: Array, b: Array, out: Array | None) -> Array:
    """Apply a loop over the flat arrays `(a, b, y)`, broadcast together."""
    a, b = np.broadcast_arrays(a, b)
    y = result(out, a.shape, a.dtype)
    loop(a.ravel(), b.ravel(), y.ravel())
    return deliver(out, y)


@jit_parallel
def _erf(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = math.erf(x[j])


@upcast_half
def erf(x: Array, *, out: Array | None = None) -> Array:
    """The error function."""
    return _unary(_erf, x, out)


@jit_parallel
def _erfc(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = math.erfc(x[j])


@upcast_half
def erfc(x: Array, *, out: Array | None = None) -> Array:
    """1 - erf(x), with small relative error where it is small."""
    return _unary(_erfc, x, out)


@jit_parallel
def _erfinv(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = normal.erfinv(np.float64(x[j]))


@upcast_half
def erfinv(x: Array, *, out: Array | None = None) -> Array:
    """The inverse of erf; NaN outside [-1, 1]."""
    return _unary(_erfinv, x, out)


@jit_parallel
def _erfcx(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = normal.erfcx(np.float64(x[j]))


@upcast_half
def erfcx(x: Array, *, out: Array | None = None) -> Array:
    """exp(x^2) erfc(x)."""
    return _unary(_erfcx, x, out)


@jit_parallel
def _ndtr(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = normal.ndtr(np.float64(x[j]))


@upcast_half
def ndtr(x: Array, *, out: Array | None = None) -> Array:
    """The normal distribution function."""
    return _unary(_ndtr, x, out)


@jit_parallel
def _ndtri(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = normal.ndtri(np.float64(x[j]))


@upcast_half
def ndtri(x: Array, *, out: Array | None = None) -> Array:
    """The normal quantile; NaN outside [0, 1]."""
    return _unary(_ndtri, x, out)


@jit_parallel
def _log_ndtr(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = normal.log_ndtr(np.float64(x[j]))


@upcast_half
def log_ndtr(x: Array, *, out: Array | None = None) -> Array:
    """The logarithm of the normal distribution function."""
    return _unary(_log_ndtr, x, out)


@jit_parallel
def _lgamma(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = math.lgamma(np.float64(x[j]))


@upcast_half
def lgamma(x: Array, *, out: Array | None = None) -> Array:
    """log |Gamma(x)|; inf at 0 and the negative integers."""
    return _unary(_lgamma, x, out)


@jit_parallel
def _digamma(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = gamma.digamma(np.float64(x[j]))


@upcast_half
def digamma(x: Array, *, out: Array | None = None) -> Array:
    """The derivative of lgamma; NaN at the negative integers."""
    return _unary(_digamma, x, out)


@jit_parallel
def _i0(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = bessel.i0(np.float64(x[j]))


@upcast_half
def i0(x: Array, *, out: Array | None = None) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return _unary(_i0, x, out)


@jit_parallel
def _i0e(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = bessel.i0e(np.float64(x[j]))


@upcast_half
def i0e(x: Array, *, out: Array | None = None) -> Array:
    """exp(-|x|) I0(x)."""
    return _unary(_i0e, x, out)


@jit_parallel
def _i1(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = bessel.i1(np.float64(x[j]))


@upcast_half
def i1(x: Array, *, out: Array | None = None) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return _unary(_i1, x, out)


@jit_parallel
def _i1e(x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = bessel.i1e(np.float64(x[j]))


@upcast_half
def i1e(x: Array, *, out: Array | None = None) -> Array:
    """exp(-|x|) I1(x)."""
    return _unary(_i1e, x, out)


@jit_parallel
def _polygamma(x: Any, y: Any, n: float, factor: float) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = gamma.polygamma(np.float64(x[j]), n, factor)


@upcast_half
def polygamma(x: Array, *, n: int, out: Array | None = None) -> Array:
    """The derivative of order `n` of `digamma`; n >= 0."""
    if n == 0:
        return _unary(_digamma, x, out)
    return _unary(_polygamma, x, out, float(n), _signed_factorial(n))


@functools.cache
def _signed_factorial(n: int) -> float:
    """(-1)^(n+1) n!, infinite where float64 ends."""
    size = float(math.factorial(n)) if n <= 170 else math.inf
    return size if n % 2 else -size


@jit_parallel
def _zeta(x: Any, q: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = gamma.zeta(np.float64(x[j]), np.float64(q[j]))


@upcast_half
def zeta(x: Array, q: Array, *, out: Array | None = None) -> Array:
    """The Hurwitz zeta function, the sum of (k + q)^-x over k >= 0."""
    return _binary(_zeta, x, q, out)


@jit_parallel
def _gammainc(a: Any, x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = incomplete.gammainc(np.float64(a[j]), np.float64(x[j]))


@upcast_half
def gammainc(a: Array, x: Array, *, out: Array | None = None) -> Array:
    """The lower regularised incomplete gamma function P(a, x)."""
    return _binary(_gammainc, a, x, out)


@jit_parallel
def _gammaincc(a: Any, x: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = incomplete.gammaincc(np.float64(a[j]), np.float64(x[j]))


@upcast_half
def gammaincc(a: Array, x: Array, *, out: Array | None = None) -> Array:
    """The upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _binary(_gammaincc, a, x, out)
