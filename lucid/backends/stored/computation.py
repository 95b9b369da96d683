"""What PyTorch computes with stored elements: on numbers that the backend has, and rounded to the dtype again.

Of unsigned integers most is computed on the bits, as products of them, sums and questions of equality are those of signed ones;
the rest in int64. 8-bit floating-point numbers are computed in float32.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import TABLES
from ..stored_array import Refused, StoredArray
from .casts import cast, narrow, number, widened
from .float8 import FLOAT8

Array = Any
Kernel = Callable[..., Any]
_INT64 = np.dtype(np.int64)
_ON_BITS = frozenset("eq ne any all mul kron bitwise_and bitwise_or bitwise_xor".split())  # of unsigned integers
_SIGN = int(np.iinfo(np.int64).min)


def _plain(x: Any) -> Array:
    """The elements as a backend computes with them: float32 or int64."""
    if x.__class__ is not StoredArray:
        return x
    if x.dtype in FLOAT8:
        return widened(x)
    return x.value if x.itemsize == 8 else widened(x).astype(_INT64)


def _in_order(x: StoredArray) -> Array:
    """`_plain`, in the order of the elements also for those beyond int64."""
    if x.itemsize < 8:
        return _plain(x)
    return TABLES[x.value.__class__]["bitwise_xor"](x.value, np.asarray(_SIGN) if x.value.__class__ is np.ndarray else _SIGN)


def _back(x: Array, dtype: np.dtype, ordered: bool = False) -> StoredArray:
    if dtype.itemsize == 8:
        return StoredArray(TABLES[x.__class__]["bitwise_xor"](x, _SIGN) if ordered else x, dtype)
    return narrow(x, dtype)


def _numbers(like: StoredArray, value: Any, on_bits: bool) -> Any:
    """An operand as its bits or as `_plain`: a number as the element that it is."""
    if value.__class__ is StoredArray and on_bits:
        return value.value
    if value is None or value.__class__ in TABLES:
        return _plain(value)
    bits = np.asarray(number(value, like.dtype)).astype(like.value.dtype)
    return bits.item() if on_bits else _plain(StoredArray(bits, like.dtype)).item()


def _of(name: str, *operands: Any, **attributes: Any) -> tuple[StoredArray, Any]:
    like = next(x for x in operands if x.__class__ is StoredArray)
    on_bits = name in _ON_BITS and like.dtype not in FLOAT8
    plain = [_numbers(like, x, on_bits) for x in operands]
    kind = next(x for x in plain if x.__class__ in TABLES).__class__
    with np.errstate(all="ignore"):
        return like, TABLES[kind][name](*plain, **attributes)


def same(name: str) -> Kernel:
    """Operation `name`, whose result has the dtype of its operands."""
    def kernel(*operands: Any, out: StoredArray | None = None, **attributes: Any) -> Any:
        like, result = _of(name, *operands, **attributes)
        result = np.asarray(result) if isinstance(result, np.generic) else result
        back = narrow(result, like.dtype) if like.dtype in FLOAT8 else StoredArray(result, like.dtype)
        return back if out is None else TABLES[StoredArray]["copy"](back, out=out)

    return kernel


def mul(a: Any, b: Any, *, out: StoredArray | None = None) -> StoredArray:
    """The product; of floating-point numbers, as in PyTorch, not by a number or by a tensor without dimensions."""
    like = a if a.__class__ is StoredArray else b
    if like.dtype in FLOAT8 and not getattr(b, "ndim", 0):
        raise Refused("mul", like.dtype)
    found: StoredArray = _mul(a, b, out=out)
    return found


def matmul(a: StoredArray, b: StoredArray, **attributes: Any) -> StoredArray:
    """The product of two matrices; those of vectors and of stacks are refused, as in PyTorch."""
    if a.ndim != 2 or b.ndim != 2:
        raise Refused("matmul", a.dtype)
    found: StoredArray = _matmul(a, b, **attributes)
    return found


_mul, _matmul = same("mul"), same("matmul")


def other(name: str) -> Kernel:
    """Operation `name`, whose result has a dtype of its own: the truth, or what an argument says."""
    def kernel(*operands: Any, **attributes: Any) -> Any:
        return _of(name, *operands, **attributes)[1]

    return kernel


def total(name: str) -> Kernel:
    """The sums and products `name`: of whole numbers in int64, of others only in a `dtype` with which it can be computed."""
    def kernel(x: StoredArray, *, dtype: Any = None, **attributes: Any) -> Array:
        if dtype is None and x.dtype in FLOAT8:
            raise Refused(name, x.dtype)
        plain = _plain(x) if dtype is None or (dtype == _INT64 and x.dtype not in FLOAT8) else cast(x, dtype=dtype)
        return TABLES[plain.__class__][name](plain, dtype=dtype, **attributes)

    return kernel


def itself(x: StoredArray, **attributes: Any) -> StoredArray:
    """What changes nothing about whole numbers."""
    return TABLES[StoredArray]["copy"](x)


def constant(name: str) -> Kernel:
    """A question that has one answer for all whole numbers, computed of their bits seen as such."""
    def kernel(x: StoredArray) -> Any:
        return TABLES[x.value.__class__][name](TABLES[x.value.__class__]["fill"](x.value, value=0))

    return kernel


def sort(x: StoredArray, *, axis: int, descending: bool) -> tuple[StoredArray, Array]:
    """The elements in order, and where they were."""
    plain = _in_order(x)
    result, places = TABLES[plain.__class__]["sort"](plain, axis=axis, descending=descending)
    return _back(result, x.dtype, ordered=True), places


def argsort(x: StoredArray, axis: int) -> Array:
    """Where the elements are in order."""
    plain = _in_order(x)
    return TABLES[plain.__class__]["argsort"](plain, axis)
