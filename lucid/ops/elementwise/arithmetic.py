"""Binary arithmetic with broadcasting and type promotion: the operators, `pow`, `remainder`, `maximum`, `minimum`."""
from __future__ import annotations

import functools
from typing import Any

from ... import _dtypes
from ..._namespace.foreign import answer, defer, defers
from ...autograd.calls import elementwise, operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.op import Op, Vjp
from ...backends import TABLES
from ...backends.elementwise import ROWS
from ...backends.sizes import LARGE
from ...tensor import Tensor, wrap
from .._methods import register
from .._operands import as_operand, common_dtype, is_operand, operator, promote, promote_if_known, reduce_to, shape_of
from .._out import accepts_out
from .fused import fused_if_large
from .unary import square

METHODS = ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod",
           "pow", "neg", "negative", "maximum", "minimum")
INPLACE_METHODS = METHODS[:-2]
SINGLE = METHODS

Operand = Any  # a Tensor or a Python number
_modes = grad_mode.get
_NO_LOGARITHM = (3, -1, -2, 0.5, -0.5)  # exponents whose powers are products, quotients and roots


def _add_rule(needs: Any, a: Operand, b: Operand) -> Vjp:
    a_shape, b_shape = shape_of(a), shape_of(b)
    if a_shape is None or b_shape is None or a_shape == b_shape:
        return _add_vjp
    return lambda g, y: (reduce_to(g, a_shape), reduce_to(g, b_shape))


def _add_vjp(g: Tensor, y: Any) -> tuple[Tensor, Tensor]:
    return g, g


def _sub_rule(needs: Any, a: Operand, b: Operand) -> Vjp:
    a_shape, b_shape, needs_b = shape_of(a), shape_of(b), needs[1]
    return lambda g, y: (reduce_to(g, a_shape), reduce_to(_neg(g), b_shape) if needs_b else None)


def _sub_vjp(g: Tensor, y: Any) -> tuple[Tensor, Tensor]:
    return g, _neg(g)


def _mul_vjp(g: Tensor, operands: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    a, b = operands
    x = g._array
    if _modes() or x.size < 2:  # without dimensions there would be no array
        return _mul(g, b), _mul(g, a)
    # All three are alike and nothing is recorded: without `_mul`'s checks this takes two thirds of the time.
    kernel = TABLES[x.__class__]["mul"]
    return wrap(kernel(x, b._array)), wrap(kernel(x, a._array))


def _mul_rule(needs: Any, a: Operand, b: Operand) -> Vjp:
    a_shape, b_shape = shape_of(a), shape_of(b)
    a, b = a if needs[1] else None, b if needs[0] else None

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        return (None if b is None else reduce_to(_mul(g, conjugate(b)), a_shape),
                None if a is None else reduce_to(_mul(g, conjugate(a)), b_shape))

    return vjp


@fused_if_large
def _div_slopes(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    quotient = _div(g, conjugate(b))
    return quotient, _neg(_mul(quotient, conjugate(_div(a, b))))


def _div_rule(needs: Any, a: Operand, b: Operand) -> Vjp:
    a_shape, b_shape, needs_a = shape_of(a), shape_of(b), needs[0]
    a = a if needs[1] else None

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        if needs_a and a is not None:
            da, db = _div_slopes(g, a, b)
            return reduce_to(da, a_shape), reduce_to(db, b_shape)
        quotient = _div(g, conjugate(b))
        return (reduce_to(quotient, a_shape) if needs_a else None,
                None if a is None else reduce_to(_neg(_mul(quotient, conjugate(_div(a, b)))), b_shape))

    return vjp


@fused_if_large
def _power_slope(g: Tensor, a: Tensor, exponent: Any) -> Tensor:
    return _mul(g, conjugate(exponent * pow(a, exponent - 1)) if exponent != 0 else 0)


def _pow_rule(needs: Any, a: Operand, b: Operand) -> Vjp:
    a_shape, b_shape = shape_of(a), shape_of(b)
    needs_a, needs_b = needs

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        da = db = None
        if needs_a:
            if not isinstance(b, Tensor):
                da = _power_slope(g, a, b)
            else:
                from .where import where

                da = reduce_to(where(b == 0, 0.0, _mul(g, conjugate(b * pow(a, b - 1)))), a_shape)
        if needs_b:
            from .unary import log
            from .where import where

            # At a == 0 the power is flat for b >= 0: log(0) must not make it NaN.
            base = a if isinstance(a, Tensor) else b.new_full((), a)
            flat = (base == 0) & ((b.real if b._array.dtype.kind == "c" else b) >= 0)
            db = reduce_to(where(flat, g * 0, _mul(g, conjugate(pow(a, b) * log(where(flat, 1.0, base))))), b_shape)
        return da, db

    return vjp


def _remainder_rule(needs: Any, a: Operand, b: Operand, rounding_mode: str = "floor") -> Vjp:
    a_shape, b_shape = shape_of(a), shape_of(b)
    if not needs[1]:
        return lambda g, y: (reduce_to(g, a_shape), None)
    return lambda g, y: (reduce_to(g, a_shape), reduce_to(-g * div(a, b, rounding_mode=rounding_mode), b_shape))


def _step_rule(needs: Any, a: Operand, b: Operand) -> Vjp:
    a_shape, b_shape = shape_of(a), shape_of(b)

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        flat = g * 0
        return reduce_to(flat, a_shape), reduce_to(flat, b_shape)

    return vjp


def _extremum_rule(larger: bool) -> Any:
    """The gradient goes to the larger (smaller) operand, half to each where they are equal."""
    def rule(needs: Any, a: Tensor, b: Tensor) -> Vjp:
        a_shape, b_shape = shape_of(a), shape_of(b)
        needs_a, needs_b = needs

        def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
            from .where import where

            equal, half = a == b, g / 2

            def share(other_chosen: Tensor, shape: Any) -> Tensor:
                """A share, not a mask of values: with NaN in either operand both get the whole gradient, as in PyTorch."""
                return reduce_to(where(equal, half, where(other_chosen, 0.0, g)), shape)

            return (share((a < b) if larger else (a > b), a_shape) if needs_a else None,
                    share((b < a) if larger else (b > a), b_shape) if needs_b else None)

        return vjp

    return rule


_neg: Op = single_op("neg", lambda needs, a: lambda g, y: (_neg(g),), saves=False)
_add = elementwise("add", _add_rule, promote, same_shape_vjp=_add_vjp)
_sub = elementwise("sub", _sub_rule, lambda name, *operands: promote(name, *_refuse_bool(*operands)), same_shape_vjp=_sub_vjp)
_mul = elementwise("mul", _mul_rule, promote, same_shape_vjp=_mul_vjp, saves_inputs=True)
_mul.__doc__ = """``input * other``, elementwise with broadcasting and type promotion.

    >>> lucid.mul(lucid.tensor([1, 2, 3]), 10)
    Tensor([10, 20, 30], requires_grad=False)
    >>> lucid.tensor([[1], [2]]) * lucid.tensor([1.5, 10.0])
    Tensor([[ 1.5, 10.0],
            [ 3.0, 20.0]], requires_grad=False)
    """
mul = accepts_out(_mul, castable=True)
_div = elementwise("div", _div_rule, functools.partial(promote, floating=True), floating=True, saves_inputs=True)
_power = elementwise("power", _pow_rule, promote)
_floor_divide = operation("floor_divide")
_DIVIDED = ROWS["remainder"].fused_from  # elements from which on a kernel divides with a rest: NumPy takes 7 ns for each
_div_floor, _div_trunc = (fused_if_large(single_op(name, _step_rule), _DIVIDED) for name in ("floor_divide", "trunc_divide"))
_remainder = fused_if_large(elementwise("remainder", _remainder_rule, promote), _DIVIDED)
_trunc_remainder = elementwise("fmod", lambda needs, a, b: _remainder_rule(needs, a, b, "trunc"), promote)
_maximum = elementwise("maximum", _extremum_rule(larger=True), promote)
_minimum = elementwise("minimum", _extremum_rule(larger=False), promote)
# Without the frame that `operator` takes: a twentieth of the time of small arrays.
_plus = elementwise("add", _add_rule, promote_if_known, same_shape_vjp=_add_vjp)
_times = elementwise("mul", _mul_rule, promote_if_known, same_shape_vjp=_mul_vjp, saves_inputs=True)
_add_scaled = single_op("add_scaled", lambda needs, a, b, *, alpha: lambda g, y: (g, _mul(g, alpha) if needs[1] else None))


def conjugate(x: Operand) -> Operand:
    """The complex conjugate; a real tensor or number itself."""
    if isinstance(x, Tensor):
        return x.conj_physical() if x._array.dtype.kind == "c" else x
    return x.conjugate()


@accepts_out(castable=True)
@defers
def add(input: Operand, other: Operand, *, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``, elementwise with broadcasting. Of two bool tensors `alpha` counts as a bool.

    Raises RuntimeError for an `alpha` of a kind that the result has not: a float for integers.

    >>> lucid.add(lucid.tensor([1, 2]), lucid.tensor([10, 20]), alpha=2)
    Tensor([21, 42], requires_grad=False)
    >>> lucid.tensor([[1.0], [2.0]]) + lucid.tensor([0.5, 0.25])
    Tensor([[1.50, 1.25],
            [2.50, 2.25]], requires_grad=False)
    """
    try:
        if alpha == 1:
            return _add(input, other)
        if _real_alike(input, other, alpha):
            return _add_scaled(input, other, alpha=alpha)
        return _add(input, _scaled(input, other, alpha))
    except TypeError:
        return defer("add", input, other, **({} if alpha == 1 else {"alpha": alpha}))


@accepts_out(castable=True)
@defers
def sub(input: Operand, other: Operand, *, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``. Raises RuntimeError for bool tensors, as PyTorch does: use ``^`` or logical_not.

    >>> lucid.sub(lucid.tensor([10, 20]), lucid.tensor([1, 2]), alpha=3)
    Tensor([ 7, 14], requires_grad=False)
    """
    if alpha != 1 and _real_alike(input, other, alpha):
        return _add_scaled(input, other, alpha=-alpha)
    try:
        if alpha == 1:
            return _sub(input, other)
        _refuse_bool(input, other)
        return _sub(input, _scaled(input, other, alpha))
    except TypeError:  # NumPy refuses two bool arrays too
        _refuse_bool(input, other)
        return defer("sub", input, other, **({} if alpha == 1 else {"alpha": alpha}))


def _minus(self: Tensor, other: Operand) -> Any:
    """``self - other``: `sub` as an operator."""
    try:
        return _sub(self, other)
    except TypeError:
        _refuse_bool(self, other)
        if is_operand(other):
            raise
        return answer(_minus, (self, other), {})


def _scaled(input: Operand, other: Operand, alpha: Any) -> Operand:
    """``alpha * other`` in the dtype of the sum with `input`. Raises RuntimeError for an `alpha` of another kind than that."""
    dtype = common_dtype([as_operand("add", value) for value in (input, other)])
    kind, alpha = dtype.kind, _dtypes.number(alpha)
    if alpha.__class__ is bool and kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if alpha.__class__ is float and kind in "biu":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if alpha.__class__ is complex and kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    alpha = bool(alpha) if kind == "b" else alpha
    if isinstance(other, Tensor):
        return mul(other.to(dtype), alpha)
    return other and alpha if kind == "b" else other * alpha  # a number: as a tensor it would count for the dtype


def _real_alike(a: Operand, b: Operand, alpha: Any) -> bool:
    """Whether these are two real floating-point tensors of one shape and dtype on one kind of device, and a number for them."""
    if alpha.__class__ not in (int, float) or not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return False
    x, y = a._array, b._array
    return bool(x.dtype.kind == "f" and x.dtype == y.dtype and x.shape == y.shape and x.__class__ is y.__class__)


def rsub(input: Operand, other: Operand, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``.

    >>> lucid.rsub(lucid.tensor([1, 2]), 10)
    Tensor([9, 8], requires_grad=False)
    """
    return sub(other, input, alpha=alpha)


@accepts_out(castable=True)
@defers
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``; integers give the default float dtype.

    `rounding_mode` 'floor' and 'trunc' round the quotient, keep integer dtypes and have no gradient but zero. Integer
    division by zero raises RuntimeError ("ZeroDivisionError"), as in PyTorch.

    >>> lucid.div(lucid.tensor([7, -7]), 2)
    Tensor([ 3.5, -3.5], requires_grad=False)
    >>> lucid.div(lucid.tensor([7, -7]), 2, rounding_mode="floor")
    Tensor([ 3, -4], requires_grad=False)
    """
    try:
        if rounding_mode is None:
            return _div(input, other)
        a, b = _divisible("div", input, other)
    except TypeError:
        return defer("div", input, other, **({} if rounding_mode is None else {"rounding_mode": rounding_mode}))
    if rounding_mode == "floor":
        return _div_floor(a, b)
    if rounding_mode != "trunc":
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"{rounding_mode!r}")
    dtype = common_dtype([a, b])
    if _dtypes.is_floating(dtype) or any(isinstance(x, Tensor) and x.is_gpu for x in (a, b)):
        return _div_trunc(a, b)
    quotient = _floor_divide(a, b)
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0))).to(dtype)


