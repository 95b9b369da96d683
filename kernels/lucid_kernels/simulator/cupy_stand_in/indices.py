"""Reading and writing at indices: out of range in an array or list they wrap around, as in CuPy; a number raises, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def is_basic(index: Any) -> bool:
    """Whether an index is made of numbers and slices only."""
    items = index if isinstance(index, tuple) else (index,)
    return all(
        item is None or item is Ellipsis or (isinstance(item, (int, slice, np.integer)) and not isinstance(item, bool))
        for item in items
    )


def wrap_around(array: np.ndarray, index: Any) -> Any:
    """`index` of `array` with the integers in its arrays and lists brought into range."""
    if is_basic(index):
        return index
    items = [np.asarray(item) if isinstance(item, list) and item else item
             for item in (index if isinstance(index, tuple) else (index,))]  # fmt: skip
    taken = [_dimensions(item) for item in items]
    dim = 0
    for position, (item, count) in enumerate(zip(items, taken, strict=True)):
        if item is Ellipsis:
            dim += array.ndim - sum(taken)
        elif isinstance(item, np.ndarray) and item.dtype.kind in "iu" and dim < array.ndim:
            items[position] = _wrapped(item, array.shape[dim])
        dim += count
    return tuple(items)


def _dimensions(item: Any) -> int:
    """The number of dimensions that one entry of an index takes."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


def _wrapped(indices: Any, length: int) -> Any:
    if isinstance(indices, (list, tuple)):
        indices = np.asarray(indices)
    return indices % length if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu" and length else indices


def take(a: np.ndarray, indices: Any, axis: int | None = None, out: Any = None) -> Any:
    """``numpy.take`` with wrapping indices, on host arrays."""
    return np.take(a, _wrapped(indices, a.size if axis is None else a.shape[axis]), axis, out)


def take_along_axis(a: np.ndarray, indices: Any, axis: int | None = None) -> Any:
    """``numpy.take_along_axis`` with wrapping indices, on host arrays."""
    return np.take_along_axis(a, _wrapped(indices, a.size if axis is None else a.shape[axis]), axis)


def getitem(array: np.ndarray, index: Any) -> np.ndarray:
    return np.asarray(array[wrap_around(array, index)])


def setitem(array: np.ndarray, index: Any, value: Any) -> None:
    array[wrap_around(array, index)] = value


def at(ufunc: Any) -> Callable[..., None]:
    """``ufunc.at`` with wrapping indices, on host arrays."""

    def write(array: np.ndarray, index: Any, *values: Any) -> None:
        ufunc.at(array, wrap_around(array, index), *values)

    return write
