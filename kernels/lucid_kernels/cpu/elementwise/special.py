"""Special functions: error functions, normal distribution, gamma functions, Bessel functions.

Everything is computed in float64 and rounded once to the dtype of the argument, so float32 results are the nearest values but
for the last bit, also where a float32 formula would cancel. The formulas and their sources are in `_special_*.py`: those of
`math/polynomial.py` compute float32, where they are less exact than float64 and make loops vectorise, at a tenth of the time.
Only erf is a float32 formula (`basic.erf32`), which takes a quarter of the time of one in float64.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from lucid_kernels.naming import named
from lucid_kernels.special_tables import signed_factorial

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, chunks, deliver, result
from ..arrays.loops import Chunked, defined
from ..math import bessel, gamma, normal
from ..math import elementary as formula
from ..math import polynomial as single
from ..runtime.jit import EXACT, jit, jit_exact, jit_parallel
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


def _loop(name: str, function: Any) -> Callable[..., None]:
    """The kernel over the flat arrays `(x, y)` that applies a function for jitted code."""
    text = f"def _{name}(x, y):\n    for i in range(y.shape[0]):\n        y[i] = function(x[i])\n"
    return Chunked(jit(defined(text, f"_{name}", __file__, {"__name__": __name__, "function": function}))).parallel


def _unary(loop: Callable[..., None], x: Array, out: Array | None, *attributes: float) -> Array:
    """Apply a loop over the flat arrays `(x, y)`."""
    y = result(out, x.shape, x.dtype)
    loop(x.ravel(), y.ravel(), *attributes)
    return deliver(out, y)


def _kernel(name: str, function: Any, documentation: str) -> Callable[..., Array]:
    """The kernel of a function for jitted code."""
    loop = _loop(name, function)

    def kernel(x: Array, *, out: Array | None = None) -> Array:
        return _unary(loop, x, out)

    return upcast_half(named(kernel, name, documentation))


erf = _kernel("erf", formula.erf, "The error function.")
erfc = _kernel("erfc", _by_precision(single.erfc, math.erfc), "1 - erf(x), with small relative error where it is small.")
erfinv = _kernel("erfinv", _by_precision(single.erfinv, normal.erfinv), "The inverse of erf; NaN outside [-1, 1].")
erfcx = _kernel("erfcx", _by_precision(single.erfcx, normal.erfcx), "exp(x^2) erfc(x).")
ndtr = _kernel("ndtr", _by_precision(single.ndtr, normal.ndtr), "The normal distribution function.")
ndtri = _kernel("ndtri", _by_precision(single.ndtri, normal.ndtri), "The normal quantile; NaN outside [0, 1].")
log_ndtr = _kernel(
    "log_ndtr", _by_precision(single.log_ndtr, normal.log_ndtr), "The logarithm of the normal distribution function.")
lgamma = _kernel(
    "lgamma", _by_precision(single.lgamma, math.lgamma), "log |Gamma(x)|; inf at 0 and the negative integers.")
digamma = _kernel(
    "digamma", _by_precision(single.digamma, gamma.digamma), "The derivative of lgamma; NaN at the negative integers.")
i0 = _kernel("i0", _by_precision(single.i0, bessel.i0), "The modified Bessel function of the first kind, order 0.")
i0e = _kernel("i0e", _by_precision(single.i0e, bessel.i0e), "exp(-|x|) I0(x).")
i1 = _kernel("i1", _by_precision(single.i1, bessel.i1), "The modified Bessel function of the first kind, order 1.")
i1e = _kernel("i1e", _by_precision(single.i1e, bessel.i1e), "exp(-|x|) I1(x).")


@jit_exact
def _trigamma_double(x: float) -> float:
    return gamma.polygamma(x, 1.0, 1.0)


_trigamma = _kernel("trigamma", _by_precision(single.trigamma, _trigamma_double), "The derivative of `digamma`.")


@jit_parallel
def _polygamma(x: Any, y: Any, n: float, factor: float) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = gamma.polygamma(np.float64(x[j]), n, factor)


@upcast_half
def polygamma(x: Array, *, n: int, out: Array | None = None) -> Array:
    """The derivative of order `n` of `digamma`; n >= 0."""
    if n < 2:
        return (_trigamma if n else digamma)(x, out=out)
    return _unary(_polygamma, x, out, float(n), signed_factorial(n))
