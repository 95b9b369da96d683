"""Bits: and, or, xor, not, and shifts."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.op import Op
from ...tensor import Tensor
from .._methods import register
from .._operands import promote, require_tensor
from .._out import accepts_out
from .binary import Operand, apply

METHODS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift")
INPLACE_METHODS = METHODS
SINGLE = METHODS[:4]

_bitwise_and, _bitwise_or, _bitwise_xor = Op("bitwise_and"), Op("bitwise_or"), Op("bitwise_xor")
_bitwise_not = Op("bitwise_invert")


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


_left_shift, _right_shift = Op("bitwise_left_shift"), Op("bitwise_right_shift")


@accepts_out(castable=True)
def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """``input << other``; 0 for negative counts and beyond the width. Raises NotImplementedError for other dtypes."""
    return apply("bitwise_left_shift", _left_shift, "iu", input, other)


@accepts_out(castable=True)
def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """``input >> other``, which keeps the sign; all bits gone for negative counts and beyond the width."""
    return apply("bitwise_right_shift", _right_shift, "iu", input, other)


SPECIAL_METHODS = {"__invert__": bitwise_not.without_out}
OPERATORS = {"__and__": bitwise_and, "__or__": bitwise_or, "__xor__": bitwise_xor, "__rand__": bitwise_and,
             "__ror__": bitwise_or, "__rxor__": bitwise_xor, "__lshift__": bitwise_left_shift, "__rshift__": bitwise_right_shift}
REFLECTED = {"__rlshift__": bitwise_left_shift, "__rrshift__": bitwise_right_shift}
INPLACE_OPERATORS = {"__iand__": bitwise_and, "__ior__": bitwise_or, "__ixor__": bitwise_xor,
                     "__ilshift__": bitwise_left_shift, "__irshift__": bitwise_right_shift}
register(__name__)
