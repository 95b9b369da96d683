"""Comparisons, logic and selection. Comparisons are not differentiable; `where`, `clip` and masks are."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtypes
from ...autograd.op import Op, Pull
from ...backends import run
from ...tensor import Tensor
from .._methods import comparing, register
from .._operands import as_operand, is_operand, promote, reduce_to, require_tensor, shape_of
from .._out import accepts_out

METHODS = ("eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal", "equal",
           "allclose", "isclose", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
           "bitwise_xor", "bitwise_not", "clip", "clamp", "clamp_min", "clamp_max")
INPLACE_METHODS = tuple(name for name in METHODS if name not in ("equal", "allclose", "isclose"))
SINGLE = INPLACE_METHODS

_eq, _ne, _lt, _le, _gt, _ge = (Op(name) for name in ("eq", "ne", "lt", "le", "gt", "ge"))
_logical_and, _logical_or, _logical_xor = Op("logical_and"), Op("logical_or"), Op("logical_xor")
_logical_not = Op("logical_not")
_bitwise_and, _bitwise_or, _bitwise_xor = Op("bitwise_and"), Op("bitwise_or"), Op("bitwise_xor")
_bitwise_not = Op("bitwise_invert")


def _where_rule(needs: Any, condition: Tensor, a: Any, b: Any) -> Pull:
    a_shape, b_shape = shape_of(a), shape_of(b)
    _, needs_a, needs_b = needs

    def pull(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        return (None, reduce_to(_where(condition, g, 0), a_shape) if needs_a else None,
                reduce_to(_where(condition, 0, g), b_shape) if needs_b else None)

    return pull


_where = Op("where", _where_rule)


@accepts_out
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition` is true, else of `other`; all three broadcast together.

    With `condition` alone, the indices of its true elements, as `nonzero(as_tuple=True)`. Raises RuntimeError for a
    condition that is not bool.
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if require_tensor("where", condition)._array.dtype == _dtypes.uint8:
        warnings.warn("where received a uint8 condition tensor. This behavior is deprecated. Use a bool condition instead.",
                      stacklevel=2)
        condition = condition.bool()
    if condition._array.dtype != _dtypes.bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{condition.dtype.name}")
    a, b = as_operand("where", input), as_operand("where", other)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        dtype = _dtypes.result_type((_dtypes.dtype_of_scalar(a), 0), (_dtypes.dtype_of_scalar(b), 0))
        a = condition.new_full((), a, dtype=dtype)
    a, b = promote("where", a, b)
    kind = condition._array.__class__
    if (isinstance(a, Tensor) and a._array.__class__ is not kind) or (isinstance(b, Tensor) and b._array.__class__ is not kind):
        # A 0-d tensor on the CPU joins tensors on a GPU, as in arithmetic.
        device = next((t.device for t in (condition, a, b) if isinstance(t, Tensor) and (t.ndim or t.device != "cpu")), "cpu")
        a, b = (v.to(device) if isinstance(v, Tensor) and v.ndim == 0 and v.device == "cpu" else v for v in (a, b))
    return _where(condition, a, b)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where `condition` is true, else of `other`. See `lucid.where`."""
    result: Tensor = where(condition, self, other)
    return result


SPECIAL_METHODS: dict[str, Callable[..., Any]] = {"where": _where_method}


def _compare(op: Op, a: Any, b: Any) -> Tensor:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        x, y = a._array, b._array
        if x.dtype is y.dtype and x.__class__ is y.__class__:
            return op(a, b)
    return op(*promote(op.name, a, b))


def _order(op: Op, a: Any, b: Any) -> Tensor:
    for value in (a, b):
        if value.__class__ is complex or (isinstance(value, Tensor) and value._array.dtype.kind == "c"):
            raise NotImplementedError(f'"{op.name}" not implemented for complex numbers, which have no order')
    return _compare(op, a, b)


@accepts_out(castable=True)
def eq(input: Tensor, other: Any) -> Tensor:
    """``input == other``, elementwise, as bool."""
    return _compare(_eq, input, other)


@accepts_out(castable=True)
def ne(input: Tensor, other: Any) -> Tensor:
    """``input != other``, elementwise, as bool."""
    return _compare(_ne, input, other)


@accepts_out(castable=True)
def lt(input: Tensor, other: Any) -> Tensor:
    """``input < other``, elementwise, as bool. Raises NotImplementedError for complex numbers."""
    return _order(_lt, input, other)


@accepts_out(castable=True)
def le(input: Tensor, other: Any) -> Tensor:
    """``input <= other``, elementwise, as bool. Raises NotImplementedError for complex numbers."""
    return _order(_le, input, other)


@accepts_out(castable=True)
def gt(input: Tensor, other: Any) -> Tensor:
    """``input > other``, elementwise, as bool. Raises NotImplementedError for complex numbers."""
    return _order(_gt, input, other)


@accepts_out(castable=True)
def ge(input: Tensor, other: Any) -> Tensor:
    """``input >= other``, elementwise, as bool. Raises NotImplementedError for complex numbers."""
    return _order(_ge, input, other)


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne


def _operator(compare: Callable[[Op, Any, Any], Tensor], op: Op) -> Callable[[Tensor, Any], Any]:
    """The comparison as an operator, which leaves what is no number, array or tensor to Python: ``x == None`` is False."""
    def compared(self: Tensor, other: Any) -> Any:
        try:
            return compare(op, self, other)
        except TypeError:
            if is_operand(other):
                raise
            return NotImplemented

    compared.__name__ = compared.__qualname__ = f"__{op.name}__"
    return compared


