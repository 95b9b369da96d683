"""MetaArray: shape, dtype and strides of an array, and no memory."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..memory_format import Axes, inverse, memory_axes
from ..wrapped_array import WrappedArray

NO_DATA = ("Cannot copy out of meta tensor; no data! A tensor on the device 'meta' has only shape and dtype: give a module its "
           "memory with module.to_empty(device=...), a tensor with empty_like(tensor, device=...).")


class MetaArray(WrappedArray):
    """What operations need to know of an array on the device 'meta'. Writes to it do nothing; it has no elements to read.

    `value` is a NumPy array with the right shape, dtype and strides that must never be read: it stands on one element.
    Views of it are NumPy's own views, so their strides are those of the real thing.
    """

    __slots__ = ()
    device = "meta"
    value: np.ndarray

    def __init__(self, value: np.ndarray, base: MetaArray | None = None) -> None:
        self.value = value
        self.base = base

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise NotImplementedError(NO_DATA)

    def __reduce__(self) -> tuple[Any, ...]:
        return blank, (self.shape, self.dtype, memory_axes(self))

    # ---- views ---------------------------------------------------------------------------------------------------
    def view(self, value: np.ndarray) -> MetaArray:
        """The part of this array that `value`, a view of its own, shows."""
        return MetaArray(value, self if self.base is None else self.base)

    def __getitem__(self, index: Any) -> MetaArray:
        return self.view(self.value[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes do nothing."""

    @property
    def T(self) -> MetaArray:
        return self.view(self.value.T)

    def transpose(self, axes: Axes) -> MetaArray:
        """The dimensions in another order."""
        return self.view(self.value.transpose(axes))

    def reshape(self, *shape: Any) -> MetaArray:
        """Another shape: a view where the strides allow it, else a new row-major array."""
        lengths = _resolve(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape, self.size)
        if self.value.flags.c_contiguous:  # NumPy copies nothing
            return self.view(self.value.reshape(lengths))
        strides = _reshaped_strides(self.value, lengths)
        return blank(lengths, self.dtype) if strides is None else self.view(_stand_in(lengths, self.dtype, strides))

    # ---- copies --------------------------------------------------------------------------------------------------
    def copy(self, order: str = "C") -> MetaArray:
        """A new array: row-major, or with order 'K' laid out as this one."""
        return blank(self.shape, self.dtype, memory_axes(self) if order == "K" else None)

    def astype(self, dtype: Any, copy: bool = True) -> MetaArray:
        """A new array of another dtype, laid out as this one; the same without `copy` where nothing changes."""
        if not copy and self.dtype == dtype:
            return self
        return blank(self.shape, dtype, memory_axes(self))


def blank(shape: Sequence[int], dtype: Any, axes: Axes | None = None) -> MetaArray:
    """A new dense array; `axes` are its dimensions from the outermost in memory to the innermost, None is row-major."""
    shape = tuple(shape)
    if any(length < 0 for length in shape):
        raise ValueError("negative dimensions are not allowed")
    order = tuple(range(len(shape))) if axes is None else axes
    dtype = np.dtype(dtype)
    steps, step = [], dtype.itemsize if math.prod(shape) else 0  # NumPy's strides of empty arrays are 0
    for axis in reversed(order):
        steps.append(step)
        step *= shape[axis]
    strides = tuple(steps[::-1][place] for place in inverse(order))
    return MetaArray(_stand_in(shape, dtype, strides))


def _stand_in(shape: Sequence[int], dtype: np.dtype, strides: Sequence[int]) -> np.ndarray:
    """A NumPy array with these properties over a single element: for its views only, its elements must not be touched."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides)


def _resolve(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """`shape` with its -1, if there is one, replaced. Raises ValueError if it does not have `size` elements."""
    known = math.prod(length for length in shape if length != -1)
    found = tuple(size // known if length == -1 and known else length for length in shape)
    if math.prod(found) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(shape)}")
    return found


def _reshaped_strides(array: np.ndarray, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of a view of `array` in another `shape`, None if no strides give the elements in this order."""
    blocks: list[tuple[int, int]] = []  # dimensions that lie densely inside each other, as one: (length, innermost stride)
    for length, stride in zip(array.shape, array.strides, strict=True):
        if length == 1:
            continue
        if blocks and blocks[-1][1] == length * stride:
            blocks[-1] = (blocks[-1][0] * length, stride)
        else:
            blocks.append((length, stride))
    left, step = 1, array.itemsize  # of the current block: the length not yet used, and its stride
    strides = []
    for length in reversed(shape):
        if length > 1 and left == 1:
            left, step = blocks.pop()
        if left % length:
            return None
        strides.append(step)
        left, step = left // length, step * length
    return tuple(reversed(strides))
