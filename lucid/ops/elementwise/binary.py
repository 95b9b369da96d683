"""Elementwise functions of two tensors beside the arithmetic operators, with broadcasting and type promotion."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.inplace import write
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import as_operand, common_dtype, promote, reduce_to, require_tensor, shape_of
from .._out import accepts_out
from .arithmetic import mul, pow
from .fused import fused_if_large
from .unary import exp, exp2, flat
from .where import where

METHODS = ("float_power", "fmax", "fmin", "atan2", "arctan2", "hypot", "logaddexp", "logaddexp2", "xlogy", "copysign",
           "nextafter", "heaviside", "ldexp", "gcd", "lcm")
INPLACE_METHODS = tuple(name for name in METHODS if name not in ("float_power", "fmax", "fmin", "logaddexp", "logaddexp2"))
SINGLE = ("atan2", "arctan2", "ldexp")

Operand = Any  # a Tensor or a Python number


# ---- operands ----------------------------------------------------------------------------------------------------------
def tensors_of(name: str, a: Operand, b: Operand, *, floating: bool = False) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of their common dtype."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        x, y = a._array, b._array
        if x.dtype is y.dtype and x.__class__ is y.__class__ and (x.dtype.kind == "f" or not floating):
            return a, b  # as they come out below, after as much time as a small array takes
    operands = promote(name, a, b, floating=floating)
    like = next(t for t in operands if isinstance(t, Tensor))
    first, second = (t if isinstance(t, Tensor) else like.new_full((), t) for t in operands)
    return first, second


def _require(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def apply(name: str, op: Any, kinds: str, input: Operand, other: Operand, *, floating: bool = False) -> Tensor:
    """`op` of both. Raises NotImplementedError unless their common dtype is of one of NumPy's `kinds` (V is bfloat16)."""
    operands = tensors_of(name, input, other, floating=floating)
    dtype = operands[0]._array.dtype
    if dtype.kind not in kinds:
        raise NotImplementedError(f"{name} is not implemented for {dtype.name}")
    result: Tensor = op(*operands)
    return result


def _apply_to_tensors(name: str, op: Any, kinds: str, input: Any, other: Any, *, floating: bool = False) -> Tensor:
    """`apply` for functions that take no scalars."""
    require_tensor(name, input)
    _require(name, "other", other)
    return apply(name, op, kinds, input, other, floating=floating)


# ---- gradients ---------------------------------------------------------------------------------------------------------
def _slopes(slope_a: Callable[..., Tensor], slope_b: Callable[..., Tensor]) -> Any:
    """A rule from the two partial derivatives, functions of ``(g, a, b, y)`` that include `g`."""
    def rule(needs: Any, a: Tensor, b: Tensor) -> Vjp:
        a_shape, b_shape = shape_of(a), shape_of(b)
        needs_a, needs_b = needs

        def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
            return (reduce_to(slope_a(g, a, b, y), a_shape) if needs_a else None,
                    reduce_to(slope_b(g, a, b, y), b_shape) if needs_b else None)

        return vjp

    return rule


def _slopes_of_result(slope_a: Callable[..., Tensor], slope_b: Callable[..., Tensor] | None) -> Any:
    """The same for partial derivatives that depend on their own argument x and the result: functions of ``(g, x, y)``, or None
    for zeros.
    """
    def rule(needs: Any, a: Tensor, b: Tensor) -> Vjp:
        a_shape, b_shape = shape_of(a), shape_of(b)
        needs_a, needs_b = needs
        own_a, own_b = a if needs_a else None, b if needs_b and slope_b is not None else None

        def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
            return (reduce_to(slope_a(g, own_a, y), a_shape) if needs_a else None,
                    reduce_to(flat(g) if slope_b is None else slope_b(g, own_b, y), b_shape) if needs_b else None)

        return vjp

    return rule


def _heaviside_rule(needs: Any, a: Tensor, b: Tensor) -> Vjp:
    def vjp(g: Tensor, y: Any) -> Any:
        raise NotImplementedError("the derivative for 'heaviside' is not implemented.")

    return vjp


def _over(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The quotient, 0 where the denominator is 0."""
    zero = denominator == 0
    return where(zero, 0.0, numerator / where(zero, 1.0, denominator))


_fmax = single_op("fmax", _slopes(lambda g, a, b, y: where((a >= b) | (b != b), g, 0.0),
                                  lambda g, a, b, y: where((a >= b) | (b != b), 0.0, g)))
_fmin = single_op("fmin", _slopes(lambda g, a, b, y: where((a <= b) | (b != b), g, 0.0),
                                  lambda g, a, b, y: where((a <= b) | (b != b), 0.0, g)))
_arctan2 = single_op("arctan2", _slopes(lambda g, a, b, y: g * _over(b, a * a + b * b),
                                        lambda g, a, b, y: -g * _over(a, a * a + b * b)))
_SUMMED = 1 << 10  # elements from which on a kernel adds exponentials: NumPy takes 12 ns for each
_hypot = single_op("hypot", _slopes_of_result(lambda g, x, y: g * (x / y), lambda g, x, y: g * (x / y)), saved_outputs=True)
_logaddexp = fused_if_large(single_op("logaddexp", _slopes(lambda g, a, b, y: g / (1 + exp(b - a)).conj(),
                                                           lambda g, a, b, y: g / (1 + exp(a - b)).conj())), _SUMMED)
_logaddexp2 = fused_if_large(single_op("logaddexp2", _slopes(lambda g, a, b, y: g / (1 + exp2(b - a)),
                                                             lambda g, a, b, y: g / (1 + exp2(a - b)))), _SUMMED)
_xlogy = fused_if_large(single_op("xlogy", _slopes(lambda g, a, b, y: where((a == 0) & (b <= 0), 0.0, xlogy(g, b)),
                                                   lambda g, a, b, y: g * a / b)))
_xlog1py = single_op("xlog1py", _slopes(lambda g, a, b, y: where((a == 0) & (b <= -1), 0.0, xlog1py(g, b)),
                                        lambda g, a, b, y: g * a / (b + 1)))
_copysign = single_op("copysign", _slopes_of_result(lambda g, x, y: g * _over(y, x), None), saved_outputs=True)
_nextafter = single_op("nextafter", _slopes(lambda g, a, b, y: where(a == b, 0.0, g), lambda g, a, b, y: flat(g)))
_heaviside = single_op("heaviside", _heaviside_rule)
_gcd, _lcm = operation("gcd"), operation("lcm")


# ---- floating-point numbers --------------------------------------------------------------------------------------------
@accepts_out
def float_power(input: Operand, exponent: Operand) -> Tensor:
    """`input` to the power `exponent`, computed in float64, or complex128 where either is complex.

    >>> lucid.float_power(lucid.tensor([2, 4]), -1)
    Tensor([0.50, 0.25], dtype=float64, requires_grad=False)
    """
    operands = [as_operand("float_power", value) for value in (input, exponent)]
    dtype = _dtypes.complex128 if common_dtype(operands).kind == "c" else _dtypes.float64
    a, b = (value.to(dtype) if isinstance(value, Tensor) else value for value in operands)
    return pow(a, b)


@accepts_out(castable=True)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; where one is NaN, the other. Where they are equal the gradient goes to `input`.

    >>> lucid.fmax(lucid.tensor([1.0, float("nan")]), lucid.tensor([2.0, 3.0]))
    Tensor([2.0, 3.0], requires_grad=False)
    """
    return _apply_to_tensors("fmax", _fmax, "biufV", input, other)


@accepts_out(castable=True)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; where one is NaN, the other. Where they are equal the gradient goes to `input`.

    >>> lucid.fmin(lucid.tensor([1.0, float("nan")]), lucid.tensor([2.0, 3.0]))
    Tensor([1.0, 3.0], requires_grad=False)
    """
    return _apply_to_tensors("fmin", _fmin, "biufV", input, other)


@accepts_out(castable=True)
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the points (other, input), in radians from -pi to pi; integers give the default float dtype.

    >>> lucid.arctan2(lucid.tensor([1.0, -1.0]), lucid.tensor([-1.0, 1.0]))
    Tensor([ 2.3562, -0.7854], requires_grad=False)
    """
    return _apply_to_tensors("atan2", _arctan2, "fV", input, other, floating=True)


arctan2 = atan2


@accepts_out(castable=True)
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """sqrt(input^2 + other^2) without overflow in between. Raises NotImplementedError for integers.

    >>> lucid.hypot(lucid.tensor([3.0]), lucid.tensor([4.0]))
    Tensor([5.0], requires_grad=False)
    """
    return _apply_to_tensors("hypot", _hypot, "fV", input, other)


@accepts_out(castable=True)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)) without overflow in between. Raises NotImplementedError for integers.

    >>> lucid.logaddexp(lucid.tensor([0.0, 1000.0]), lucid.tensor([0.0, 1000.0]))
    Tensor([   0.6931, 1000.6932], requires_grad=False)
    """
    return _apply_to_tensors("logaddexp", _logaddexp, "fVc", input, other)


@accepts_out(castable=True)
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """`logaddexp` to base 2.

    >>> lucid.logaddexp2(lucid.tensor([0.0, 1000.0]), lucid.tensor([0.0, 1000.0]))
    Tensor([   1.0, 1001.0], requires_grad=False)
    """
    return _apply_to_tensors("logaddexp2", _logaddexp2, "fV", input, other)


@accepts_out(castable=True)
def xlogy(input: Operand, other: Operand) -> Tensor:
    """``input * log(other)``, 0 where `input` is 0 and `other` is not NaN; either may be a number.

    >>> lucid.xlogy(lucid.tensor([0.0, 2.0]), lucid.tensor([0.0, lucid.e]))
    Tensor([0.0, 2.0], requires_grad=False)
    """
    return apply("xlogy", _xlogy, "fV", input, other, floating=True)


@accepts_out(castable=True)
def xlog1py(input: Operand, other: Operand) -> Tensor:
    """``input * log1p(other)``, 0 where `input` is 0 and `other` is not NaN; either may be a number.

    >>> lucid.special.xlog1py(lucid.tensor([0.0, 2.0]), lucid.tensor([-1.0, lucid.e - 1]))
    Tensor([0.0, 2.0], requires_grad=False)
    """
    return apply("xlog1py", _xlog1py, "fV", input, other, floating=True)


@accepts_out(castable=True)
def copysign(input: Tensor, other: Operand) -> Tensor:
    """The size of `input` with the sign of `other`, a tensor or a number; integers give the default float dtype.

    >>> lucid.copysign(lucid.tensor([1.0, 2.0]), lucid.tensor([-0.0, 5.0]))
    Tensor([-1.0,  2.0], requires_grad=False)
    """
    return apply("copysign", _copysign, "fV", require_tensor("copysign", input), other, floating=True)


@accepts_out(castable=True)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number of the dtype after `input` towards `other`. The gradient goes to `input` where the two differ.

    >>> lucid.nextafter(lucid.tensor([1.0]), lucid.tensor([2.0])) - 1 == lucid.finfo(lucid.float32).eps
    Tensor([True], requires_grad=False)
    """
    return _apply_to_tensors("nextafter", _nextafter, "fV", input, other)