SPECIAL_METHODS |= {f"__{op.name}__": _operator(compare, op) for compare, ops in (
    (_compare, (_eq, _ne)), (_order, (_lt, _le, _gt, _ge))) for op in ops}


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape and elements."""
    x, y = input._array, other._array
    if x.shape != y.shape:
        return False
    if x.dtype is y.dtype and x.__class__ is y.__class__ is np.ndarray:  # without tensors: 0.4 of the time of small ones
        return bool(run("all", (run("eq", (x, y)),), {"axis": None, "keepdims": False}))
    return bool(eq(input, other).all().item())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``, as bool; equal infinities are close."""
    if require_tensor("isclose", input).dtype != require_tensor("isclose", other).dtype:
        raise RuntimeError(f"{input.dtype.name} did not match {other.dtype.name}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    close = eq(input, other)
    if input._array.dtype.kind == "b":  # bools differ by a whole
        return close | (other & (atol + rtol >= 1)) | (~other & (atol >= 1))
    if _dtypes.is_differentiable(input.dtype):
        if equal_nan:
            close = close | ((input != input) & (other != other))
        near = (input - other).abs() <= atol + rtol * other.abs()
        return close | (near & input.isfinite() & other.isfinite())
    wide = other.to(_dtypes.get_default_dtype())  # unsigned differences would wrap around
    return close | ((input - wide).abs() <= atol + rtol * wide.abs())


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@accepts_out(castable=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Where both are nonzero, as bool."""
    return _logical_and(*promote("logical_and", input, other))


@accepts_out(castable=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Where either is nonzero, as bool."""
    return _logical_or(*promote("logical_or", input, other))


@accepts_out(castable=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Where exactly one is nonzero, as bool."""
    return _logical_xor(*promote("logical_xor", input, other))


@accepts_out(castable=True)
def logical_not(input: Tensor) -> Tensor:
    """Where elements are zero, as bool."""
    return _logical_not(require_tensor("logical_not", input))


def _bitwise(op: Op, a: Any, b: Any) -> Tensor:
    operands = promote(op.name, a, b)
    for operand in operands:
        dtype = operand._array.dtype if isinstance(operand, Tensor) else _dtypes.dtype_of_scalar(operand)
        if _dtypes.is_differentiable(dtype):
            raise NotImplementedError(f"op '{op.name}' is implemented for bools and integers only, not for {dtype.name}")
    return op(*operands)


@accepts_out(castable=True)
def bitwise_and(input: Tensor, other: Any) -> Tensor:
    """``input & other``. Raises NotImplementedError for floats."""
    return _bitwise(_bitwise_and, input, other)


@accepts_out(castable=True)
def bitwise_or(input: Tensor, other: Any) -> Tensor:
    """``input | other``. Raises NotImplementedError for floats."""
    return _bitwise(_bitwise_or, input, other)


@accepts_out(castable=True)
def bitwise_xor(input: Tensor, other: Any) -> Tensor:
    """``input ^ other``. Raises NotImplementedError for floats."""
    return _bitwise(_bitwise_xor, input, other)


@accepts_out
def bitwise_not(input: Tensor) -> Tensor:
    """``~input``. Raises NotImplementedError for floats."""
    if _dtypes.is_differentiable(require_tensor("bitwise_not", input).dtype):
        raise NotImplementedError(f"op 'bitwise_not' is implemented for bools and integers only, not for {input.dtype.name}")
    return _bitwise_not(input)


def _clip_rule(needs: Any, x: Tensor, low: Any, high: Any) -> Pull:
    low_shape, high_shape = shape_of(low), shape_of(high)

    def pull(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        # As in PyTorch: the bounds belong to the interval, and NaN elements pass no gradient.
        if high is None:
            within = x >= low
        else:
            within = x <= high if low is None else (x >= low) & (x <= high)
        dx = _where(within, g, 0)
        d_low = d_high = None
        if low_shape is not None and needs[1]:
            first = x < low if high is None else (x < low) & (low < high)
            d_low = reduce_to(_where(first, g, 0), low_shape)
        if high_shape is not None and needs[2]:
            second = x > high if low is None else (x > high) | (low > high)
            d_high = reduce_to(_where(second, g, 0), high_shape)
        return reduce_to(dx, x_shape), d_low, d_high

    x_shape = x._array.shape
    return pull


_clip = Op("clip", _clip_rule)
_PLAIN_BOUNDS = {float, int, None.__class__}


@accepts_out
def clip(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Elements moved into [min, max]; either bound may be a number, a tensor or None, but not both None.

    Where ``min > max`` the result is `max`. The gradient passes where the element is inside, bounds included. Raises
    NotImplementedError for complex numbers.
    """
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    floating = require_tensor("clamp", input)._array.dtype.kind == "f"
    if floating and min.__class__ in _PLAIN_BOUNDS and max.__class__ in _PLAIN_BOUNDS:
        return _clip(input, min, max)  # as they are: the checks below take twice as long as the rest of the call
    given = [value for value in (input, min, max) if value is not None]
    if any(value.__class__ is complex or (isinstance(value, Tensor) and value._array.dtype.kind == "c") for value in given):
        raise NotImplementedError("clamp is not supported for complex types")
    converted = iter(promote("clip", *given))
    x, low, high = (None if value is None else next(converted) for value in (input, min, max))
    return _clip(x, low, high)


clamp = clip


@accepts_out
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """``clamp(input, min=min)``."""
    return clip(input, min)


@accepts_out
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """``clamp(input, max=max)``."""
    return clip(input, None, max)


SPECIAL_METHODS |= {"__invert__": bitwise_not.without_out}
OPERATORS = {"__and__": bitwise_and, "__or__": bitwise_or, "__xor__": bitwise_xor, "__rand__": bitwise_and,
             "__ror__": bitwise_or, "__rxor__": bitwise_xor}
INPLACE_OPERATORS = {"__iand__": bitwise_and, "__ior__": bitwise_or, "__ixor__": bitwise_xor}
register(__name__)
for _name in METHODS[:METHODS.index("equal")]:  # written in place, they pass zeros to both sides
    setattr(Tensor, f"{_name}_", comparing(getattr(Tensor, f"{_name}_")))