@accepts_out(castable=True)
def floor_divide(input: Operand, other: Operand) -> Tensor:
    """The quotient rounded towards minus infinity. No gradient flows through it.

    >>> lucid.floor_divide(lucid.tensor([7, -7]), 2)
    Tensor([ 3, -4], requires_grad=False)
    """
    operands = _divisible("floor_divide", input, other)
    return _div_floor(*[x.detach() if isinstance(x, Tensor) and x._node is not None else x for x in operands])


@accepts_out(castable=True)
def remainder(input: Operand, other: Operand) -> Tensor:
    """The remainder with the sign of the divisor, as Python's ``%``.

    >>> lucid.remainder(lucid.tensor([7, -7]), 3)
    Tensor([1, 2], requires_grad=False)
    >>> lucid.tensor([7.5]) % 2
    Tensor([1.5], requires_grad=False)
    """
    return _remainder(*_divisible("remainder", input, other))


@accepts_out(castable=True)
def fmod(input: Operand, other: Operand) -> Tensor:
    """The remainder with the sign of the dividend, as C's fmod.

    >>> lucid.fmod(lucid.tensor([7.0, -7.0]), 3)
    Tensor([ 1.0, -1.0], requires_grad=False)
    """
    return _trunc_remainder(*_divisible("fmod", input, other))


