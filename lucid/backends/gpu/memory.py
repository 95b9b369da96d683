"""The memory of GPUs: CuPy's pool with its peaks, pinned host memory, and copies for which the host does not wait."""
from __future__ import annotations

import collections
import threading
from typing import Any

import cupy
import cupyx
import numpy as np
from lucid_kernels.cuda.runtime import recycling

from . import packed_weights

Array = Any
_Pinned: type = cupy.cuda.PinnedMemoryPointer


class CountedPool:
    """CuPy's default pool; it remembers the most bytes that each device had in use, and kept, at once."""

    def __init__(self) -> None:
        self.pool = cupy.get_default_memory_pool()
        self.allocated: dict[int, int] = collections.defaultdict(int)
        self.reserved: dict[int, int] = collections.defaultdict(int)

    def malloc(self, size: int) -> Any:
        """Memory of the current device; an allocator as `cupy.cuda.set_allocator` takes it."""
        try:
            pointer = self.pool.malloc(size)
        except cupy.cuda.memory.OutOfMemoryError:
            if not recycling.forget() | packed_weights.forget():
                raise
            pointer = self.pool.malloc(size)
        self.count(pointer.device_id)
        return pointer

    def count(self, device: int) -> None:
        """Look at what is in use on `device`, which is the current one."""
        used, total = self.pool.used_bytes(), self.pool.total_bytes()
        if used > self.allocated[device]:
            self.allocated[device] = used
        if total > self.reserved[device]:
            self.reserved[device] = total

    def used_bytes(self, device: int) -> int:
        """The bytes that arrays on `device`, which is the current one, have in use."""
        return self.pool.used_bytes() - recycling.idle(device)

    def empty_cache(self) -> None:
        """Give the memory that is free but kept back to the driver."""
        recycling.forget()
        packed_weights.forget()
        self.pool.free_all_blocks()

    def reset_peaks(self, device: int) -> None:
        """Let the peaks of `device`, which is the current one, begin at what is in use now, without free arrays in rings."""
        recycling.forget()
        self.allocated[device], self.reserved[device] = self.pool.used_bytes(), self.pool.total_bytes()


POOL = CountedPool()
if cupy.cuda.get_allocator() == POOL.pool.malloc:  # not one that somebody has chosen
    cupy.cuda.set_allocator(POOL.malloc)


def pinned(array: np.ndarray) -> np.ndarray:
    """A row-major copy of a NumPy array in pinned memory."""
    copy: np.ndarray = cupyx.empty_pinned(array.shape, array.dtype)
    copy[...] = array
    return copy


def is_pinned(array: np.ndarray) -> bool:
    """Whether a NumPy array, or what it is a view of, lies in pinned memory that CuPy has given."""
    owner: Any = array
    while owner is not None:
        if isinstance(owner, _Pinned):
            return True
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return False


_lock = threading.Lock()
_sources: collections.deque[tuple[Any, np.ndarray]] = collections.deque()  # with the event after which each has been read


def copy_later(array: np.ndarray) -> Array:
    """A copy of a pinned array on the current device, made by the current stream while the host goes on if the array has no gaps.

    The pinned memory is kept until then. Who writes to it before `synchronize` may change what is copied, as in PyTorch.
    """
    if not array.flags.c_contiguous:
        return cupy.asarray(array)
    target = cupy.empty(array.shape, array.dtype)
    target.data.copy_from_host_async(array.ctypes.data, array.nbytes)
    event = cupy.cuda.Event(disable_timing=True)
    event.record()
    with _lock:
        while _sources and _sources[0][0].done:
            _sources.popleft()
        _sources.append((event, array))
    return target
