"""Comparisons and logic, which are not differentiable."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtypes
from ..._namespace.foreign import answer
from ...autograd.calls import single_op
from ...backends import note_read, run
from ...tensor import Tensor
from .._methods import comparing, register
from .._operands import is_operand, promote, require_tensor
from .._out import accepts_out

METHODS = ("eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal", "equal",
           "allclose", "isclose", "logical_and", "logical_or", "logical_xor", "logical_not")
INPLACE_METHODS = tuple(name for name in METHODS if name not in ("equal", "allclose", "isclose"))
SINGLE = INPLACE_METHODS

_eq, _ne, _lt, _le, _gt, _ge = (single_op(name, operands=2) for name in ("eq", "ne", "lt", "le", "gt", "ge"))
_logical_and, _logical_or, _logical_xor = (single_op(f"logical_{name}", operands=2) for name in ("and", "or", "xor"))
_logical_not = single_op("logical_not")


def _compare(op: Any, a: Any, b: Any) -> Tensor:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        x, y = a._array, b._array
        if x.dtype is y.dtype and x.__class__ is y.__class__:
            return op(a, b)
    return op(*promote(op.name, a, b))


def _order(op: Any, a: Any, b: Any) -> Tensor:
    for value in (a, b):
        if value.__class__ is complex or (isinstance(value, Tensor) and value._array.dtype.kind == "c"):
            raise NotImplementedError(f'"{op.name}" not implemented for complex numbers, which have no order')
    return _compare(op, a, b)


@accepts_out(castable=True)
def eq(input: Tensor, other: Any) -> Tensor:
    """``input == other``, elementwise, as bool. The operands broadcast.

    >>> lucid.eq(lucid.tensor([1, 2]), lucid.tensor([1, 3]))
    Tensor([ True, False], requires_grad=False)
    >>> lucid.tensor([1, 2]) == 2
    Tensor([False,  True], requires_grad=False)
    """
    return _compare(_eq, input, other)


@accepts_out(castable=True)
def ne(input: Tensor, other: Any) -> Tensor:
    """``input != other``, elementwise, as bool. The operands broadcast.

    >>> lucid.ne(lucid.tensor([1, 2]), lucid.tensor([1, 3]))
    Tensor([False,  True], requires_grad=False)
    """
    return _compare(_ne, input, other)


@accepts_out(castable=True)
def lt(input: Tensor, other: Any) -> Tensor:
    """``input < other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

    >>> lucid.less(lucid.tensor([1, 2, 3]), 2)
    Tensor([ True, False, False], requires_grad=False)
    """
    return _order(_lt, input, other)


@accepts_out(castable=True)
def le(input: Tensor, other: Any) -> Tensor:
    """``input <= other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

    >>> lucid.le(lucid.tensor([1, 2, 3]), 2)
    Tensor([ True,  True, False], requires_grad=False)
    """
    return _order(_le, input, other)


@accepts_out(castable=True)
def gt(input: Tensor, other: Any) -> Tensor:
    """``input > other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

    >>> lucid.greater(lucid.tensor([1, 2, 3]), 2)
    Tensor([False, False,  True], requires_grad=False)
    """
    return _order(_gt, input, other)


@accepts_out(castable=True)
def ge(input: Tensor, other: Any) -> Tensor:
    """``input >= other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

    >>> lucid.ge(lucid.tensor([1, 2, 3]), 2)
    Tensor([False,  True,  True], requires_grad=False)
    """
    return _order(_ge, input, other)


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne


def _operator(compare: Callable[[Any, Any, Any], Tensor], op: Any) -> Callable[[Tensor, Any], Any]:
    """The comparison as an operator, which leaves what is no number, array or tensor to Python: ``x == None`` is False."""
    def compared(self: Tensor, other: Any) -> Any:
        try:
            return compare(op, self, other)
        except TypeError:
            if is_operand(other):
                raise
            return answer(compared, (self, other), {})

    compared.__name__ = compared.__qualname__ = f"__{op.name}__"
    return compared


SPECIAL_METHODS = {f"__{op.name}__": _operator(compare, op) for compare, ops in (
    (_compare, (_eq, _ne)), (_order, (_lt, _le, _gt, _ge))) for op in ops}


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape and elements.

    >>> lucid.equal(lucid.tensor([1, 2]), lucid.tensor([1, 2])), lucid.equal(lucid.ones(2), lucid.ones(3))
    (True, False)
    """
    x, y = input._array, other._array
    if x.shape != y.shape:
        return False
    if x.dtype is y.dtype and x.__class__ is y.__class__ is np.ndarray:  # without tensors: 0.4 of the time of small ones
        note_read(x)
        return bool(run("all", (run("eq", (x, y)),), {"axis": None, "keepdims": False}))
    return bool(eq(input, other).all().item())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``, as bool; equal infinities are close.

    >>> lucid.isclose(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0 + 1e-6, 2.1]))
    Tensor([ True, False], requires_grad=False)
    """
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
    """Whether all elements are close; see `isclose`.

    >>> lucid.allclose(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 2.0 + 1e-6]))
    True
    >>> lucid.allclose(lucid.tensor([float("nan")]), lucid.tensor([float("nan")]))
    False
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@accepts_out(castable=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Where both are nonzero, as bool.

    >>> lucid.logical_and(lucid.tensor([0, 1, 2]), lucid.tensor([1, 0, 3]))
    Tensor([False, False,  True], requires_grad=False)
    """
    return _logical_and(*promote("logical_and", input, other))


@accepts_out(castable=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Where either is nonzero, as bool.

    >>> lucid.logical_or(lucid.tensor([0, 1, 0]), lucid.tensor([1, 0, 0]))
    Tensor([ True,  True, False], requires_grad=False)
    """
    return _logical_or(*promote("logical_or", input, other))


@accepts_out(castable=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Where exactly one is nonzero, as bool.

    >>> lucid.logical_xor(lucid.tensor([0, 1, 2]), lucid.tensor([1, 0, 3]))
    Tensor([ True,  True, False], requires_grad=False)
    """
    return _logical_xor(*promote("logical_xor", input, other))


@accepts_out(castable=True)
def logical_not(input: Tensor) -> Tensor:
    """Where elements are zero, as bool.

    >>> lucid.logical_not(lucid.tensor([0, 1, 2]))
    Tensor([ True, False, False], requires_grad=False)
    """
    return _logical_not(require_tensor("logical_not", input))


register(__name__)
for _name in METHODS[:METHODS.index("equal")]:  # written in place, they pass zeros to both sides
    setattr(Tensor, f"{_name}_", comparing(getattr(Tensor, f"{_name}_")))
