"""Python scalars and 0-d arrays beside arrays."""
from __future__ import annotations

from typing import Any

import lucid

from .. import Tensor
from .._dtypes import CATEGORY, dtype_of_scalar


def promoted(*dtypes: Any) -> Any:
    """The dtype that arrays of `dtypes` have together, whatever their numbers of dimensions."""
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = lucid.promote_types(result, dtype)
    return result


def dtype_with_scalar(dtype: Any, scalar: Any) -> Any:
    """The dtype of an array of `dtype` and a Python scalar: that of the array, unless the scalar is of a higher kind."""
    own = dtype_of_scalar(scalar)
    if CATEGORY[own] <= CATEGORY[dtype]:
        return dtype
    if own.kind == "c":
        return lucid.promote_types(dtype, lucid.complex64) if dtype.kind in "fV" else own
    return own


def together(name: str, *operands: Any) -> list[Tensor]:
    """`operands` as arrays of one dtype. Raises TypeError if none of them is an array."""
    arrays = [operand for operand in operands if isinstance(operand, Tensor)]
    if not arrays:
        raise TypeError(f"{name}: at least one operand must be an array, not {[type(o).__name__ for o in operands]}")
    dtype = promoted(*[array.dtype for array in arrays])
    for operand in operands:
        if not isinstance(operand, Tensor):
            if not isinstance(operand, (bool, int, float, complex)):
                raise TypeError(f"{name}: an operand must be an array or a Python scalar, not {type(operand).__name__}")
            dtype = dtype_with_scalar(dtype, operand)
    return [operand.to(dtype) if isinstance(operand, Tensor) else lucid.full((), operand, dtype=dtype, device=arrays[0].device)
            for operand in operands]


def axes_of(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """`axis` as axes counted from the front: all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    for one in given:
        if not -ndim <= one < ndim:
            raise IndexError(f"axis {one} is out of range for an array of {ndim} dimensions")
    found = tuple(one % ndim for one in given)
    if len(set(found)) < len(found):
        raise ValueError(f"an axis appears more than once in {axis}")
    return found