@accepts_out(castable=True)
def pow(input: Operand, exponent: Operand) -> Tensor:
    """``input ** exponent``.

    Raises RuntimeError for integers to a negative number, and NotImplementedError for bools to a tensor of bools.

    Of integers to negative elements of a tensor, 1 and -1 have integer powers; the others give 0.

    >>> lucid.pow(lucid.tensor([1.0, 2.0, 3.0]), 2)
    Tensor([1.0, 4.0, 9.0], requires_grad=False)
    >>> 2 ** lucid.tensor([1, 2, 3])
    Tensor([2, 4, 8], requires_grad=False)
    """
    if exponent.__class__ in (int, float) and isinstance(input, Tensor) and _dtypes.is_differentiable(input._array.dtype):
        if exponent == 2:
            return square(input)
        if exponent == 1:
            return input.clone()
        if exponent in _NO_LOGARITHM and input._array.size >= LARGE:  # as a tensor, which bfloat16 makes of it, it takes one
            return _to_power(input, exponent)
    exponent = as_operand("pow", exponent)
    a, b = promote("pow", input, exponent)
    dtype = common_dtype([a, b])
    if not _dtypes.is_differentiable(dtype):
        if not isinstance(exponent, Tensor) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if dtype == _dtypes.bool_:
            if not isinstance(exponent, Tensor):
                return input.clone() if exponent else input.new_ones(input.shape)
            raise NotImplementedError("\"pow\" not implemented for 'Bool'")
        if _is_any_true(b < 0):
            return _with_negative_exponents(a, b).to(dtype)
    return _to_power(a, b) if isinstance(a, Tensor) else _of_number(b, a)


