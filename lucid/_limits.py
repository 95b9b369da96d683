"""What the dtypes can hold: `finfo` and `iinfo`, and which casts keep the kind of a number."""
from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from . import _dtypes


class finfo:
    """The limits of a floating-point dtype (of the parts, for a complex one); the default dtype without an argument.

    `bits`, `eps` (the distance from 1 to the next number), `max`, `min`, `tiny` and `smallest_normal`, `resolution`, and the
    name `dtype`. Raises TypeError for other dtypes.

    >>> lucid.finfo(lucid.float32).eps, lucid.finfo(lucid.float16).max
    (1.1920928955078125e-07, 65504.0)
    """

    def __init__(self, type: Any = None) -> None:
        dtype = _dtypes.get_default_dtype() if type is None else _dtypes.as_dtype(type)
        if dtype.kind in "biu":
            raise TypeError(f"lucid.finfo() requires a floating point input type. Use lucid.iinfo to handle {dtype.name}")
        self.bits, self.eps, self.max, self.min, self.smallest_normal, self.resolution, self.dtype = _found(dtype)
        self.tiny = self.smallest_normal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


@functools.cache
def _found(dtype: np.dtype) -> tuple[int, float, float, float, float, float, str]:
    """What a `finfo` holds: NumPy takes 4 us."""
    found: Any = (ml_dtypes.finfo if dtype.itemsize == 1 or dtype == _dtypes.bfloat16 else np.finfo)(dtype)
    name = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
    return (int(found.bits), float(found.eps), float(found.max), float(found.min), float(found.smallest_normal),
            10.0 ** -(0 if dtype.itemsize == 1 else int(found.precision)), name)


class iinfo:
    """The limits of an integer dtype: `bits`, `max`, `min` and the name `dtype`. Raises TypeError for other dtypes.

    >>> lucid.iinfo(lucid.int8).min, lucid.iinfo(lucid.int8).max
    (-128, 127)
    """

    def __init__(self, type: Any) -> None:
        dtype = _dtypes.as_dtype(type)
        if dtype.kind not in "iu":
            raise TypeError(f"lucid.iinfo() requires an integer input type, not {dtype.name}. Use lucid.finfo for floating point")
        found = np.iinfo(dtype)
        self.bits, self.max, self.min, self.dtype = int(found.bits), int(found.max), int(found.min), dtype.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((iinfo, self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a result of dtype `from_` may be written into a tensor of dtype `to`: not from complex to real numbers, from
    floating-point numbers to integers, or from anything else to bool.

    >>> lucid.can_cast(lucid.float64, lucid.float32), lucid.can_cast(lucid.float32, lucid.int64)
    (True, False)
    """
    return _dtypes.CATEGORY[_dtypes.as_dtype(from_)] <= _dtypes.CATEGORY[_dtypes.as_dtype(to)]
