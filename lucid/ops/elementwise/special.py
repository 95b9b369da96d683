"""Special functions of one tensor: error functions, the normal distribution, Bessel functions, entropy and log-odds.

All are computed by kernels in float64, whatever the dtype, and rounded once. Real numbers only; integers become the default float
dtype. All differentiate any number of times, by the rules of Abramowitz & Stegun, chapters 7 and 9.
"""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import as_floating
from .._out import accepts_out
from .fused import fused_if_large, of_input, of_result
from .trigonometry import cos
from .unary import exp, log, sgn
from .where import where

METHODS = ("erf", "erfc", "erfinv", "i0", "logit", "sinc")
INPLACE_METHODS = METHODS
SINGLE = ("sinc",)

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_SQRT_TWO_PI = math.sqrt(2 * math.pi)
_TINY = 1e-30  # below it, I1(x) / x is taken as 1/2


def real_floating(name: str, input: Any) -> Tensor:
    """`as_floating`, with NotImplementedError for complex tensors."""
    converted = as_floating(name, input)
    if converted._array.dtype.kind == "c":
        raise NotImplementedError(f"{name} is not implemented for {converted.dtype.name}: it needs real tensors")
    return converted


def _logit_rule(needs: Any, x: Tensor, *, eps: float | None) -> Vjp:
    return lambda g, y: (_logit_slope(g, x, eps),)


@fused_if_large
def _logit_slope(g: Tensor, x: Tensor, eps: float | None) -> Tensor:
    slope = g / ((x + 0.0) * (1 - x))  # the sum makes -0.0 a 0.0, where the slope is infinity
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    return where((x < low) | (x > 1 - low), outside, slope)


def _i1_rule(needs: Any, x: Tensor) -> Vjp:
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        small = x.abs() < _TINY
        return (g * where(small, 0.5, i0(x) - y / where(small, 1.0, x)),)

    return vjp


def _i1e_rule(needs: Any, x: Tensor) -> Vjp:
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        small = x.abs() < _TINY
        return (g * where(small, 0.5, i0e(x) - y * sgn(x) - y / where(small, 1.0, x)),)

    return vjp


_erf = single_op("erf", of_input(lambda g, x: g * exp(-x * x) * _TWO_OVER_SQRT_PI))
_erfc = single_op("erfc", of_input(lambda g, x: g * exp(-x * x) * -_TWO_OVER_SQRT_PI))
_erfinv = single_op("erfinv", of_result(lambda g, y: g * exp(y * y) / _TWO_OVER_SQRT_PI), saved_outputs=True)
_erfcx = single_op("erfcx", lambda needs, x: lambda g, y: (g * (2 * x * y - _TWO_OVER_SQRT_PI),), saved_outputs=True)
_ndtr = single_op("ndtr", of_input(lambda g, x: g * exp(x * x * -0.5) / _SQRT_TWO_PI))
_ndtri = single_op("ndtri", of_result(lambda g, y: g * exp(y * y * 0.5) * _SQRT_TWO_PI), saved_outputs=True)
_log_ndtr = single_op("log_ndtr", lambda needs, x: lambda g, y: (g / erfcx(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),))
_i0 = single_op("i0", lambda needs, x: lambda g, y: (g * i1(x),))
_i0e = single_op("i0e", lambda needs, x: lambda g, y: (g * (i1e(x) - sgn(x) * y),), saved_outputs=True)
_i1 = single_op("i1", _i1_rule, saved_outputs=True)
_i1e = single_op("i1e", _i1e_rule, saved_outputs=True)
_entr = single_op("entr", lambda needs, x: lambda g, y: (g * (-log(x) - 1),))
_logit = single_op("logit", _logit_rule)