@accepts_out
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where `input` is negative or NaN, `values` where it is 0, 1 above.

    Raises RuntimeError for two dtypes. Has no gradient: NotImplementedError in backward.

    >>> lucid.heaviside(lucid.tensor([-1.0, 0.0, 2.0]), lucid.tensor(0.5))
    Tensor([0.0, 0.5, 1.0], requires_grad=False)
    """
    require_tensor("heaviside", input)
    _require("heaviside", "values", values)
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if input._array.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    return _heaviside(*tensors_of("heaviside", input, values))


@accepts_out(castable=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``; of integers `other` the result has the dtype of a floating-point `input`.

    >>> lucid.ldexp(lucid.tensor([0.5, 0.75]), lucid.tensor([2, 3]))
    Tensor([2.0, 6.0], requires_grad=False)
    """
    dtype = require_tensor("ldexp", input)._array.dtype
    _require("ldexp", "other", other)
    if not _dtypes.is_floating(dtype) or _dtypes.is_differentiable(other._array.dtype):
        return mul(input, pow(2.0, other))
    # In three steps: the power alone may be beyond the range of the dtype that holds the result.
    result, exponent = input.double(), other.double().clamp(-3000, 3000)
    third = (exponent / 3).trunc()
    for part in (third, third, exponent - 2 * third):
        result = result * pow(2.0, part)
    return result.to(dtype)


# ---- integers ----------------------------------------------------------------------------------------------------------
@accepts_out(castable=True)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor, not negative; gcd(0, 0) is 0. Raises NotImplementedError for other dtypes.

    >>> lucid.gcd(lucid.tensor([12, 7]), lucid.tensor([18, 14]))
    Tensor([6, 7], requires_grad=False)
    """
    return _apply_to_tensors("gcd", _gcd, "iu", input, other)


@accepts_out(castable=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple, not negative; 0 where either is 0. Raises NotImplementedError for other dtypes.

    >>> lucid.lcm(lucid.tensor([4, 6]), lucid.tensor([6, 9]))
    Tensor([12, 18], requires_grad=False)
    """
    return _apply_to_tensors("lcm", _lcm, "iu", input, other)


# ---- in place --------------------------------------------------------------------------------------------------------------
def _float_power_(self: Tensor, exponent: Operand) -> Tensor:
    """`float_power` into this tensor itself. Raises RuntimeError unless it has the dtype of the result."""
    return write(self, _float_power_of_its_dtype, exponent)


def _float_power_of_its_dtype(input: Tensor, exponent: Operand) -> Tensor:
    result: Tensor = float_power(input, exponent)
    if result.dtype != input.dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {type_name(input.dtype)} but the operation's result "
                           f"requires dtype {type_name(result.dtype)}")
    return result


SPECIAL_METHODS = {"float_power_": _float_power_}
register(__name__)
