"""Circular and hyperbolic functions and their inverses. Integers become the default float dtype."""
from __future__ import annotations

from typing import Any

from ...autograd.op import UnaryOp, Vjp
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


_sin = UnaryOp("sin", lambda needs, a: lambda g, y: (g * cos(a).conj(),))
_cos = UnaryOp("cos", lambda needs, a: lambda g, y: (-g * sin(a).conj(),))
_tan = UnaryOp("tan", of_result(lambda g, y: g * (y * y + 1).conj()), saved_outputs=True)
_sinh = UnaryOp("sinh", lambda needs, a: lambda g, y: (g * cosh(a).conj(),))
_cosh = UnaryOp("cosh", lambda needs, a: lambda g, y: (g * sinh(a).conj(),))
_arccos = UnaryOp("arccos", of_input(lambda g, a: -g * (1 - a * a).rsqrt().conj()))
_arccosh = UnaryOp("arccosh", _arccosh_rule)
_arcsin = UnaryOp("arcsin", of_input(lambda g, a: g * (1 - a * a).rsqrt().conj()))
_arcsinh = UnaryOp("arcsinh", of_input(lambda g, a: g * (a * a + 1).rsqrt().conj()))
_arctan = UnaryOp("arctan", of_input(lambda g, a: g / (a * a + 1).conj()))
_arctanh = UnaryOp("arctanh", of_input(lambda g, a: g / (1 - a * a).conj()))
_deg2rad = UnaryOp("deg2rad", lambda needs, a: lambda g, y: (deg2rad(g),))
_rad2deg = UnaryOp("rad2deg", lambda needs, a: lambda g, y: (rad2deg(g),))


@accepts_out(castable=True)
def sin(input: Tensor) -> Tensor:
    """The sine of radians."""
    return _sin(as_floating("sin", input))


@accepts_out(castable=True)
def cos(input: Tensor) -> Tensor:
    """The cosine of radians."""
    return _cos(as_floating("cos", input))


@accepts_out(castable=True)
def tan(input: Tensor) -> Tensor:
    """The tangent of radians."""
    return _tan(as_floating("tan", input))


@accepts_out(castable=True)
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine."""
    return _sinh(as_floating("sinh", input))


@accepts_out(castable=True)
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine."""
    return _cosh(as_floating("cosh", input))


@accepts_out(castable=True)
def acos(input: Tensor) -> Tensor:
    """The angle, in radians from 0 to pi, whose cosine is each element; NaN outside [-1, 1]."""
    return _arccos(as_floating("acos", input))


@accepts_out(castable=True)
def acosh(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine is each element; NaN below 1."""
    return _arccosh(as_floating("acosh", input))


@accepts_out(castable=True)
def asin(input: Tensor) -> Tensor:
    """The angle, in radians from -pi/2 to pi/2, whose sine is each element; NaN outside [-1, 1]."""
    return _arcsin(as_floating("asin", input))


@accepts_out(castable=True)
def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine is each element."""
    return _arcsinh(as_floating("asinh", input))


@accepts_out(castable=True)
def atan(input: Tensor) -> Tensor:
    """The angle, in radians, whose tangent is each element."""
    return _arctan(as_floating("atan", input))


@accepts_out(castable=True)
def atanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent is each element; infinite at -1 and 1, NaN beyond."""
    return _arctanh(as_floating("atanh", input))


arccos, arccosh, arcsin, arcsinh, arctan, arctanh = acos, acosh, asin, asinh, atan, atanh


@accepts_out(castable=True)
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians. Raises RuntimeError for complex tensors."""
    return _deg2rad(_real("deg2rad", input))


@accepts_out(castable=True)
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees. Raises RuntimeError for complex tensors."""
    return _rad2deg(_real("rad2deg", input))


def _real(name: str, input: Tensor) -> Tensor:
    if as_floating(name, input)._array.dtype.kind == "c":
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return as_floating(name, input)


register(__name__)
