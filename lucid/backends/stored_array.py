"""StoredArray: the bits of elements as an array of integers, and the dtype that they mean."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._namespace.lazy import load
from .wrapped_array import WrappedArray

Array = Any
_BITS: dict[int, np.dtype] = {1: np.dtype(np.uint8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


class Refused(NotImplementedError):
    """An operation that PyTorch does not have for a dtype for storage."""

    def __init__(self, name: str, dtype: np.dtype) -> None:
        super().__init__(f"\"{name}\" not implemented for '{dtype.name}', a dtype for storage: convert the tensor with .to(dtype)"
                         " first")


class StoredArray(WrappedArray):
    """`value` holds the bits; `base` is the array that a view is of, also one of another dtype."""

    __slots__ = ("dtype",)
    dtype: np.dtype

    def __init__(self, value: Array, dtype: np.dtype, base: Array | None = None) -> None:
        self.value, self.dtype, self.base = value, dtype, base

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # Else NumPy's functions would compute with what is refused.
        raise TypeError(f"an array of {self.dtype.name}, a dtype for storage, takes part in no operation of other arrays")

    def __reduce__(self) -> tuple[Any, ...]:
        return as_stored, (self.value, self.dtype)

    def seen(self, value: Array) -> StoredArray:
        """The array of the bits `value`, a view of this one where these share its memory."""
        mine, below = self.value, value.base
        shares = value is mine or (below is not None and (below is mine or below is mine.base))
        return StoredArray(value, self.dtype, (self if self.base is None else self.base) if shares else None)

    def __getitem__(self, index: Any) -> StoredArray:
        return self.seen(self.value[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        casts = load("lucid.backends.stored.casts")
        if value.__class__ is not StoredArray:
            value = casts.narrow(value, self.dtype) if value.dtype != self.dtype else wrapped(value)
        elif value.dtype != self.dtype:
            value = casts.cast(value, dtype=self.dtype)
        self.value[index] = value.value

    @property
    def T(self) -> StoredArray:
        return self.seen(self.value.T)

    def transpose(self, axes: Sequence[int]) -> StoredArray:
        """The dimensions in another order."""
        return self.seen(self.value.transpose(axes))

    def reshape(self, *shape: Any) -> StoredArray:
        """Another shape."""
        return self.seen(self.value.reshape(*shape))

    def copy(self, order: str = "C") -> StoredArray:
        """A new array."""
        return StoredArray(self.value.copy(order), self.dtype)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> Array:
        """An array of another dtype."""
        return self if not copy and self.dtype == dtype else load("lucid.backends.stored.casts:cast")(self, dtype=np.dtype(dtype))


def as_stored(value: Array, dtype: np.dtype, base: Array | None = None) -> StoredArray:
    """A StoredArray, which may be the first one, and the table of its operations."""
    load("lucid.backends.stored")
    return StoredArray(value, dtype, base)


def bits_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the integers that hold the bits."""
    return _BITS[dtype.itemsize]


def wrapped(array: Array) -> StoredArray:
    """An array of a storage dtype over the memory of `array`, a NumPy or CuPy array of that dtype."""
    if isinstance(array, StoredArray):
        return array
    return as_stored(array.view(bits_dtype(array.dtype)), array.dtype)
