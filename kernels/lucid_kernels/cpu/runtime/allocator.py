"""A pool of memory for large arrays.

New memory costs more than the kernels that fill it: the system clears each page at its first use. malloc keeps freed arrays of
up to 32 MiB at best (`malloc.py`), other C libraries none. So large arrays come from one reserved area, in which freed parts
keep their pages. A request takes the part of its size that was freed last, as the steps of a training need the same sizes
again and again. Where there is none, free neighbours are joined, and it takes the smallest part that is large enough, and splits
it. Beyond `limit` free bytes, pages go back to the system, from the end of the area.

An array's memory is free again when the array has died, which views of it, buffers and exports keep from happening. The callback
of its weak reference only notes that: it may come at any time, also from the garbage collector within a method of the pool.
Such arrays are like all others, but that NumPy does not resize in place what has weak references.
"""
from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import pathlib
import sys
import threading
import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from .fork import hold
from .free_list import Ranges
from .numpy_allocator import ArrayMaker

# Bytes. malloc keeps the memory of smaller arrays (`malloc.py`), and the next one finds it in the caches: results of 1 MiB take
# 0.75 to 0.9 of the time with it.
SMALLEST = 2 << 20
_GRANULE = 1 << 16  # bytes; sizes are rounded up to it, so that slightly different ones can follow each other
_HUGE_PAGE = 2 << 20
_NORESERVE = 0x4000 if sys.platform == "linux" else 0x40  # MAP_NORESERVE; `mmap` names it from Python 3.13 on
_FREED = getattr(mmap, "MADV_DONTNEED" if sys.platform == "linux" else "MADV_FREE", None)
_SMALLEST_COUNT = SMALLEST // 16  # an element has at most 16 bytes


class _Lease(weakref.ref):
    """A weak reference to an array from the pool, and where its memory begins and how much it is."""

    __slots__ = ("size", "start")
    size: int
    start: int


class Counts(NamedTuple):
    """Bytes that arrays have, and with the free ones that are kept; their peaks; requests that got kept memory, and those
    that took new memory, at least in part.
    """

    allocated: int
    reserved: int
    max_allocated: int
    max_reserved: int
    hits: int
    misses: int


class _Lock:
    """A lock that knows when its own thread acquires it again: a finalizer or a signal handler within a method of the pool.

    They may come before or after any line, also of these methods, so the thread that has the lock is known to the lock itself.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = False

    def enter(self, blocking: bool = True) -> bool:
        """Take it, if need be after others. False if this thread has it, or unless `blocking` another one."""
        if not self._lock.acquire(blocking):
            return False
        if self._inside:
            self._lock.release()
            return False
        self._inside = True
        return True

    def acquire(self) -> None:
        """Take it, if need be after others. Raises RuntimeError if this thread has it."""
        if not self.enter():
            raise RuntimeError("the memory pool was interrupted by a finalizer or a signal handler, which needs it")

    def release(self) -> None:
        """Let the next one have it."""
        self._inside = False
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exception: object) -> None:
        self.release()


class Pool:
    """Memory for large arrays, of which at most `limit` bytes are kept when they are free."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._allocated = self._reserved = self._max_allocated = self._max_reserved = 0
        self._hits = self._misses = 0
        self._recent: dict[int, list[int]] = {}  # size -> starts of what was freed lately: with pages, not joined to neighbours
        self._free = Ranges()  # with pages
        self._unused = Ranges()  # without
        self._leases: dict[int, _Lease] = {}  # of the arrays that live, by `start`
        self._dead: deque[_Lease] = deque()
        self._lock = _Lock()
        self._maker: ArrayMaker | None = None
        self._area: mmap.mmap | None = None
        self._base = 0  # its address: ranges are addresses
        self._opened = False
        hold(self._lock)  # the memory of a child is its own: the mapping is private

    def count(self) -> Counts:
        """All counts as they are now."""
        with self._lock:
            self._sweep()
            return Counts(self._allocated, self._reserved, self._max_allocated, self._max_reserved, self._hits, self._misses)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array, not initialised, with memory of the pool, or of malloc where there is no pool or no room in it.

        Raises MemoryError, which names the shape, if there is no memory for it even after `empty_cache`.
        """
        if not self._opened:
            self._open()
        inside = not self._lock.enter()  # a finalizer or a signal handler within a method of the pool gets memory elsewhere
        if not inside:
            try:
                array = self._make(shape, dtype)
            finally:
                self._lock.release()
            if array is not None:
                return array
        try:
            return np.empty(shape, dtype)
        except MemoryError:
            if inside:
                raise
            self.empty_cache()
            return np.empty(shape, dtype)

    def empty_cache(self) -> None:
        """Give the pages of all free memory back to the system."""
        with self._lock:
            self._sweep()
            self._shrink(0)

    def set_limit(self, limit: int) -> None:
        """Keep at most `limit` bytes of free memory, from now on."""
        with self._lock:
            self._limit = limit
            self._sweep()

    def reset_peaks(self) -> None:
        """Let the peaks begin at what is in use now."""
        with self._lock:
            self._sweep()
            self._max_allocated, self._max_reserved = self._allocated, self._reserved

    def _open(self) -> None:
        """Reserve the area: addresses without memory. Without a maker afterwards there is no pool here."""
        with self._lock:
            if self._opened:
                return
            self._opened = True
            size = _area_size()
            if not size or _FREED is None:
                return
            try:
                area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
                self._maker = ArrayMaker()
            except (OSError, RuntimeError):  # no such reservation, as where memory is never overcommitted; another NumPy
                return
            if hasattr(mmap, "MADV_HUGEPAGE"):
                with contextlib.suppress(OSError):  # a kernel without them
                    area.madvise(mmap.MADV_HUGEPAGE)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(area))  # never unmapped: arrays may outlive this module
            self._area, self._base = area, ctypes.addressof(ctypes.c_char.from_buffer(area))
            start = -(-self._base // _HUGE_PAGE) * _HUGE_PAGE
            self._unused.add(start, self._base + size)

    def _make(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        """An array in the area, or None where there is no room for it. Like all methods below but `_release`, called with the
        lock held.
        """
        if self._maker is None:
            return None
        if self._dead:
            self._sweep()
        size = -(-max(1, math.prod(shape) * np.dtype(dtype).itemsize) // _GRANULE) * _GRANULE
        recent = self._recent.get(size)
        if recent:
            start = recent.pop()
            self._hits += 1
        else:
            found = self._take(size)
            if found is None:
                return None
            start = found
        try:
            array = self._maker.at(start, shape, dtype)
        except BaseException:
            self._recent.setdefault(size, []).append(start)
            raise
        lease = self._leases[start] = _Lease(array, self._release)
        lease.size, lease.start = size, start
        self._allocated += size
        if self._allocated > self._max_allocated:
            self._max_allocated = self._allocated
        return array

    def _take(self, size: int) -> int | None:
        """The start of the smallest free part of at least `size` bytes, or of unused memory, or None."""
        self._join()
        start = self._free.smallest(size)
        if start is not None:
            self._hits += 1
            self._free.remove(start, start, start + size)
            return start
        start = self._extend(size)
        if start is not None:
            self._misses += 1
        return start

    def _extend(self, size: int) -> int | None:
        """Take the lowest unused memory that, together with the free memory just below it, has `size` bytes."""
        for unused, stop in self._unused:
            start = self._free.before(unused)
            if stop - start >= size:
                if start < unused:
                    self._free.remove(start, start, unused)
                self._unused.remove(unused, unused, start + size)
                self._reserved += start + size - unused
                self._max_reserved = max(self._max_reserved, self._reserved)
                return start
        return None

    def _release(self, lease: _Lease) -> None:
        """The array has died. The lock may be held, even by this thread: then its holder, or the next one, does the rest."""
        self._dead.append(lease)
        while self._dead and self._lock.enter(blocking=False):
            try:
                self._sweep()
            finally:
                self._lock.release()

    def _sweep(self) -> None:
        """Take back what the dead arrays had."""
        while self._dead:
            lease = self._dead.popleft()
            del self._leases[lease.start]
            self._allocated -= lease.size
            self._recent.setdefault(lease.size, []).append(lease.start)
        if self._reserved - self._allocated > self._limit:
            self._shrink(self._limit)

    def _join(self) -> None:
        """Join what was freed lately with its neighbours."""
        for size, starts in self._recent.items():
            for start in starts:
                self._free.add(start, start + size)
        self._recent.clear()

    def _shrink(self, limit: int) -> None:
        """Let go of free pages, those with the highest addresses first, until `limit` bytes have them."""
        self._join()
        for start, stop in reversed(list(self._free)):
            if self._free.total <= limit:
                return
            assert self._area is not None and _FREED is not None
            first = max(start, stop - -(-(self._free.total - limit) // _GRANULE) * _GRANULE)
            self._area.madvise(_FREED, first - self._base, stop - first)
            self._free.remove(start, first, stop)
            self._unused.add(first, stop)
            self._reserved -= stop - first


def _memory() -> int:
    """The bytes of memory that this process can have: those of the machine, or of its control group."""
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):  # ValueError: "max"
        size = min(size, int(pathlib.Path("/sys/fs/cgroup/memory.max").read_text()))
    return size


def _area_size() -> int:
    """Twice the memory there is, as an area comes to pieces; 0 where addresses are limited, as by ``ulimit -v``."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return 0
    import resource

    return 0 if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY else 2 * _memory()


def _default_limit() -> int:
    """LUCID_MEMORY_LIMIT, or a quarter of the memory that this process can have where it is not set or empty."""
    chosen = os.environ.get("LUCID_MEMORY_LIMIT")
    if not chosen:
        return _memory() // 4 if hasattr(os, "sysconf") else 0
    if not chosen.isdecimal():
        raise ValueError(f"LUCID_MEMORY_LIMIT must be a number of bytes, got {chosen!r}")
    return int(chosen)


POOL = Pool(_default_limit())


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """`numpy.empty` for results and temporaries of kernels: large ones come from the pool. Not for objects.

    Raises MemoryError, which names the shape, if there is no memory for it.
    """
    count = math.prod(shape)
    if count < _SMALLEST_COUNT or count * np.dtype(dtype).itemsize < SMALLEST:
        return np.empty(shape, dtype)
    return POOL.empty(shape, dtype)
