"""NumPy's functions of float32 that are 1.3 to 4 units in the last place off where PyTorch's are 0.5 to 0.9: computed in float64.

They compute arrays of up to some thousand elements, for which no kernel is compiled, and those that are not contiguous.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..elementwise import ROWS, Row
from ..elementwise.row import ALWAYS, NUMPY_HAS_VECTORS, WITH_VECTORS
from ..sizes import MANY

Array = Any
Function = Callable[..., Any]
_WIDE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)  # of a class NumPy makes a dtype first, a fifth of the time of a cast


def is_inexact(row: Row) -> bool:
    """Whether NumPy's function of `row` is not exact enough on this processor."""
    return row.accurate == ALWAYS or (row.accurate == WITH_VECTORS and NUMPY_HAS_VECTORS)


def unary(function: Function, x: Array, out: Array | None) -> Array:
    """``function(x)`` of float32."""
    if out is None and x.size < MANY:
        return function(x.astype(_WIDE)).astype(_SINGLE)
    return function(x, out=np.empty_like(x) if out is None else out, dtype=np.float64, casting="same_kind")  # block by block


def binary(function: Function, a: Any, b: Any, out: Array | None) -> Array:
    """``function(a, b)``, in float64 if both are float32."""
    if getattr(a, "dtype", None) != np.float32 or getattr(b, "dtype", None) != np.float32:
        return function(a, b, out=out)
    if out is None:
        return function(a, b, dtype=np.float64).astype(np.float32)
    return function(a, b, out=out, dtype=np.float64, casting="same_kind")


def function(name: str) -> Function:
    """NumPy's function of the operation `name`, for arrays of any size."""
    return exact(ROWS[name], getattr(np, ROWS[name].source))


def exact(row: Row, found: Function) -> Function:
    """The function `found` of a row, for arrays of any size."""
    if not is_inexact(row):
        return found
    if row.arrays == 2:
        return lambda a, b, *, out=None: binary(found, a, b, out)
    return lambda x, *, out=None: unary(found, x, out) if x.dtype.char == "f" else found(x, out=out)
