"""Elementwise functions of one tensor: `exp`, `abs`, `sqrt`, rounding, predicates. Integers become the default float dtype where
the function is transcendental.
"""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import as_floating, require_tensor
from .._out import accepts_out
from .fused import fused_if_large, of_input, of_result

METHODS = ("abs", "absolute", "sgn", "sign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt",
           "reciprocal", "square", "floor", "ceil", "trunc", "fix", "frac", "round", "nan_to_num", "angle", "positive",
           "signbit", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal")
INPLACE_METHODS = METHODS[:METHODS.index("angle")]
SINGLE = tuple(name for name in INPLACE_METHODS if name not in ("sgn", "frac"))


_abs_slope = of_input(lambda g, a: g * sgn(a))
_abs = single_op("abs", lambda needs, a: _abs_slope(needs, a) if a._array.dtype.kind != "c" else lambda g, y: (_abs_grad(g, a),))
_exp = single_op("exp", lambda needs, a: lambda g, y: (g * y.conj(),), saved_outputs=True)
_exp2 = single_op("exp2", lambda needs, a: lambda g, y: (g * y.conj() * math.log(2),), saved_outputs=True)
_expm1 = single_op("expm1", lambda needs, a: lambda g, y: (g * (y + 1).conj(),), saved_outputs=True)
_log = single_op("log", lambda needs, a: lambda g, y: (g / a.conj(),))
_log2 = single_op("log2", of_input(lambda g, a: g / (a.conj() * math.log(2))))
_log10 = single_op("log10", of_input(lambda g, a: g / (a.conj() * math.log(10))))
_log1p = single_op("log1p", of_input(lambda g, a: g / (a + 1).conj()))
_sqrt = single_op("sqrt", of_result(lambda g, y: g / (y.conj() * 2)), saved_outputs=True)
_rsqrt = single_op("rsqrt", of_result(lambda g, y: g * (y * y * y).conj() * -0.5), saved_outputs=True)
_reciprocal = single_op("reciprocal", of_result(lambda g, y: -g * (y * y).conj()), saved_outputs=True)
_square = single_op("square", of_input(lambda g, a: g * a.conj() * 2))


def _across(g: Tensor, a: Tensor, direction: Tensor) -> Tensor:
    """The gradient of ``sgn(a)``, the `direction`: it changes with what is at right angles to it, the less the larger `a` is."""
    from .where import where

    size = a.abs()
    zero = size == 0
    return where(zero, 0.0, (g - (g * direction.conj()).real * direction) / where(zero, 1.0, size))


def _abs_grad_rule(needs: Any, g: Tensor, a: Tensor) -> Vjp:
    def vjp(gg: Tensor, y: Any) -> tuple[Tensor, Tensor]:
        direction = sgn(a)
        return (gg * direction.conj()).real, g * _across(gg, a, direction)

    return vjp


_abs_grad: Op = single_op("abs_grad", _abs_grad_rule)  # of complex numbers, as the next
_sgn = single_op("sgn", lambda needs, a: lambda g, y: (_across(g, a, y),), saved_outputs=True)


def flat(g: Tensor) -> Tensor:
    """Zeros like `g`, also where it is NaN or infinite: the gradient between the steps of a function."""
    if g._array.size > 1:
        from ..creation.creation import zeros_like

        return zeros_like(g)
    return (g == g).to(g.dtype) * 0  # also of a symbol of a formula, which has a single element


def _flat_rule(needs: Any, a: Tensor, **attributes: Any) -> Vjp:
    return lambda g, y: (flat(g),)


def _angle_vjp(a: Tensor) -> Vjp:
    """Of real numbers the angle is a step; of complex ones it grows at right angles to them, and at 0 it has no direction."""
    if a._array.dtype.kind != "c":
        return lambda g, y: (flat(g),)

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        from .where import where

        size = a.abs()
        zero = size == 0
        return (where(zero, 0.0, g * 1j * (a / where(zero, 1.0, size * size))),)

    return vjp


def _nan_to_num_rule(needs: Any, a: Tensor, **fill: Any) -> Vjp:
    if a._array.dtype.kind != "c":
        passes = a.isfinite()
        return lambda g, y: (g * passes,)
    from ..conversion import imag, real

    return lambda g, y: (real(g) * real(a).isfinite() + 1j * (imag(g) * imag(a).isfinite()),)


_sign = single_op("sign", _flat_rule)
_floor = single_op("floor", _flat_rule)
_ceil = single_op("ceil", _flat_rule)
_trunc = single_op("trunc", _flat_rule)
_round = single_op("round", _flat_rule)
_nan_to_num = single_op("nan_to_num", _nan_to_num_rule)
_angle = single_op("angle", lambda needs, a: _angle_vjp(a))
_signbit = single_op("signbit")
_isnan, _isinf, _isfinite = single_op("isnan"), single_op("isinf"), single_op("isfinite")


@accepts_out
def abs(input: Tensor) -> Tensor:
    """The absolute value; of complex elements, their modulus. The gradient at 0 is 0. Raises NotImplementedError for bools.

    >>> lucid.abs(lucid.tensor([-1.5, 0.0, 2.0]))
    Tensor([1.5, 0.0, 2.0], requires_grad=False)
    >>> lucid.abs(lucid.tensor([3 + 4j]))
    Tensor([5.0], requires_grad=False)
    """
    if require_tensor("abs", input)._array.dtype.kind == "b":
        raise NotImplementedError("\"abs\" not implemented for 'Bool'")
    return _abs(input)


absolute = abs


@accepts_out
def sgn(input: Tensor) -> Tensor:
    """The sign of real elements; of complex ones, the number of modulus 1 with the same angle (0 for 0).

    >>> lucid.sgn(lucid.tensor([3 + 4j, 0j]))
    Tensor([0.6+0.8j, 0.0+0.0j], requires_grad=False)
    """
    if require_tensor("sgn", input)._array.dtype.kind != "c":
        return sign(input)
    return _sgn(input)


@accepts_out
@fused_if_large
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1. Raises NotImplementedError for complex numbers: use `sgn`.

    >>> lucid.sign(lucid.tensor([-3.0, 0.0, 7.0]))
    Tensor([-1.0,  0.0,  1.0], requires_grad=False)
    """
    kind = require_tensor("sign", input)._array.dtype.kind
    if kind == "c":
        raise NotImplementedError("sign is not implemented for complex tensors: use sgn")
    if kind == "b":
        return input.clone()
    return _sign(input)


@accepts_out(castable=True)
def exp(input: Tensor) -> Tensor:
    """e to the power of each element. Integers give the default float dtype.

    >>> lucid.exp(lucid.tensor([0.0, 1.0, -lucid.inf]))
    Tensor([1.0000, 2.7183, 0.0000], requires_grad=False)
    """
    return _exp(as_floating("exp", input))


@accepts_out(castable=True)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element. Integers give the default float dtype.

    >>> lucid.exp2(lucid.tensor([0.0, 3.0, -1.0]))
    Tensor([1.0, 8.0, 0.5], requires_grad=False)
    """
    return _exp2(as_floating("exp2", input))


@accepts_out(castable=True)
def expm1(input: Tensor) -> Tensor:
    """``exp(input) - 1``, accurate near 0. Integers give the default float dtype.

    >>> lucid.expm1(lucid.tensor([0.0, 1e-10, 1.0]))
    Tensor([0.0000e+00, 1.0000e-10, 1.7183e+00], requires_grad=False)
    """
    return _expm1(as_floating("expm1", input))


@accepts_out(castable=True)
def log(input: Tensor) -> Tensor:
    """The natural logarithm: -inf at 0, NaN below. Integers give the default float dtype.

    >>> lucid.log(lucid.tensor([1.0, lucid.e, 0.0, -1.0]))
    Tensor([ 0.0,  1.0, -inf,  nan], requires_grad=False)
    """
    return _log(as_floating("log", input))


@accepts_out(castable=True)
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2. Integers give the default float dtype.

    >>> lucid.log2(lucid.tensor([1.0, 8.0, 0.5]))
    Tensor([ 0.0,  3.0, -1.0], requires_grad=False)
    """
    return _log2(as_floating("log2", input))


@accepts_out(castable=True)
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10. Integers give the default float dtype.

    >>> lucid.log10(lucid.tensor([1.0, 1000.0]))
    Tensor([0.0, 3.0], requires_grad=False)
    """
    return _log10(as_floating("log10", input))


@accepts_out(castable=True)
def log1p(input: Tensor) -> Tensor:
    """``log(1 + input)``, accurate near 0. Integers give the default float dtype.

    >>> lucid.log1p(lucid.tensor([0.0, 1e-10]))
    Tensor([0.0e+00, 1.0e-10], requires_grad=False)
    """
    return _log1p(as_floating("log1p", input))


@accepts_out(castable=True)
def sqrt(input: Tensor) -> Tensor:
    """The square root; NaN below 0. Integers give the default float dtype.

    >>> lucid.sqrt(lucid.tensor([4.0, 2.0, -1.0]))
    Tensor([2.0000, 1.4142,    nan], requires_grad=False)
    """
    return _sqrt(as_floating("sqrt", input))


@accepts_out(castable=True)
@fused_if_large
def rsqrt(input: Tensor) -> Tensor:
    """``1 / sqrt(input)``. Integers give the default float dtype.

    >>> lucid.rsqrt(lucid.tensor([4.0, 0.25]))
    Tensor([0.5, 2.0], requires_grad=False)
    """
    return _rsqrt(as_floating("rsqrt", input))


@accepts_out(castable=True)
def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``. Integers give the default float dtype.

    >>> lucid.reciprocal(lucid.tensor([2.0, 4.0, 0.0]))
    Tensor([0.50, 0.25,  inf], requires_grad=False)
    """
    return _reciprocal(as_floating("reciprocal", input))


@accepts_out(castable=True)
def square(input: Tensor) -> Tensor:
    """``input ** 2``; bools give int64.

    >>> lucid.square(lucid.tensor([-2.0, 3.0]))
    Tensor([4.0, 9.0], requires_grad=False)
    """
    return _square(input.long() if require_tensor("square", input)._array.dtype.kind == "b" else input)


def _step(name: str, op: Any, input: Tensor) -> Tensor:
    kind = _real_number(name, input)
    return input.clone() if kind in "iu" else op(input)


def _real_number(name: str, input: Tensor) -> str:
    """NumPy's kind of the dtype. Raises NotImplementedError for bool and complex tensors."""
    kind = require_tensor(name, input)._array.dtype.kind
    if kind in "bc":
        raise NotImplementedError(f"{name} is not implemented for {input.dtype.name}")
    return kind


@accepts_out
def floor(input: Tensor) -> Tensor:
    """The largest integer not above each element; the gradient is 0.

    >>> lucid.floor(lucid.tensor([-1.5, 0.2, 2.0]))
    Tensor([-2.0,  0.0,  2.0], requires_grad=False)
    """
    return _step("floor", _floor, input)


@accepts_out
def ceil(input: Tensor) -> Tensor:
    """The smallest integer not below each element; the gradient is 0.

    >>> lucid.ceil(lucid.tensor([-1.5, 0.2, 2.0]))
    Tensor([-1.0,  1.0,  2.0], requires_grad=False)
    """
    return _step("ceil", _ceil, input)


@accepts_out
def trunc(input: Tensor) -> Tensor:
    """Each element without its fraction; the gradient is 0.

    >>> lucid.trunc(lucid.tensor([1.7, -1.7]))
    Tensor([ 1.0, -1.0], requires_grad=False)
    """
    return _step("trunc", _trunc, input)


fix = trunc


@accepts_out
@fused_if_large
def frac(input: Tensor) -> Tensor:
    """The fraction that `trunc` cuts off, with the sign of the element. Raises NotImplementedError for integers.

    >>> lucid.frac(lucid.tensor([1.75, -1.75]))
    Tensor([ 0.75, -0.75], requires_grad=False)
    """
    if require_tensor("frac", input)._array.dtype.kind in "biuc":
        raise NotImplementedError(f"frac is not implemented for {input.dtype.name}: it needs real floating-point tensors")
    return input - trunc(input)


def positive(input: Tensor) -> Tensor:
    """`input` itself. Raises RuntimeError for bool tensors.

    >>> lucid.positive(lucid.tensor([1, -2]))
    Tensor([ 1, -2], requires_grad=False)
    """
    if require_tensor("positive", input)._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@accepts_out
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest number with `decimals` decimals, halves to even; the gradient is 0. Integers have no `decimals`.

    >>> lucid.round(lucid.tensor([0.5, 1.5, -2.6]))
    Tensor([ 0.0,  2.0, -3.0], requires_grad=False)
    >>> lucid.round(lucid.tensor([3.14159]), decimals=2)
    Tensor([3.14], requires_grad=False)
    """
    if _real_number("round", input) in "iu":
        if decimals:
            raise NotImplementedError(f"round to {decimals} decimals is not implemented for {input.dtype.name}")
        return input.clone()
    return _round(input, decimals=decimals)


def isnan(input: Tensor) -> Tensor:
    """Where elements are NaN, as bool. Not differentiable.

    >>> lucid.isnan(lucid.tensor([1.0, float("nan"), float("inf")]))
    Tensor([False,  True, False], requires_grad=False)
    """
    if input.__class__ is not Tensor:
        require_tensor("isnan", input)
    return _isnan(input)


def isinf(input: Tensor) -> Tensor:
    """Where elements are infinite, as bool. Not differentiable.

    >>> lucid.isinf(lucid.tensor([1.0, float("nan"), -float("inf")]))
    Tensor([False, False,  True], requires_grad=False)
    """
    if input.__class__ is not Tensor:
        require_tensor("isinf", input)
    return _isinf(input)


def isfinite(input: Tensor) -> Tensor:
    """Where elements are neither infinite nor NaN, as bool. Not differentiable.

    >>> lucid.isfinite(lucid.tensor([1.0, float("nan"), float("inf")]))
    Tensor([ True, False, False], requires_grad=False)
    """
    if input.__class__ is not Tensor:
        require_tensor("isfinite", input)
    return _isfinite(input)


def _extended_real(name: str, input: Tensor) -> Tensor:
    if require_tensor(name, input)._array.dtype.kind == "c":
        raise RuntimeError(f"{name} does not support complex inputs.")
    return input


@accepts_out
def isposinf(input: Tensor) -> Tensor:
    """Where elements are infinity, as bool. Raises RuntimeError for complex tensors. Not differentiable.

    >>> lucid.isposinf(lucid.tensor([-float("inf"), float("inf")]))
    Tensor([False,  True], requires_grad=False)
    """
    return _extended_real("isposinf", input) == math.inf


@accepts_out
def isneginf(input: Tensor) -> Tensor:
    """Where elements are minus infinity, as bool. Raises RuntimeError for complex tensors. Not differentiable.

    >>> lucid.isneginf(lucid.tensor([-float("inf"), float("inf")]))
    Tensor([ True, False], requires_grad=False)
    """
    return _extended_real("isneginf", input) == -math.inf


def isreal(input: Tensor) -> Tensor:
    """Where elements have no imaginary part, as bool. Not differentiable.

    >>> lucid.isreal(lucid.tensor([1 + 0j, 1j]))
    Tensor([ True, False], requires_grad=False)
    """
    if require_tensor("isreal", input)._array.dtype.kind == "c":
        return input.imag == 0
    return input.new_ones(input.shape, dtype=bool)


@accepts_out
def signbit(input: Tensor) -> Tensor:
    """Where the sign is set, that of -0.0 and NaN included, as bool. Raises NotImplementedError for complex tensors.

    >>> lucid.signbit(lucid.tensor([-1.0, -0.0, 0.0]))
    Tensor([ True,  True, False], requires_grad=False)
    """
    if require_tensor("signbit", input)._array.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return _signbit(input)


@accepts_out
@fused_if_large
def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """NaN replaced by `nan` (None: 0), infinities by `posinf` and `neginf` (None: the largest and smallest values).

    The gradient passes where the element is finite.

    >>> lucid.nan_to_num(lucid.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    Tensor([1.0, 0.0, 9.0], requires_grad=False)
    """
    if require_tensor("nan_to_num", input)._array.dtype.kind in "biu":
        return input.clone()
    nan, posinf, neginf = (_dtypes.number(value) for value in (0.0 if nan is None else nan, posinf, neginf))
    return _nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


@accepts_out(castable=True)
def angle(input: Tensor) -> Tensor:
    """The argument of complex elements, in radians; of real ones, pi below 0 and 0 elsewhere.

    >>> lucid.angle(lucid.tensor([1j, -1 + 0j, 1 + 1j]))
    Tensor([1.5708, 3.1416, 0.7854], requires_grad=False)
    """
    return _angle(as_floating("angle", input))


SPECIAL_METHODS = {"__abs__": abs.without_out, "__pos__": positive}
register(__name__)
