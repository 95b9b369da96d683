"""Half-precision elements are stored as such and computed with as float32."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .sizes import HALVES_CONVERTED_FROM

Array = Any
HALVES = frozenset({np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)})


def wide(x: Array) -> Array:
    """`x` as float32 if it holds half-precision elements."""
    if x.dtype not in HALVES:
        return x
    if x.size >= HALVES_CONVERTED_FROM and x.__class__ is np.ndarray:
        from lucid_kernels.cpu.arrays import half_precision as kernels

        if kernels.converts(x.dtype):
            return kernels.widen(x)
    return x.astype(np.float32)


def in_float32(x: Array) -> Array:
    """`x`, of any dtype, as float32."""
    return wide(x).astype(np.float32, copy=False)


def rounded(function: Callable[..., Array], operands: Sequence[Any], out: Array | None, attributes: Mapping[str, Any]) -> Array:
    """``function(*operands)`` computed in float32 and rounded to the half precision of the first array among them."""
    dtype = next(operand.dtype for operand in operands if hasattr(operand, "dtype"))
    result = function(*[wide(x) if hasattr(x, "dtype") else x for x in operands], **attributes).astype(dtype)
    if out is None:
        return result
    out[...] = result
    return out
