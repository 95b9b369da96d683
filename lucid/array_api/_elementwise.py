"""Functions of each element: those of one array are lucid's own, those of two take Python scalars too."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lucid

from .. import (
    Tensor,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    exp,
    expm1,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    negative,
    positive,
    real,
    reciprocal,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
)
from .. import bitwise_not as bitwise_invert
from .. import conj_physical as conj
from ._operands import together

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


def _binary(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Any], Tensor]:
    def binary(x1: Any, x2: Any, /) -> Tensor:
        if x1.__class__ is x2.__class__ is Tensor and x1._array.dtype == x2._array.dtype:
            return function(x1, x2)
        return function(*together(name, x1, x2))

    binary.__name__ = binary.__qualname__ = name
    binary.__doc__ = f"`lucid.{function.__name__}` of arrays, or of an array and a Python scalar."
    return binary


add = _binary("add", lucid.add)
atan2 = _binary("atan2", lucid.atan2)
bitwise_and = _binary("bitwise_and", lucid.bitwise_and)
bitwise_left_shift = _binary("bitwise_left_shift", lucid.bitwise_left_shift)
bitwise_or = _binary("bitwise_or", lucid.bitwise_or)
bitwise_right_shift = _binary("bitwise_right_shift", lucid.bitwise_right_shift)
bitwise_xor = _binary("bitwise_xor", lucid.bitwise_xor)
copysign = _binary("copysign", lucid.copysign)
divide = _binary("divide", lucid.divide)
equal = _binary("equal", lucid.eq)
floor_divide = _binary("floor_divide", lucid.floor_divide)
greater = _binary("greater", lucid.greater)
greater_equal = _binary("greater_equal", lucid.greater_equal)
hypot = _binary("hypot", lucid.hypot)
less = _binary("less", lucid.less)
less_equal = _binary("less_equal", lucid.less_equal)
logaddexp = _binary("logaddexp", lucid.logaddexp)
logical_and = _binary("logical_and", lucid.logical_and)
logical_or = _binary("logical_or", lucid.logical_or)
logical_xor = _binary("logical_xor", lucid.logical_xor)
maximum = _binary("maximum", lucid.maximum)
minimum = _binary("minimum", lucid.minimum)
multiply = _binary("multiply", lucid.multiply)
nextafter = _binary("nextafter", lucid.nextafter)
not_equal = _binary("not_equal", lucid.not_equal)
pow = _binary("pow", lucid.pow)
remainder = _binary("remainder", lucid.remainder)
subtract = _binary("subtract", lucid.subtract)


def _rounding(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def rounding(x: Tensor, /) -> Tensor:
        return x.clone() if x.dtype.kind in "biu" else function(x)

    name = function.__name__
    rounding.__name__ = rounding.__qualname__ = name
    rounding.__doc__ = f"`lucid.{name}`; integers stay as they are."
    return rounding


ceil, floor, trunc = _rounding(lucid.ceil), _rounding(lucid.floor), _rounding(lucid.trunc)


def round(x: Tensor, /) -> Tensor:
    """The nearest integers, ties to even ones, of both parts of complex elements.

    >>> from lucid import array_api as xp
    >>> xp.round(xp.asarray([0.5, 1.5, -2.6]))
    Tensor([ 0.0,  2.0, -3.0], requires_grad=False)
    """
    if x.dtype.kind == "c":
        return lucid.complex(lucid.round(x.real), lucid.round(x.imag))
    return x.clone() if x.dtype.kind in "biu" else lucid.round(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0, 1 or NaN; of a complex element ``x / abs(x)``.

    >>> from lucid import array_api as xp
    >>> xp.sign(xp.asarray([-3.0, 0.0, 7.0]))
    Tensor([-1.0,  0.0,  1.0], requires_grad=False)
    """
    if x.dtype.kind == "c":
        return lucid.where(x == 0, lucid.zeros_like(x), lucid.sgn(x))  # whose zeros have the signs of `x`
    return lucid.where(x.isnan(), x, lucid.sign(x))


def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts. Raises RuntimeError for an array that is not complex.

    >>> from lucid import array_api as xp
    >>> xp.imag(xp.asarray([1 + 2j]))
    Tensor([2.0], requires_grad=False)
    """
    return lucid.imag(x)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """`x` within `min` and `max`, numbers or arrays that broadcast, in the dtype of `x`; NaN where one of the three is.

    >>> from lucid import array_api as xp
    >>> xp.clip(xp.asarray([-2, 0, 5]), -1, 3)
    Tensor([-1,  0,  3], requires_grad=False)
    """
    bounds = [None if bound is None else _bound(x, bound) for bound in (min, max)]
    if bounds == [None, None]:
        return x.clone()
    return lucid.clip(x, *bounds)


def _bound(x: Tensor, bound: Any) -> Tensor:
    if isinstance(bound, Tensor):
        return bound.to(x.dtype)
    return lucid.full((), bound, dtype=x.dtype, device=x.device)
