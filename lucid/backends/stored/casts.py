"""Numbers from the bits of stored arrays, and bits from numbers, on the device of either."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtypes
from .. import TABLES
from ..memory_format import in_memory_order
from ..stored_array import StoredArray, bits_dtype
from . import float8

Array = Any
_FLOAT32 = np.dtype(np.float32)


def widened(x: StoredArray) -> Array:
    """The elements as numbers that a backend has: unsigned integers over the same memory, those of 8 bits as float32."""
    value = x.value
    if x.dtype in float8.FLOAT8:
        return in_memory_order(value, lambda bits: _float32(bits, x.dtype))
    if not hasattr(value, "data"):  # on the device meta
        return value.view(value.value.view(x.dtype))
    return value.view(x.dtype)


def _float32(bits: Array, dtype: np.dtype) -> Array:
    if bits.__class__ is np.ndarray:
        return float8.extended(bits, dtype)
    if not hasattr(bits, "data"):  # on the device meta
        return bits.astype(_FLOAT32)
    from lucid_kernels.cuda.movement import float8 as kernels

    return kernels.widen(bits, format=dtype.name)


def narrow(x: Array, dtype: np.dtype) -> StoredArray:
    """The numbers of an array that is not stored as `dtype`."""
    if x.dtype.kind == "c":
        x = TABLES[x.__class__]["real"](x)
    if dtype not in float8.FLOAT8:
        return StoredArray(_unsigned(x, dtype).view(bits_dtype(dtype)), dtype)
    if x.dtype != _FLOAT32:
        x = _as(x, _FLOAT32)
    return StoredArray(in_memory_order(x, lambda numbers: _rounded(numbers, dtype)), dtype)


def _as(x: Array, dtype: np.dtype) -> Array:
    """`x` as a dtype that is not stored, by the backend; NumPy's unsigned integers by itself."""
    if x.__class__ is not np.ndarray or x.dtype.kind != "u":
        return TABLES[x.__class__]["cast"](x, dtype=dtype)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def _unsigned(x: Array, dtype: np.dtype) -> Array:
    if x.dtype.kind == "V":  # the kernels convert bfloat16 to all that lucid computes with
        x = _as(x, _FLOAT32)
    if x.__class__ is np.ndarray:
        with np.errstate(all="ignore"):
            return x.astype(dtype)
    return x.astype(dtype)


def _rounded(x: Array, dtype: np.dtype) -> Array:
    if x.__class__ is np.ndarray:
        return float8.rounded(x, dtype)
    if not hasattr(x, "data"):  # on the device meta
        return x.astype(bits_dtype(dtype))
    from lucid_kernels.cuda.movement import float8 as kernels

    return kernels.narrow(x, format=dtype.name)


def cast(x: StoredArray, *, dtype: np.dtype, out: Array | None = None) -> Array:
    """The elements as another dtype, laid out in memory as they are."""
    if dtype in _dtypes.STORED:
        result: Array = narrow(widened(x), dtype) if dtype != x.dtype else StoredArray(
            in_memory_order(x.value, lambda bits: bits.copy()), dtype)
    else:
        numbers = widened(x)
        if numbers.dtype.kind == "u" and numbers.__class__ is not np.ndarray and dtype.kind == "V":
            numbers = _as(numbers, _FLOAT32)
        result = numbers if numbers.dtype == dtype else _as(numbers, dtype)
    if out is None:
        return result
    return TABLES[result.__class__]["copy"](result, out=out)


def number(value: Any, dtype: np.dtype) -> Any:
    """A number as the bits of `dtype`."""
    if isinstance(value, int) and dtype.kind == "u":
        value = np.asarray(value % (1 << 8 * dtype.itemsize), dtype)
        return value.view(bits_dtype(dtype)).item()
    return narrow(np.asarray(value), dtype).value.item()
