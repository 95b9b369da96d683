"""Circular and hyperbolic functions and their inverses. Integers become the default float dtype."""
from __future__ import annotations

from typing import Any

from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import as_floating
from .._out import accepts_out
from .fused import of_input, of_result

METHODS = ("sin", "cos", "tan", "sinh", "cosh", "acos", "arccos", "acosh", "arccosh", "asin", "arcsin", "asinh", "arcsinh",
           "atan", "arctan", "atanh", "arctanh", "deg2rad", "rad2deg")
INPLACE_METHODS = SINGLE = METHODS


def _arccosh_rule(needs: Any, a: Tensor) -> Vjp:
    if a._array.dtype.kind == "c":  # the product of the roots has the branch cut of the function
        return lambda g, y: (g * ((a - 1).rsqrt() * (a + 1).rsqrt()).conj(),)
    return lambda g, y: (g * (a * a - 1).rsqrt(),)


_sin = single_op("sin", lambda needs, a: lambda g, y: (g * cos(a).conj(),))
_cos = single_op("cos", lambda needs, a: lambda g, y: (-g * sin(a).conj(),))
_tan = single_op("tan", of_result(lambda g, y: g * (y * y + 1).conj()), saved_outputs=True)
_sinh = single_op("sinh", lambda needs, a: lambda g, y: (g * cosh(a).conj(),))
_cosh = single_op("cosh", lambda needs, a: lambda g, y: (g * sinh(a).conj(),))
_arccos = single_op("arccos", of_input(lambda g, a: -g * (1 - a * a).rsqrt().conj()))
_arccosh = single_op("arccosh", _arccosh_rule)
_arcsin = single_op("arcsin", of_input(lambda g, a: g * (1 - a * a).rsqrt().conj()))
_arcsinh = single_op("arcsinh", of_input(lambda g, a: g * (a * a + 1).rsqrt().conj()))
_arctan = single_op("arctan", of_input(lambda g, a: g / (a * a + 1).conj()))
_arctanh = single_op("arctanh", of_input(lambda g, a: g / (1 - a * a).conj()))
_deg2rad = single_op("deg2rad", lambda needs, a: lambda g, y: (deg2rad(g),))
_rad2deg = single_op("rad2deg", lambda needs, a: lambda g, y: (rad2deg(g),))


@accepts_out(castable=True)
def sin(input: Tensor) -> Tensor:
    """The sine of radians. Integers give the default float dtype.

    >>> lucid.sin(lucid.tensor([0.0, lucid.pi / 2]))
    Tensor([0.0, 1.0], requires_grad=False)
    """
    return _sin(as_floating("sin", input))


@accepts_out(castable=True)
def cos(input: Tensor) -> Tensor:
    """The cosine of radians. Integers give the default float dtype.

    >>> lucid.cos(lucid.tensor([0.0, lucid.pi]))
    Tensor([ 1.0, -1.0], requires_grad=False)
    """
    return _cos(as_floating("cos", input))


@accepts_out(castable=True)
def tan(input: Tensor) -> Tensor:
    """The tangent of radians. Integers give the default float dtype.

    >>> lucid.tan(lucid.tensor([0.0, lucid.pi / 4]))
    Tensor([0.0, 1.0], requires_grad=False)
    """
    return _tan(as_floating("tan", input))


@accepts_out(castable=True)
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine. Integers give the default float dtype.

    >>> lucid.sinh(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-1.1752,  0.0000,  1.1752], requires_grad=False)
    """
    return _sinh(as_floating("sinh", input))


@accepts_out(castable=True)
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine. Integers give the default float dtype.

    >>> lucid.cosh(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([1.5431, 1.0000, 1.5431], requires_grad=False)
    """
    return _cosh(as_floating("cosh", input))


@accepts_out(castable=True)
def acos(input: Tensor) -> Tensor:
    """The angle, in radians from 0 to pi, whose cosine is each element; NaN outside [-1, 1].

    >>> lucid.acos(lucid.tensor([-1.0, 0.0, 1.0, 2.0]))
    Tensor([3.1416, 1.5708, 0.0000,    nan], requires_grad=False)
    """
    return _arccos(as_floating("acos", input))


@accepts_out(castable=True)
def acosh(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine is each element; NaN below 1.

    >>> lucid.acosh(lucid.tensor([1.0, 2.0, 0.5]))
    Tensor([0.000, 1.317,   nan], requires_grad=False)
    """
    return _arccosh(as_floating("acosh", input))


@accepts_out(castable=True)
def asin(input: Tensor) -> Tensor:
    """The angle, in radians from -pi/2 to pi/2, whose sine is each element; NaN outside [-1, 1].

    >>> lucid.asin(lucid.tensor([-1.0, 0.5, 1.0]))
    Tensor([-1.5708,  0.5236,  1.5708], requires_grad=False)
    """
    return _arcsin(as_floating("asin", input))


@accepts_out(castable=True)
def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine is each element.

    >>> lucid.asinh(lucid.tensor([-1.0, 0.0, 10.0]))
    Tensor([-0.8814,  0.0000,  2.9982], requires_grad=False)
    """
    return _arcsinh(as_floating("asinh", input))


@accepts_out(castable=True)
def atan(input: Tensor) -> Tensor:
    """The angle, in radians, whose tangent is each element.

    >>> lucid.atan(lucid.tensor([-1.0, 0.0, float("inf")]))
    Tensor([-0.7854,  0.0000,  1.5708], requires_grad=False)
    """
    return _arctan(as_floating("atan", input))


@accepts_out(castable=True)
def atanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent is each element; infinite at -1 and 1, NaN beyond.

    >>> lucid.atanh(lucid.tensor([-1.0, 0.0, 0.5]))
    Tensor([  -inf, 0.0000, 0.5493], requires_grad=False)
    """
    return _arctanh(as_floating("atanh", input))


arccos, arccosh, arcsin, arcsinh, arctan, arctanh = acos, acosh, asin, asinh, atan, atanh


@accepts_out(castable=True)
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians. Raises RuntimeError for complex tensors.

    >>> lucid.deg2rad(lucid.tensor([0.0, 90.0, 180.0]))
    Tensor([0.0000, 1.5708, 3.1416], requires_grad=False)
    """
    return _deg2rad(_real("deg2rad", input))


@accepts_out(castable=True)
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees. Raises RuntimeError for complex tensors.

    >>> lucid.rad2deg(lucid.tensor([0.0, lucid.pi]))
    Tensor([  0.0, 180.0], requires_grad=False)
    """
    return _rad2deg(_real("rad2deg", input))


def _real(name: str, input: Tensor) -> Tensor:
    if as_floating(name, input)._array.dtype.kind == "c":
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return as_floating(name, input)


register(__name__)