@fused_if_large
def _to_power(a: Tensor, exponent: Operand) -> Tensor:
    return _power(a, exponent)


@fused_if_large
def _of_number(exponent: Tensor, a: Any) -> Tensor:
    return _power(a, exponent)


def _with_negative_exponents(a: Operand, b: Tensor) -> Tensor:
    from .clamp import clip
    from .where import where

    base = a if isinstance(a, Tensor) else b.new_full((), a)
    units = where(base == 1, 1, where(base == -1, 1 - 2 * remainder(b, 2), 0))
    return where(b < 0, units, _power(a, clip(b, 0)))


subtract, multiply, divide, true_divide = sub, mul, div, div
power = pow  # the name of lucid 2.x


@accepts_out
def neg(input: Tensor) -> Tensor:
    """``-input``. Raises RuntimeError for bool tensors.

    >>> lucid.neg(lucid.tensor([1, -2]))
    Tensor([-1,  2], requires_grad=False)
    """
    _refuse_bool(input)
    return _neg(input)


negative = neg


@accepts_out(castable=True)
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; NaN if either is. Raises RuntimeError for complex tensors.

    >>> lucid.maximum(lucid.tensor([1, 5]), lucid.tensor([3, 2]))
    Tensor([3, 5], requires_grad=False)
    """
    return _ordered(_maximum, input, other)


@accepts_out(castable=True)
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; NaN if either is. Raises RuntimeError for complex tensors.

    >>> lucid.minimum(lucid.tensor([1, 5]), lucid.tensor([3, 2]))
    Tensor([1, 2], requires_grad=False)
    """
    return _ordered(_minimum, input, other)


SPECIAL_METHODS = {"__add__": _plus, "__radd__": _plus, "__sub__": _minus, "__mul__": _times, "__rmul__": _times,
                   "__truediv__": operator(_div)}


def _ordered(op: Any, input: Tensor, other: Tensor) -> Tensor:
    result: Tensor = op(input, other)
    if result._array.dtype.kind == "c":
        raise RuntimeError(f"{op.__name__} not implemented for complex tensors.")
    return result


def _refuse_bool(*operands: Operand) -> tuple[Operand, ...]:
    for operand in operands:
        if operand.__class__ is bool or (isinstance(operand, Tensor) and operand._array.dtype.kind == "b"):
            raise RuntimeError("the `-` operator with a bool tensor is not supported. If you are trying to invert a mask, "
                               "use the `~` or `logical_not()` operator instead.")
    return operands


def _is_any_true(condition: Tensor | bool) -> bool:
    """Whether `condition` is True anywhere; on the device 'meta', where nobody can tell, it is not."""
    return not condition.is_meta and bool(condition.any()) if isinstance(condition, Tensor) else condition


def _divisible(name: str, input: Operand, other: Operand) -> list[Any]:
    """Both operands, promoted. Raises RuntimeError for integers divided by zero, on a GPU at the next wait; NotImplementedError
    for bool and complex.
    """
    operands = promote(name, input, other)
    dtype = next(x._array.dtype for x in operands if isinstance(x, Tensor))
    if dtype.kind in "bc":
        raise NotImplementedError(f'"{name}" not implemented for \'{type_name(dtype)}\'')
    if not _dtypes.is_differentiable(dtype):
        divisor, message = operands[1], f"ZeroDivisionError: op '{name}' divides integers by zero"
        if isinstance(divisor, Tensor):
            TABLES[divisor._array.__class__]["check_nonzero"](divisor._array, message=message)
        elif divisor == 0:
            raise RuntimeError(message)
    return operands


SPECIAL_METHODS |= {"__neg__": neg.without_out}
OPERATORS = {"__rsub__": rsub, "__floordiv__": floor_divide, "__mod__": remainder, "__pow__": pow}  # beside those above
REFLECTED = {"__rtruediv__": div, "__rfloordiv__": floor_divide, "__rmod__": remainder, "__rpow__": pow}
INPLACE_OPERATORS = {"__iadd__": add, "__isub__": sub, "__imul__": mul, "__itruediv__": div, "__ifloordiv__": floor_divide,
                     "__imod__": remainder, "__ipow__": pow}
register(__name__)
