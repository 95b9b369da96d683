"""Memory that ends at an inaccessible page.

A read or write past the end of a guarded array faults at once, and the launch reports the kernel, block, thread and
source line. The start is aligned to 16 bytes, enough for float4 loads; the up to 15 bytes between the end of the data
and the page are filled with 0xFF and checked after every launch.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import SimulatorError

_PAGE = mmap.PAGESIZE
_ALIGNMENT = 16
_POISON = 0xFF
# MAP_POPULATE: one call into the system instead of one page fault per page; three times faster for small arrays.
_MAP_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_buffers_with_slack: weakref.WeakSet[Buffer] = weakref.WeakSet()


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


class Buffer:
    """`nbytes` of memory filled with 0xFF, with an inaccessible page before and after. Freed with the last array."""

    __slots__ = ("__weakref__", "address", "nbytes", "slack")

    def __init__(self, nbytes: int) -> None:
        size = max(1, _round_up(nbytes, _ALIGNMENT))
        body = _round_up(size, _PAGE)
        base = _libc.mmap(None, body + 2 * _PAGE, mmap.PROT_READ | mmap.PROT_WRITE, _MAP_FLAGS, -1, 0)
        if base in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no memory for a device array of {nbytes} bytes")
        _libc.mprotect(base, _PAGE, 0)
        _libc.mprotect(base + _PAGE + body, _PAGE, 0)
        self.address = base + _PAGE + body - size
        self.nbytes = nbytes
        self.slack = size - nbytes
        ctypes.memset(self.address, _POISON, size)
        if self.slack:
            _buffers_with_slack.add(self)
        release = weakref.finalize(self, _libc.munmap, base, body + 2 * _PAGE)
        release.atexit = False  # the process gives it back anyway, and arrays may still be in use then

    def array(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """The memory as an array, which keeps the buffer alive."""
        raw: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        raw._owner = self  # the array keeps `raw`
        return np.ndarray(tuple(shape), dtype, raw)

    def check(self) -> None:
        """Raise SimulatorError when the bytes just past the data have been written."""
        end = self.address + self.nbytes
        if ctypes.string_at(end, self.slack) != b"\xff" * self.slack:
            ctypes.memset(end, _POISON, self.slack)
            raise SimulatorError(f"out-of-bounds write just past a device array of {self.nbytes} bytes")


def check_all() -> None:
    """Check every live buffer. Raises SimulatorError."""
    for buffer in list(_buffers_with_slack):
        buffer.check()


def empty(shape: int | Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    """An uninitialised (0xFF: NaN) array in guarded memory."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return Buffer(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize).array(shape, dtype)


def guarded(array: np.ndarray) -> np.ndarray:
    """A copy of `array` in guarded memory."""
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy
