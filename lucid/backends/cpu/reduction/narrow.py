"""NumPy's reductions `sum`, `prod`, `any`, `all`, `max` and `min`, and what takes their place for matrices of a few columns.

NumPy passes over such a matrix row by row, with a call of its loop for each: that takes 2 to 25 times as long as to transpose the
matrix, and to reduce that. Sums of columns are those of pairs then.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...sizes import NARROW_LEAST_ROWS, NARROW_ROW_BYTES

Array = Any
Kernel = Callable[..., Any]



@functools.lru_cache(maxsize=1024)
def reduced_shape(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduction."""
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def transposed(x: Array, axis: Any) -> tuple[Array, int] | None:
    """The transposed matrix of few columns that the row-major `x` is, if `axis` is its first or its last dimensions, and which
    axis of the matrix that is; None for other arrays.
    """
    shape = x.shape
    dims = len(shape)
    if dims == 2 and (shape[0] < NARROW_LEAST_ROWS or shape[1] * x.itemsize > NARROW_ROW_BYTES):  # most small matrices
        return None
    axes = (axis,) if axis.__class__ is int else axis
    count = len(axes)
    if not 0 < count < dims:
        return None
    ordered = axes if count == 1 else sorted(axes)
    first = ordered[0] == 0
    if ordered[-1] - ordered[0] != count - 1 or not (first or ordered[-1] == dims - 1):
        return None
    columns = math.prod(shape[count:] if first else shape[dims - count :])
    if not 0 < columns * x.itemsize <= NARROW_ROW_BYTES or x.size < NARROW_LEAST_ROWS * columns or not x.flags.c_contiguous:
        return None
    return np.ascontiguousarray(x.reshape(-1, columns).T), 1 if first else 0


def _reduction(ufunc: np.ufunc) -> Kernel:
    """``ufunc.reduce`` with the arguments `axis`, None or not negative, `keepdims`, `dtype` and `out`.

    It is called here, not as a method of the array: NumPy warns of inf - inf in the name of the calling module, for which that is
    ignored; its methods call ufuncs in a module of its own.
    """
    reduce: Kernel = ufunc.reduce

    def reduced(x: Array, axis: Any = 0, keepdims: bool = False, dtype: Any = None, out: Array | None = None) -> Any:
        found = None if axis is None or x.size < NARROW_LEAST_ROWS or out is not None else transposed(x, axis)
        if found is None:
            return reduce(x, axis, dtype, out, keepdims)
        return reduce(found[0], axis=found[1], dtype=dtype).reshape(reduced_shape(x.shape, axis, keepdims))

    return reduced


sum, prod, any, all, max, min = map(
    _reduction, (np.add, np.multiply, np.logical_or, np.logical_and, np.maximum, np.minimum))
