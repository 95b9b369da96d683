"""Arrays over one piece of memory: copied so that the copies share memory too."""
from __future__ import annotations

import weakref
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .memory_format import in_memory_order, inverse, memory_axes

Array = Any


class Part(NamedTuple):
    """Where a view lies in the memory of the array that it is a view of: bytes from its start, and what is there."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


def owner(array: Array) -> Array:
    """The array whose memory `array` shows, if a copy of it would have the same layout; else `array` itself."""
    if not _on_host(array) and not hasattr(array, "data"):
        return array  # on the device meta there is no memory to share
    base = array
    while base.base is not None and base.base.__class__ is array.__class__:
        base = base.base
    gapless = base.transpose(memory_axes(base)).flags.c_contiguous
    return base if gapless and array.size else array


def part(whole: Array, array: Array) -> Part | None:
    """Where `array` lies in `whole`, which owns its memory; None if it is `whole`."""
    if array is whole:
        return None
    return Part(_address(array) - _address(whole), array.shape, array.strides, array.dtype)


def take(whole: Array, place: Part | None) -> Array:
    """The view of `whole` at `place`."""
    if place is None:
        return whole
    offset, shape, strides, dtype = place
    if _on_host(whole):
        memory = whole.ravel(order="K").view(np.uint8)  # no copy: an owner has no gaps
        return np.ndarray(shape, dtype, memory, offset, strides)
    pointer = whole.data
    return whole.__class__(shape, dtype, type(pointer)(pointer.mem, pointer.ptr - pointer.mem.ptr + offset), strides)


def copy(array: Array, memo: dict[int, Any]) -> Array:
    """A copy of `array` for `copy.deepcopy`: what shared memory before shares the copy of all that memory afterwards."""
    whole = owner(array)
    if id(whole) not in memo:
        memo[id(whole)] = in_memory_order(whole, lambda original: original.copy())
        memo.setdefault(id(memo), []).append(whole)  # keeps its id from being used again, as `copy.deepcopy` does
    return take(memo[id(whole)], part(whole, array))


class Shared:
    """An array on its way into a pickle, which holds it once, however many tensors share it.

    Tensors that show the same elements, in whatever shape, share one. A slice has one of its own: the pickle of one row
    should not hold the whole table.
    """

    __slots__ = ("__weakref__", "array", "version")
    _living: ClassVar[weakref.WeakValueDictionary[int, Shared]] = weakref.WeakValueDictionary()

    def __init__(self, array: Array) -> None:
        self.array = array
        self.version: Any = None  # what counts the writes to it; an unpickled array starts with one of its own

    @classmethod
    def of(cls, array: Array) -> tuple[Shared, Part | None]:
        """What to pickle for `array`, and where it lies in there."""
        whole = owner(array)
        if whole.nbytes != array.nbytes:
            whole = array
        found = cls._living.get(id(whole))
        if found is None:  # it holds the array, so no other can have this id as long as a pickle holds it
            found = cls._living[id(whole)] = cls(whole)
        return found, part(whole, array)

    def __reduce__(self) -> tuple[Any, ...]:
        from . import device_of, to_host

        # Arrays travel through the host, so a pickle of a GPU tensor opens where `device` exists. NumPy's pickles are
        # row-major: `axes` keeps the memory format.
        device = device_of(self.array)
        if device.type == "meta":
            return Shared, (self.array,)
        axes = memory_axes(self.array)
        return _restore, (to_host(self.array).transpose(axes), axes, str(device))


def _restore(array: np.ndarray, axes: tuple[int, ...], device: str) -> Shared:
    from . import Device, to_device

    return Shared(to_device(array.transpose(inverse(axes)), Device(device)))


def _on_host(array: Array) -> bool:
    return array.__class__ is np.ndarray


def _address(array: Array) -> int:
    return int(array.ctypes.data if _on_host(array) else array.data.ptr)
