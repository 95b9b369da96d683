"""Device memory: surrounded by inaccessible pages, filled with what no data looks like, known to the runtime.

The runtime checks every access of a kernel against the live buffers. The zones of 1 MB before and behind each catch what
it does not see: the host's own mistakes, and kernels that are built without checks. The start is aligned to 16 bytes,
enough for float4 loads; the up to 15 bytes between the end of the data and the zone are checked after every launch.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lucid_kernels.integers import round_up

from .errors import SimulatorError

_PAGE = mmap.PAGESIZE
_ALIGNMENT = 16
#: Bytes of an inaccessible zone.
ZONE = 1 << 20
# MAP_POPULATE: one call into the system instead of one page fault per page; three times faster for small arrays.
_RESERVE_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
_BODY_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0) | 0x10  # MAP_FIXED

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_buffers_with_slack: weakref.WeakSet[Buffer] = weakref.WeakSet()
#: The live buffers: address and bytes. `watch` tells of them.
_live: dict[int, int] = {}
_allocated: Callable[[int, int], Any] | None = None
_freed: Callable[[int], Any] | None = None


def _undefined_words() -> np.ndarray:
    """What fresh memory holds, by address: NaN in every floating type; runtime_memory.h has the same numbers."""
    mixed = np.arange(1 << 14, dtype=np.uint32) * np.uint32(2654435761)
    return ((0xFFF1 + (mixed >> 20) % 14) << 16 | (0xFF81 + (mixed >> 8) % 126)).astype(np.uint32)


_UNDEFINED = _undefined_words()


def fill_undefined(address: int, nbytes: int) -> None:
    """Make memory look as if nothing had ever been written to it."""
    done = 0
    while done < nbytes:
        offset = (address + done) % _UNDEFINED.nbytes
        part = min(nbytes - done, _UNDEFINED.nbytes - offset)
        ctypes.memmove(address + done, _UNDEFINED.ctypes.data + offset, part)
        done += part


def watch(allocated: Callable[[int, int], Any], freed: Callable[[int], Any]) -> None:
    """Call `allocated(address, nbytes)` for each live buffer and each later one, and `freed(address)` at its end."""
    global _allocated, _freed
    for address, nbytes in _live.items():
        allocated(address, nbytes)
    _allocated, _freed = allocated, freed


def _release(address: int, base: int, size: int) -> None:
    if _live.pop(address, None) is not None and _freed is not None:
        _freed(address)
    _libc.munmap(base, size)


class Buffer:
    """`nbytes` of undefined memory with inaccessible zones before and after. Freed with the last array."""

    __slots__ = ("__weakref__", "address", "nbytes", "past")

    def __init__(self, nbytes: int) -> None:
        size = max(1, round_up(nbytes, _ALIGNMENT))
        body = round_up(size, _PAGE)
        base = _libc.mmap(None, body + 2 * ZONE, 0, _RESERVE_FLAGS, -1, 0)
        failed = ctypes.c_void_p(-1).value
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        if base in (None, failed) or _libc.mmap(base + ZONE, body, protection, _BODY_FLAGS, -1, 0) in (None, failed):
            raise MemoryError(f"no memory for a device array of {nbytes} bytes")
        self.address = base + ZONE + body - size
        self.nbytes = nbytes
        fill_undefined(self.address, size)
        #: What stands between the end of the data and the inaccessible zone.
        self.past = ctypes.string_at(self.address + nbytes, size - nbytes)
        if self.past:
            _buffers_with_slack.add(self)
        if nbytes:
            _live[self.address] = nbytes
            if _allocated is not None:
                _allocated(self.address, nbytes)
        release = weakref.finalize(self, _release, self.address, base, body + 2 * ZONE)
        release.atexit = False  # the process gives it back anyway, and arrays may still be in use then

    def array(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """The memory as an array, which keeps the buffer alive."""
        raw: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        raw._owner = self  # the array keeps `raw`
        return np.ndarray(tuple(shape), dtype, raw)

    def check(self) -> None:
        """Raise SimulatorError when the bytes just past the data have been written."""
        end = self.address + self.nbytes
        if ctypes.string_at(end, len(self.past)) != self.past:
            fill_undefined(end, len(self.past))
            raise SimulatorError(f"out-of-bounds write just past a device array of {self.nbytes} bytes")


def check_all() -> None:
    """Check every live buffer. Raises SimulatorError."""
    for buffer in list(_buffers_with_slack):
        buffer.check()


def empty(shape: int | Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    """An uninitialised array (of NaN, or large negative integers) in guarded memory."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return Buffer(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize).array(shape, dtype)


def guarded(array: np.ndarray) -> np.ndarray:
    """A copy of `array` in guarded memory."""
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy
