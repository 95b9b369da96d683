"""Bits: and, or, xor, not, and shifts."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.op import Op
from ...tensor import Tensor
from .._methods import register
from .._operands import promote, require_tensor
from .._out import accepts_out
from .binary import Operand, apply

METHODS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift")
INPLACE_METHODS = METHODS
SINGLE = METHODS[:4]

_bitwise_and, _bitwise_or, _bitwise_xor = (single_op(f"bitwise_{name}", operands=2) for name in ("and", "or", "xor"))
_bitwise_not = single_op("bitwise_invert")


def _bitwise(op: Any, a: Any, b: Any) -> Tensor:
    operands = promote(op.name, a, b)
    for operand in operands:
        dtype = operand._array.dtype if isinstance(operand, Tensor) else _dtypes.dtype_of_scalar(operand)
        if _dtypes.is_differentiable(dtype):
            raise NotImplementedError(f"op '{op.name}' is implemented for bools and integers only, not for {dtype.name}")
    return op(*operands)


@accepts_out(castable=True)
def bitwise_and(input: Tensor, other: Any) -> Tensor:
    """``input & other``. Raises NotImplementedError for floats.

    >>> lucid.bitwise_and(lucid.tensor([12, 10]), 6)
    Tensor([4, 2], requires_grad=False)
    """
    return _bitwise(_bitwise_and, input, other)


@accepts_out(castable=True)
def bitwise_or(input: Tensor, other: Any) -> Tensor:
    """``input | other``. Raises NotImplementedError for floats.

    >>> lucid.bitwise_or(lucid.tensor([12, 10]), 1)
    Tensor([13, 11], requires_grad=False)
    """
    return _bitwise(_bitwise_or, input, other)


@accepts_out(castable=True)
def bitwise_xor(input: Tensor, other: Any) -> Tensor:
    """``input ^ other``. Raises NotImplementedError for floats.

    >>> lucid.bitwise_xor(lucid.tensor([12, 10]), 6)
    Tensor([10, 12], requires_grad=False)
    """
    return _bitwise(_bitwise_xor, input, other)


@accepts_out
def bitwise_not(input: Tensor) -> Tensor:
    """``~input``. Raises NotImplementedError for floats.

    >>> lucid.bitwise_not(lucid.tensor([0, 5, -1]))
    Tensor([-1, -6,  0], requires_grad=False)
    >>> ~lucid.tensor([True, False])
    Tensor([False,  True], requires_grad=False)
    """
    if _dtypes.is_differentiable(require_tensor("bitwise_not", input).dtype):
        raise NotImplementedError(f"op 'bitwise_not' is implemented for bools and integers only, not for {input.dtype.name}")
    return _bitwise_not(input)


_left_shift, _right_shift = operation("bitwise_left_shift"), operation("bitwise_right_shift")


def _shifted(name: str, op: Op, input: Operand, other: Operand) -> Tensor:
    if other.__class__ is int and 0 <= other < 64 and isinstance(input, Tensor) and input._array.dtype.kind in "iu":
        result: Tensor = op(input, other)  # a count that every dtype holds
        return result
    return apply(name, op, "iu", input, other)


@accepts_out(castable=True)
def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """``input << other``; 0 for negative counts and beyond the width. Raises NotImplementedError for other dtypes.

    >>> lucid.bitwise_left_shift(lucid.tensor([1, 3]), 2)
    Tensor([ 4, 12], requires_grad=False)
    """
    return _shifted("bitwise_left_shift", _left_shift, input, other)


@accepts_out(castable=True)
def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """``input >> other``, which keeps the sign; all bits gone for negative counts and beyond the width.

    >>> lucid.bitwise_right_shift(lucid.tensor([-8, 12]), 2)
    Tensor([-2,  3], requires_grad=False)
    """
    return _shifted("bitwise_right_shift", _right_shift, input, other)


SPECIAL_METHODS = {"__invert__": bitwise_not.without_out}
OPERATORS = {"__and__": bitwise_and, "__or__": bitwise_or, "__xor__": bitwise_xor, "__rand__": bitwise_and,
             "__ror__": bitwise_or, "__rxor__": bitwise_xor, "__lshift__": bitwise_left_shift, "__rshift__": bitwise_right_shift}
REFLECTED = {"__rlshift__": bitwise_left_shift, "__rrshift__": bitwise_right_shift}
INPLACE_OPERATORS = {"__iand__": bitwise_and, "__ior__": bitwise_or, "__ixor__": bitwise_xor,
                     "__ilshift__": bitwise_left_shift, "__irshift__": bitwise_right_shift}
register(__name__)
