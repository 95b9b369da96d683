"""Elementwise functions of one tensor. Integers become the default float dtype where the function is transcendental."""
from __future__ import annotations

import math
from typing import Any

from .. import _dtypes
from ..autograd.op import Op, UnaryOp
from ..tensor import Tensor
from ._operands import require_tensor

METHODS = ("abs", "absolute", "sgn", "sign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt",
           "reciprocal", "square", "sin", "cos", "tan", "sinh", "cosh", "atan", "arctan", "floor", "ceil", "trunc", "round",
           "isnan", "isinf", "isfinite")
INPLACE_METHODS = METHODS[:-3]


def _float(name: str, input: Tensor) -> Tensor:
    """`input`, or its conversion to the default float dtype if it holds integers."""
    if require_tensor(name, input)._array.dtype.kind in "biu":
        return input.to(_dtypes.get_default_dtype())
    return input


_abs = UnaryOp("abs", lambda needs, a: lambda g, y: (g * sgn(a),))
_exp = UnaryOp("exp", lambda needs, a: lambda g, y: (g * y.conj(),), keeps=True)
_exp2 = UnaryOp("exp2", lambda needs, a: lambda g, y: (g * y.conj() * math.log(2),), keeps=True)
_expm1 = UnaryOp("expm1", lambda needs, a: lambda g, y: (g * (y + 1).conj(),), keeps=True)
_log = UnaryOp("log", lambda needs, a: lambda g, y: (g / a.conj(),))
_log2 = UnaryOp("log2", lambda needs, a: lambda g, y: (g / (a.conj() * math.log(2)),))
_log10 = UnaryOp("log10", lambda needs, a: lambda g, y: (g / (a.conj() * math.log(10)),))
_log1p = UnaryOp("log1p", lambda needs, a: lambda g, y: (g / (a + 1).conj(),))
_sqrt = UnaryOp("sqrt", lambda needs, a: lambda g, y: (g / (y.conj() * 2),), keeps=True)
_rsqrt = UnaryOp("rsqrt", lambda needs, a: lambda g, y: (g * (y * y * y).conj() * -0.5,), keeps=True)
_reciprocal = UnaryOp("reciprocal", lambda needs, a: lambda g, y: (-g * (y * y).conj(),), keeps=True)
_square = UnaryOp("square", lambda needs, a: lambda g, y: (g * a.conj() * 2,))
_sin = UnaryOp("sin", lambda needs, a: lambda g, y: (g * cos(a).conj(),))
_cos = UnaryOp("cos", lambda needs, a: lambda g, y: (-g * sin(a).conj(),))
_tan = UnaryOp("tan", lambda needs, a: lambda g, y: (g * (y * y + 1).conj(),), keeps=True)
_sinh = UnaryOp("sinh", lambda needs, a: lambda g, y: (g * cosh(a).conj(),))
_cosh = UnaryOp("cosh", lambda needs, a: lambda g, y: (g * sinh(a).conj(),))
_arctan = UnaryOp("arctan", lambda needs, a: lambda g, y: (g / (a * a + 1).conj(),))


def _flat_rule(needs: Any, a: Tensor) -> Any:
    """The gradient of a step function: zero."""
    return lambda g, y: (g * 0,)


_sign = UnaryOp("sign", _flat_rule)
_floor = UnaryOp("floor", _flat_rule)
_ceil = UnaryOp("ceil", _flat_rule)
_trunc = UnaryOp("trunc", _flat_rule)
_round = Op("round", lambda needs, a, *, decimals: lambda g, y: (g * 0,))
_isnan, _isinf, _isfinite = Op("isnan"), Op("isinf"), Op("isfinite")


def abs(input: Tensor) -> Tensor:
    """The absolute value; of complex elements, their modulus. The gradient at 0 is 0."""
    return _abs(require_tensor("abs", input))


absolute = abs


def sgn(input: Tensor) -> Tensor:
    """The sign of real elements; of complex ones, the number of modulus 1 with the same angle (0 for 0)."""
    if require_tensor("sgn", input)._array.dtype.kind != "c":
        return sign(input)
    from .comparison import where

    size = abs(input)
    return where(size == 0, input * 0, input / where(size == 0, 1.0, size))


def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1."""
    if require_tensor("sign", input)._array.dtype.kind == "b":
        return input.clone()
    return _sign(input)


def exp(input: Tensor) -> Tensor:
    """e to the power of each element."""
    return _exp(_float("exp", input))


def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element."""
    return _exp2(_float("exp2", input))


def expm1(input: Tensor) -> Tensor:
    """``exp(input) - 1``, accurate near 0."""
    return _expm1(_float("expm1", input))


def log(input: Tensor) -> Tensor:
    """The natural logarithm: -inf at 0, NaN below."""
    return _log(_float("log", input))


def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2."""
    return _log2(_float("log2", input))


def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10."""
    return _log10(_float("log10", input))


def log1p(input: Tensor) -> Tensor:
    """``log(1 + input)``, accurate near 0."""
    return _log1p(_float("log1p", input))


def sqrt(input: Tensor) -> Tensor:
    """The square root; NaN below 0."""
    return _sqrt(_float("sqrt", input))


def rsqrt(input: Tensor) -> Tensor:
    """``1 / sqrt(input)``."""
    return _rsqrt(_float("rsqrt", input))


def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``."""
    return _reciprocal(_float("reciprocal", input))


def square(input: Tensor) -> Tensor:
    """``input ** 2``."""
    return _square(require_tensor("square", input))


def sin(input: Tensor) -> Tensor:
    """The sine of radians."""
    return _sin(_float("sin", input))


def cos(input: Tensor) -> Tensor:
    """The cosine of radians."""
    return _cos(_float("cos", input))


def tan(input: Tensor) -> Tensor:
    """The tangent of radians."""
    return _tan(_float("tan", input))


def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine."""
    return _sinh(_float("sinh", input))


def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine."""
    return _cosh(_float("cosh", input))


def atan(input: Tensor) -> Tensor:
    """The angle, in radians, whose tangent is each element."""
    return _arctan(_float("atan", input))


arctan = atan


def _step(name: str, op: UnaryOp, input: Tensor) -> Tensor:
    if require_tensor(name, input)._array.dtype.kind in "biu":
        return input.clone()
    return op(input)


def floor(input: Tensor) -> Tensor:
    """The largest integer not above each element; the gradient is 0."""
    return _step("floor", _floor, input)


def ceil(input: Tensor) -> Tensor:
    """The smallest integer not below each element; the gradient is 0."""
    return _step("ceil", _ceil, input)


def trunc(input: Tensor) -> Tensor:
    """Each element without its fraction; the gradient is 0."""
    return _step("trunc", _trunc, input)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest number with `decimals` decimals, halves to even; the gradient is 0."""
    if require_tensor("round", input)._array.dtype.kind in "biu":
        return input.clone()
    return _round(input, decimals=decimals)


def isnan(input: Tensor) -> Tensor:
    """Where elements are NaN, as bool. Not differentiable."""
    return _isnan(require_tensor("isnan", input))


def isinf(input: Tensor) -> Tensor:
    """Where elements are infinite, as bool. Not differentiable."""
    return _isinf(require_tensor("isinf", input))


def isfinite(input: Tensor) -> Tensor:
    """Where elements are neither infinite nor NaN, as bool. Not differentiable."""
    return _isfinite(require_tensor("isfinite", input))
