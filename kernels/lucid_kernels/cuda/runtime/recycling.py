"""Arrays that are used again: a new one takes CuPy as long as five launches by a plan.

A ring holds the arrays of one shape and dtype that were made for one stream of one device. An array is free when nobody else
holds it, its memory pointer or its memory: a view with strides of its own has no `.base`, but it holds the memory. It goes to
the stream for which it was made, after what that stream still does with it, as memory of CuPy's pools does.
"""
from __future__ import annotations

import os
from sys import getrefcount
from typing import Any

import cupy
import numpy as np


def _usual_limit() -> int:
    """A 16th of the device's memory, at least 256 MiB. Of 80 GiB that is more than a ResNet-50 at batch 64 makes in half
    precision (4 GB), where CuPy's pool took a third of what a step takes the host.
    """
    device = cupy.cuda.runtime.getDevice()
    return max(256 << 20, int(cupy.cuda.runtime.getDeviceProperties(device).get("totalGlobalMem", 0)) >> 4)


#: The most bytes of arrays that rings hold; LUCID_GPU_RING_BYTES says another number, and 0 turns them off.
LIMIT = int(os.environ.get("LUCID_GPU_RING_BYTES") or _usual_limit())
_SHARE = 32  # an array is at most this part of the limit
_MOST = 128  # arrays of a ring: more than a GPT of twelve layers has of one shape
#: Full rings let go of all arrays when others of so many times the limit found no room: what they hold may be of shapes of the
#: past. Until then they keep what they have: a step that needs more than the limit asks for the same again.
_PATIENCE = 4
_UNIT = 512  # CuPy's pools give multiples of it
_BYTES = np.dtype(np.uint8)

Key = tuple[Any, ...]
_rings: dict[Key, Ring] = {}
_held = 0  # bytes of all arrays in rings
_refused = 0  # bytes of arrays that found no room since rings were emptied
#: On the simulator: lets the elements of an array count as never written.
_poison = getattr(getattr(cupy.cuda, "simulated_driver", None), "forget_elements", None)


class Ring:
    """The arrays of one shape, dtype, stream and device, and of strides other than those of rows."""

    __slots__ = ("_at", "_dtype", "_entries", "_nbytes", "_of_data", "_of_memory", "_shape", "_strides")

    def __init__(self, shape: tuple[int, ...], dtype: Any, nbytes: int, strides: tuple[int, ...] | None) -> None:
        self._shape, self._dtype, self._nbytes, self._strides = shape, dtype, nbytes, strides
        self._entries: list[tuple[Any, int, Any, Any]] = []
        self._at = 0
        self._of_data = self._of_memory = 0

    def take(self) -> tuple[Any, int]:
        """An array that nobody uses, and its address. Its elements are anything. For the current stream, the ring's."""
        entries, at = self._entries, self._at
        # The last one, if it was dropped at once; else most often the next: in a loop it was freed longest ago.
        if at < len(entries):
            array, address, data, memory = entries[at]
            # Held by its entry, here and as an argument: whoever takes it at the same time sees one more.
            if getrefcount(array) == 3 and getrefcount(data) == self._of_data and getrefcount(memory) == self._of_memory:
                if _poison is not None:
                    _poison(array)
                return array, address
            at += 1
            if at < len(entries):
                array, address, data, memory = entries[at]
                if getrefcount(array) == 3 and getrefcount(data) == self._of_data and getrefcount(memory) == self._of_memory:
                    self._at = at
                    if _poison is not None:
                        _poison(array)
                    return array, address
        return self._search()

    def _search(self) -> tuple[Any, int]:
        for at, (array, address, data, memory) in enumerate(self._entries):
            if getrefcount(array) == 3 and getrefcount(data) == self._of_data and getrefcount(memory) == self._of_memory:
                self._at = at
                if _poison is not None:
                    _poison(array)
                return array, address
        return self._add()

    def _new(self) -> tuple[Any, int]:
        array = cupy.ndarray(self._shape, self._dtype)  # `empty` in less time
        if self._strides is not None:
            array = cupy.ndarray(self._shape, self._dtype, array.data, self._strides)
        return array, array.data.ptr

    def _add(self) -> tuple[Any, int]:
        global _held, _refused
        array, address = self._new()
        if len(self._entries) < _MOST:
            if _held + self._nbytes > LIMIT:
                _refused += self._nbytes
                if _refused <= _PATIENCE * LIMIT:
                    return array, address
                forget()
            data, memory = array.data, array.data.mem
            self._entries.append((array, address, data, memory))
            self._of_data, self._of_memory = getrefcount(data), getrefcount(memory)  # as they are seen when the array is free
            self._at = len(self._entries) - 1
            _held += self._nbytes
        return array, address

    def idle(self) -> int:
        """The bytes of the arrays that nobody uses."""
        return sum(self._nbytes for array, *_ in self._entries if getrefcount(array) == 3)

    def clear(self) -> None:
        """Let go of all arrays."""
        self._entries = []
        self._at = 0


class _Large(Ring):
    """What stands for the ring of arrays that are too large for one."""

    __slots__ = ()

    take = Ring._new


def has_no_gaps(array: Any) -> bool:
    """Whether the elements lie side by side, in whatever order of the dimensions."""
    if array._c_contiguous:
        return True
    size = array.itemsize
    for stride, length in sorted(zip(array.strides, array.shape, strict=True)):
        if length != 1 and stride != size:
            return False
        size *= length
    return True


def ring(shape: tuple[int, ...], dtype: Any, stream: int, device: int, strides: tuple[int, ...] | None = None) -> Ring:
    """The ring of such arrays; with `strides` those have no gaps."""
    key = shape, dtype.char, stream, device, strides
    found = _rings.get(key)
    if found is None:
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        nbytes = -(-nbytes // _UNIT) * _UNIT
        found = _rings[key] = (_Large if nbytes * _SHARE > LIMIT else Ring)(shape, dtype, nbytes, strides)
    return found


def workspace(nbytes: int, stream: int, device: int) -> Ring:
    """The ring of memory for so many bytes that a call needs until it returns: of few sizes, so that calls share it."""
    step = max(_UNIT, 1 << max(0, nbytes.bit_length() - 4))  # at most an eighth more
    return ring((-(-nbytes // step) * step,), _BYTES, stream, device)


def idle(device: int) -> int:
    """The bytes of `device` that free arrays in rings hold."""
    return sum(ring.idle() for key, ring in list(_rings.items()) if key[3] == device)


def forget() -> bool:
    """Let go of all arrays, and whether there were any; those that are in use live on."""
    global _held, _refused
    for ring in list(_rings.values()):
        ring.clear()
    held, _held, _refused = _held, 0, 0
    return held > 0
