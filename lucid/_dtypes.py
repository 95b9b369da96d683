"""dtypes: NumPy dtype objects under PyTorch's names, and PyTorch's promotion rules."""
from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import ml_dtypes
import numpy as np

from ._namespace import dtype_attributes

dtype_attributes.install()
dtype = np.dtype
bool_ = np.dtype("bool")
uint8 = np.dtype("uint8")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
float16 = np.dtype("float16")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")

uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = np.dtype(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = np.dtype(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = np.dtype(ml_dtypes.float8_e8m0fnu)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
#: Those for storage, with which PyTorch and lucid compute next to nothing (`lucid.backends.stored`).
STORED = (uint16, uint32, uint64, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
STORED_CLASSES = frozenset(type(dtype) for dtype in STORED)
EVERY = (*ALL, *STORED)
CLASSES = {type(dtype) for dtype in EVERY}  # of dtype objects; `lucid.torch` adds that of its own
_BY_NAME = {dtype.name: dtype for dtype in EVERY} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "cfloat": complex64, "cdouble": complex128}
_PYTHON = {bool: bool_, int: int64}
_NUMBERS = frozenset((bool, int, float, complex))
_CANONICAL = {dtype: dtype for dtype in EVERY}  # of equal dtypes, such as those of C's long and long long, the one that we have
# bool < integers < floats < complex: a Python scalar, or a 0-d tensor, raises only the category of a tensor's dtype.
CATEGORY = {dtype: {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}[dtype.kind] for dtype in EVERY}

_default: ContextVar[np.dtype] = ContextVar("lucid_default_dtype", default=float32)


def get_default_dtype() -> np.dtype:
    """The dtype of new floating-point tensors; float32 unless `set_default_dtype` was called in this context.

    >>> lucid.get_default_dtype()
    dtype('float32')
    """
    return _default.get()


def set_default_dtype(dtype: Any) -> None:
    """Set the dtype of new floating-point tensors in this context. Raises TypeError for a dtype that is not floating.

    >>> lucid.set_default_dtype(lucid.float64)
    >>> lucid.ones(1).dtype
    dtype('float64')
    >>> lucid.set_default_dtype(lucid.float32)
    """
    chosen = as_dtype(dtype)
    if CATEGORY[chosen] != 2 or chosen in STORED:
        raise TypeError(f"only floating-point types are supported as the default type, not {chosen.name}")
    _default.set(chosen)


def default_complex() -> np.dtype:
    """The complex dtype whose parts have the default dtype."""
    return complex128 if _default.get() == float64 else complex64


def as_dtype(dtype: Any) -> np.dtype:
    """The dtype object for a dtype, its name, a NumPy scalar type or a Python type. Raises TypeError for others."""
    if dtype.__class__ is np.dtype or isinstance(dtype, np.dtype):
        found = dtype
    elif dtype is float:
        return get_default_dtype()
    elif dtype is complex:
        return default_complex()
    elif dtype in _PYTHON:
        return _PYTHON[dtype]
    elif isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    else:
        try:
            found = np.dtype(dtype)
        except TypeError:
            raise TypeError(f"dtype must be a lucid dtype such as lucid.float32, not {dtype!r}") from None
    if found not in CATEGORY:
        raise TypeError(f"dtype {found} is not supported; the dtypes are {', '.join(d.name for d in EVERY)}")
    return _CANONICAL[found]


def canonical(array: Any) -> Any:
    """The memory of `array` with the object that we have for its dtype. Raises TypeError where we have none."""
    dtype = array.dtype
    known = _CANONICAL.get(dtype)
    if known is None:
        raise TypeError(f"can't convert an array of dtype {dtype} to a tensor; the dtypes are {', '.join(d.name for d in EVERY)}")
    return array if dtype is known else array.view(known)


def is_floating(dtype: np.dtype) -> bool:
    """Whether `dtype` is a real floating-point type (bfloat16 has NumPy's kind 'V')."""
    return CATEGORY[dtype] == 2


def is_differentiable(dtype: np.dtype) -> bool:
    """Whether a tensor of `dtype` can require a gradient: floating-point and complex."""
    return CATEGORY[dtype] >= 2


def most(dtype: np.dtype) -> Any:
    """NaN, True or the largest integer: what deterministic algorithms fill memory with."""
    category = CATEGORY[dtype]
    return float("nan") if category > 1 else int(np.iinfo(dtype).max) if category else True


def number(value: Any) -> Any:
    """A number of NumPy's, or of a class derived from Python's, as Python's own number, whatever its width; else `value`."""
    if value.__class__ in _NUMBERS:
        return value
    if isinstance(value, np.generic):
        kind = value.dtype.kind
        if kind == "b":
            return bool(value)
        if kind in ("i", "u"):
            return int(value)
        if kind == "c":
            return complex(value)
        return float(value) if kind == "f" or CATEGORY.get(value.dtype) == 2 else value
    bases: tuple[Any, ...] = (int, float, complex)
    if not isinstance(value, bases):
        return value
    return next(base(value) for base in bases if isinstance(value, base))


def dtype_of_scalar(value: Any) -> np.dtype:
    """The dtype of the tensor that a number makes by itself."""
    value = number(value)
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return get_default_dtype() if isinstance(value, float) else default_complex()


def promote_types(type1: Any, type2: Any) -> np.dtype:
    """The dtype of an operation on tensors of two dtypes, as in PyTorch (int64 with float16 is float16).

    >>> lucid.promote_types(lucid.int64, lucid.float16)
    dtype('float16')
    """
    a, b = as_dtype(type1), as_dtype(type2)
    if a == b:
        return a
    if a in STORED or b in STORED:
        return _promote_stored(a, b)
    if CATEGORY[a] != CATEGORY[b] and max(CATEGORY[a], CATEGORY[b]) >= 2:
        low, high = (a, b) if CATEGORY[a] < CATEGORY[b] else (b, a)
        if CATEGORY[low] < 2:
            return high
        return complex128 if low == float64 or high == complex128 else complex64
    if {a, b} == {float16, bfloat16}:
        return float32
    if bfloat16 in (a, b):
        return b if a == bfloat16 else a
    return np.promote_types(a, b)


def _promote_stored(a: np.dtype, b: np.dtype) -> np.dtype:
    """`promote_types` of two dtypes, one of them for storage: an unsigned one gives way to a floating-point one. Raises
    RuntimeError for others.
    """
    if (a.itemsize == 1 and a in STORED) or (b.itemsize == 1 and b in STORED):
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.name} and {b.name}. Convert "
                           "one with .to(dtype).")
    high = b if a in STORED else a
    if CATEGORY[high] == 2:
        return high
    raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.name} and {b.name}"
                       ". Convert one with .to(dtype).")


def result_type(*operands: tuple[np.dtype, int]) -> np.dtype:
    """The dtype that operands, given as (dtype, rank), have together.

    rank 2: a tensor with dimensions, 1: a 0-d tensor, 0: a Python scalar. An operand of lower rank matters only if its
    category (bool, integer, float, complex) is higher than those of all operands of higher rank.
    """
    result: np.dtype | None = None
    for rank in (2, 1, 0):
        group: np.dtype | None = None
        for dtype, its_rank in operands:
            if its_rank == rank:
                group = dtype if group is None else promote_types(group, dtype)
        if group is None:
            continue
        if result is None:
            result = group
        elif CATEGORY[group] > CATEGORY[result]:
            if group in STORED or (result in STORED and (group.kind != "c" or is_floating(result))):
                group = promote_types(result, group)
            elif CATEGORY[group] == 3 and is_floating(result):
                group = complex128 if result == float64 else complex64  # the complex type with the parts of the result
            result = group
    assert result is not None
    return result
