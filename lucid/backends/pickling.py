"""How the memory of tensors gets into pickles and out of them: once, however many tensors share it."""
from __future__ import annotations

import weakref
from typing import Any, ClassVar

import numpy as np

from . import Device, as_held, device_of, storage, to_device, to_host
from .memory_format import inverse, memory_axes
from .storage import Part, owner, part

Array = Any


class Shared:
    """An array that is pickled, once, however many tensors share it.

    Tensors that show the same elements, in whatever shape, share one. A slice has one of its own, as the pickle of one row
    should not hold the whole table, unless it is pickled with all its memory.
    """

    __slots__ = ("__weakref__", "array", "version")
    _living: ClassVar[weakref.WeakValueDictionary[int, Shared]] = weakref.WeakValueDictionary()

    def __init__(self, array: Array) -> None:
        self.array = array
        self.version: Any = None  # what counts the writes to it; an unpickled array starts with one of its own

    @classmethod
    def of(cls, array: Array, with_all: bool = False) -> tuple[Shared, Part | None]:
        """What to pickle for `array`, and where it lies in there; the whole memory of a slice only if `with_all`."""
        whole = owner(array)
        if whole.nbytes != array.nbytes and not with_all:
            whole = array
        found = cls._living.get(id(whole))
        if found is None:  # it holds the array, so no other can have this id as long as a pickle holds it
            found = cls._living[id(whole)] = cls(whole)
        return found, part(whole, array)

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays travel through the host, so a pickle of a GPU tensor opens where `device` exists. NumPy's pickles are
        # row-major: `axes` keeps the memory format.
        device = device_of(self.array)
        if device.type == "meta":
            return Shared, (self.array,)
        axes = memory_axes(self.array)
        return _restore, (to_host(self.array).transpose(axes), axes, str(device))


def _restore(array: np.ndarray, axes: tuple[int, ...], device: str) -> Shared:
    return Shared(to_device(as_held(array.transpose(inverse(axes))), Device(device)))


# Pickles name the module of what restores them: this one, in earlier versions `storage` or `sharing`.
storage.Shared, storage._restore = Shared, _restore  # type: ignore[attr-defined]
