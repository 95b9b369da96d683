"""WrappedArray: the attributes of a NumPy array, for an array that holds another one."""
from __future__ import annotations

import math
from typing import Any

__all__ = ["WrappedArray"]


class WrappedArray:
    """What operations ask of an array, answered from `value`, the array inside. `base` is the array that a view is of."""

    __slots__ = ("__weakref__", "base", "value")
    __array_ufunc__ = None  # NumPy's functions refuse it, as they would an array on another device
    value: Any
    base: Any

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        strides: tuple[int, ...] = self.value.strides
        return strides

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def flags(self) -> Any:
        return self.value.flags

    @property
    def device(self) -> Any:
        return self.value.device

    def __len__(self) -> int:
        return self.shape[0]