@accepts_out(castable=True)
def erf(input: Tensor) -> Tensor:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0.

    >>> lucid.erf(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.8427,  0.0000,  0.8427], requires_grad=False)
    """
    return _erf(real_floating("erf", input))


@accepts_out(castable=True)
def erfc(input: Tensor) -> Tensor:
    """``1 - erf(input)``, accurate where it is small.

    >>> lucid.erfc(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([1.8427, 1.0000, 0.1573], requires_grad=False)
    """
    return _erfc(real_floating("erfc", input))


@accepts_out(castable=True)
def erfinv(input: Tensor) -> Tensor:
    """The inverse of `erf`; infinite at -1 and 1, NaN beyond.

    >>> lucid.erfinv(lucid.tensor([0.0, 0.5, 1.0]))
    Tensor([0.0000, 0.4769,    inf], requires_grad=False)
    """
    return _erfinv(real_floating("erfinv", input))


@accepts_out(castable=True)
def erfcx(input: Tensor) -> Tensor:
    """``exp(input ** 2) * erfc(input)``, which neither factor overflows or underflows for large elements.

    >>> lucid.special.erfcx(lucid.tensor([0.0, 1.0, 1000.0]))
    Tensor([1.0000, 0.4276, 0.0006], requires_grad=False)
    """
    return _erfcx(real_floating("erfcx", input))


@accepts_out(castable=True)
def ndtr(input: Tensor) -> Tensor:
    """The standard normal distribution function, accurate in the lower tail too.

    >>> lucid.special.ndtr(lucid.tensor([-1.96, 0.0, 1.96]))
    Tensor([0.025, 0.500, 0.975], requires_grad=False)
    """
    return _ndtr(real_floating("ndtr", input))


@accepts_out(castable=True)
def ndtri(input: Tensor) -> Tensor:
    """The inverse of `ndtr`; infinite at 0 and 1, NaN beyond.

    >>> lucid.special.ndtri(lucid.tensor([0.025, 0.5, 0.975]))
    Tensor([-1.96,  0.00,  1.96], requires_grad=False)
    """
    return _ndtri(real_floating("ndtri", input))


@accepts_out(castable=True)
def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of `ndtr`, also where that underflows.

    >>> lucid.special.log_ndtr(lucid.tensor([0.0, -100.0]))
    Tensor([   -0.6931, -5005.5244], requires_grad=False)
    """
    return _log_ndtr(real_floating("log_ndtr", input))


@accepts_out(castable=True)
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    >>> lucid.i0(lucid.tensor([0.0, 1.0, 2.0]))
    Tensor([1.0000, 1.2661, 2.2796], requires_grad=False)
    """
    return _i0(real_floating("i0", input))


@accepts_out(castable=True)
def i0e(input: Tensor) -> Tensor:
    """``exp(-|input|) * i0(input)``.

    >>> lucid.special.i0e(lucid.tensor([0.0, 1.0, 100.0]))
    Tensor([1.0000, 0.4658, 0.0399], requires_grad=False)
    """
    return _i0e(real_floating("i0e", input))


@accepts_out(castable=True)
def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    >>> lucid.special.i1(lucid.tensor([0.0, 1.0, 2.0]))
    Tensor([0.0000, 0.5652, 1.5906], requires_grad=False)
    """
    return _i1(real_floating("i1", input))


@accepts_out(castable=True)
def i1e(input: Tensor) -> Tensor:
    """``exp(-|input|) * i1(input)``.

    >>> lucid.special.i1e(lucid.tensor([0.0, 1.0, 100.0]))
    Tensor([0.0000, 0.2079, 0.0397], requires_grad=False)
    """
    return _i1e(real_floating("i1e", input))


@accepts_out(castable=True)
def entr(input: Tensor) -> Tensor:
    """``-input * log(input)``: 0 at 0, -inf for negative elements.

    >>> lucid.special.entr(lucid.tensor([0.5, 1.0, 0.0, -1.0]))
    Tensor([ 0.3466, -0.0000,  0.0000,    -inf], requires_grad=False)
    """
    return _entr(real_floating("entr", input))


@accepts_out(castable=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``, of the elements moved into [eps, 1 - eps] if `eps` is given; else NaN outside [0, 1].

    >>> lucid.logit(lucid.tensor([0.5, 0.75, 1.0]))
    Tensor([0.0000, 1.0986,    inf], requires_grad=False)
    >>> lucid.logit(lucid.tensor([0.5, 0.75, 1.0]), eps=0.1)
    Tensor([0.0000, 1.0986, 2.1972], requires_grad=False)
    """
    return _logit(real_floating("logit", input), eps=_dtypes.number(eps))


def _sinc_rule(needs: Any, a: Tensor) -> Vjp:
    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        zero = a == 0
        slope = (cos(a * math.pi) - sinc(a)) / where(zero, 1.0, a)
        return (where(zero, 0.0, g * slope.conj()),)

    return vjp


_sinc = single_op("sinc", _sinc_rule)


@accepts_out(castable=True)
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0. Integers give the default float dtype.

    >>> lucid.sinc(lucid.tensor([0.0, 0.5]))
    Tensor([1.0000, 0.6366], requires_grad=False)
    """
    return _sinc(as_floating("sinc", input))


register(__name__)
