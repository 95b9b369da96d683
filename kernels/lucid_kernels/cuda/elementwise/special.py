"""Special functions on a GPU: the formulas of the CPU kernels, in double, rounded once."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lucid_kernels.cuda.elementwise import elementwise
from lucid_kernels.cuda.runtime import launch
from lucid_kernels.special_tables import signed_factorial


def _apply(op: str, out: Any, *arrays: Any) -> Any:
    """What `op` of the kernel `unary` or `binary` makes of one or two arrays."""
    name = f"{('unary', 'binary')[len(arrays) - 1]}<{launch.ctype(arrays[0].dtype)}, {op}>"
    return elementwise.apply("special", name, out, *arrays, group=1)


def _kernel(operator: str, documentation: str) -> Callable[..., Any]:
    """The launcher of a function of one argument."""

    def kernel(x: Any, *, out: Any = None) -> Any:
        return _apply(operator, out, x)

    kernel.__doc__ = documentation
    return kernel


erf = _kernel("Erf", "The error function.")
erfc = _kernel("Erfc", "1 - erf(x), with small relative error where it is small.")
erfinv = _kernel("Erfinv", "The inverse of erf; NaN outside [-1, 1].")
erfcx = _kernel("Erfcx", "exp(x^2) erfc(x).")
ndtr = _kernel("Ndtr", "The normal distribution function.")
ndtri = _kernel("Ndtri", "The normal quantile; NaN outside [0, 1].")
log_ndtr = _kernel("LogNdtr", "The logarithm of the normal distribution function.")
lgamma = _kernel("Lgamma", "log |Gamma(x)|; inf at 0 and the negative integers.")
digamma = _kernel("Digamma", "The derivative of lgamma; NaN at the negative integers.")
i0 = _kernel("I0", "The modified Bessel function of the first kind, order 0.")
i0e = _kernel("I0e", "exp(-|x|) I0(x).")
i1 = _kernel("I1", "The modified Bessel function of the first kind, order 1.")
i1e = _kernel("I1e", "exp(-|x|) I1(x).")


def polygamma(x: Any, *, n: int, out: Any = None) -> Any:
    """The derivative of order `n` of `digamma`; n >= 0."""
    if n == 0:
        return _apply("Digamma", out, x)
    numbers = np.float64(n), np.float64(signed_factorial(n))
    return elementwise.apply("special", f"polygamma<{launch.ctype(x.dtype)}>", out, x, numbers=numbers, group=1)


def zeta(x: Any, q: Any, *, out: Any = None) -> Any:
    """The Hurwitz zeta function, the sum of (k + q)^-x over k >= 0."""
    return _apply("Zeta", out, x, q)


def gammainc(a: Any, x: Any, *, out: Any = None) -> Any:
    """The lower regularised incomplete gamma function P(a, x)."""
    return _apply("Gammainc", out, a, x)


def gammaincc(a: Any, x: Any, *, out: Any = None) -> Any:
    """The upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _apply("Gammaincc", out, a, x)
