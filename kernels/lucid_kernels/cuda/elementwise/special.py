"""Special functions on a GPU: the formulas of the CPU kernels, in double, rounded once."""
from __future__ import annotations

import functools
import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch

_apply = functools.partial(launch.elementwise, "special")


@launch.upcast_half
def erf(x: Any, *, out: Any = None) -> Any:
    """The error function."""
    return _apply("Erf", out, x)


@launch.upcast_half
def erfc(x: Any, *, out: Any = None) -> Any:
    """1 - erf(x), with small relative error where it is small."""
    return _apply("Erfc", out, x)


@launch.upcast_half
def erfinv(x: Any, *, out: Any = None) -> Any:
    """The inverse of erf; NaN outside [-1, 1]."""
    return _apply("Erfinv", out, x)


@launch.upcast_half
def erfcx(x: Any, *, out: Any = None) -> Any:
    """exp(x^2) erfc(x)."""
    return _apply("Erfcx", out, x)


@launch.upcast_half
def ndtr(x: Any, *, out: Any = None) -> Any:
    """The normal distribution function."""
    return _apply("Ndtr", out, x)


@launch.upcast_half
def ndtri(x: Any, *, out: Any = None) -> Any:
    """The normal quantile; NaN outside [0, 1]."""
    return _apply("Ndtri", out, x)


@launch.upcast_half
def log_ndtr(x: Any, *, out: Any = None) -> Any:
    """The logarithm of the normal distribution function."""
    return _apply("LogNdtr", out, x)


@launch.upcast_half
def lgamma(x: Any, *, out: Any = None) -> Any:
    """log |Gamma(x)|; inf at 0 and the negative integers."""
    return _apply("Lgamma", out, x)


@launch.upcast_half
def digamma(x: Any, *, out: Any = None) -> Any:
    """The derivative of lgamma; NaN at the negative integers."""
    return _apply("Digamma", out, x)


@launch.upcast_half
def i0(x: Any, *, out: Any = None) -> Any:
    """The modified Bessel function of the first kind, order 0."""
    return _apply("I0", out, x)


@launch.upcast_half
def i0e(x: Any, *, out: Any = None) -> Any:
    """exp(-|x|) I0(x)."""
    return _apply("I0e", out, x)


@launch.upcast_half
def i1(x: Any, *, out: Any = None) -> Any:
    """The modified Bessel function of the first kind, order 1."""
    return _apply("I1", out, x)


@launch.upcast_half
def i1e(x: Any, *, out: Any = None) -> Any:
    """exp(-|x|) I1(x)."""
    return _apply("I1e", out, x)


@launch.upcast_half
def polygamma(x: Any, *, n: int, out: Any = None) -> Any:
    """The derivative of order `n` of `digamma`; n >= 0."""
    if n == 0:
        return _apply("Digamma", out, x)
    x = launch.contiguous(x)
    y = launch.result(out, x.shape, x.dtype)
    if x.size:
        grid, block = launch.grid_1d(x.size)
        order, factor, size = np.float64(n), np.float64(_signed_factorial(n)), np.int64(x.size)
        launch.kernel("special", f"polygamma<{launch.ctype(x.dtype)}>")(grid, block, (x, y, order, factor, size))
    return launch.deliver(y, out)


@functools.cache
def _signed_factorial(n: int) -> float:
    """(-1)^(n+1) n!, infinite where float64 ends."""
    size = float(math.factorial(n)) if n <= 170 else math.inf
    return size if n % 2 else -size


@launch.upcast_half
def zeta(x: Any, q: Any, *, out: Any = None) -> Any:
    """The Hurwitz zeta function, the sum of (k + q)^-x over k >= 0."""
    return _apply("Zeta", out, *cupy.broadcast_arrays(x, q))


@launch.upcast_half
def gammainc(a: Any, x: Any, *, out: Any = None) -> Any:
    """The lower regularised incomplete gamma function P(a, x)."""
    return _apply("Gammainc", out, *cupy.broadcast_arrays(a, x))


@launch.upcast_half
def gammaincc(a: Any, x: Any, *, out: Any = None) -> Any:
    """The upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _apply("Gammaincc", out, *cupy.broadcast_arrays(a, x))
