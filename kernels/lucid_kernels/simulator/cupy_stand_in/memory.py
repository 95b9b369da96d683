"""Device memory and its pools, and pinned host memory.

Fresh memory reads as NaN, and the simulator knows that nothing was written to it. With guard zones (the default;
LUCID_SIMULATOR_GUARD=0 turns them off) a kernel that leaves an array faults.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import guard
from .streams import (
    Stream,
    count_operation,
    get_current_stream,
    refuse_cuda_malloc,
    refuse_synchronous,
    refuse_to_device,
    refuse_to_host,
)

GUARD = os.environ.get("LUCID_SIMULATOR_GUARD", "1") != "0"
#: CuPy's pools hand out multiples of this, aligned to it.
_UNIT = 512


class OutOfMemoryError(MemoryError):
    """The pool's limit is reached."""


class MemoryPool:
    """The books of device memory: how much is in use, and a limit. Nothing is reused: a stale use is noticed."""

    private = True  # whether a captured graph may rely on the pool to keep freed blocks

    def __init__(self, allocator: Any = None) -> None:
        self._used = 0
        self._total = 0
        self._limit = 0
        #: How many blocks have been given out, ever.
        self.allocations = 0

    def take(self, nbytes: int) -> None:
        """Book `nbytes`. Raises OutOfMemoryError. For the modules of this package."""
        size = -(-nbytes // _UNIT) * _UNIT
        if self._limit and self._used + size > self._limit:
            raise OutOfMemoryError(
                f"Out of memory allocating {size:,} bytes (allocated so far: {self._used:,} bytes, "
                f"limit set to: {self._limit:,} bytes)."
            )
        if self._used + size > self._total:
            refuse_cuda_malloc()
            self._total = self._used + size
        self._used += size
        self.allocations += 1

    def give(self, nbytes: int) -> None:
        """Undo `take`. For the modules of this package."""
        self._used -= -(-nbytes // _UNIT) * _UNIT

    def malloc(self, size: int) -> MemoryPointer:
        """A block of this pool."""
        return MemoryPointer(Allocation(size, self), 0)

    def used_bytes(self) -> int:
        """Bytes in use."""
        return self._used

    def total_bytes(self) -> int:
        """Bytes in use and kept for reuse."""
        return self._total

    def free_bytes(self) -> int:
        """Bytes kept for reuse."""
        return self._total - self._used

    def n_free_blocks(self) -> int:
        """Blocks kept for reuse: none."""
        return 0

    def free_all_blocks(self, stream: Stream | None = None) -> None:
        """Give back what is kept for reuse."""
        self._total = self._used

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Bound the bytes in use; 0 is no bound."""
        self._limit = int(size or 0)

    def get_limit(self) -> int:
        """The bound, or 0."""
        return self._limit


class PinnedMemoryPool(MemoryPool):
    """The books of pinned host memory."""


class _DefaultPool(MemoryPool):
    private = False


_default_pool: MemoryPool = _DefaultPool()
_pinned_pool = PinnedMemoryPool()
_allocators: list[Callable[[int], Any]] = [_default_pool.malloc]
_live: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()  # by address
#: By each part of the address space that it reaches into: a guarded block shares none with another.
_by_zone: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()


class _Unguarded:
    """A buffer without zones around it."""

    def __init__(self, nbytes: int) -> None:
        self._bytes = np.full(nbytes + _UNIT, 0xFF, np.uint8)
        self.address = -(-self._bytes.ctypes.data // _UNIT) * _UNIT
        self._nbytes = nbytes

    def array(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        offset = self.address - self._bytes.ctypes.data
        return self._bytes[offset : offset + self._nbytes].view(dtype).reshape(shape)

    def check(self) -> None:
        pass


class Allocation:
    """One block of device memory, freed with the last array on it.

    Its buffer may live longer, inside a captured graph; the pool's books do not count that. So what is captured keeps buffers,
    and no block: the graph asks for them at each launch.
    """

    __slots__ = ("__weakref__", "buffer", "device_id", "pool", "ptr", "size")

    def __init__(self, nbytes: int, pool: MemoryPool) -> None:
        self.pool = pool
        pool.take(nbytes)
        self.size = nbytes
        self.device_id = 0
        self.buffer: Any = (guard.Buffer if GUARD else _Unguarded)(nbytes)
        self.ptr: int = self.buffer.address
        weakref.finalize(self, pool.give, nbytes).atexit = False
        _live[self.ptr] = self
        for zone in range(self.ptr // guard.ZONE, (self.ptr + nbytes) // guard.ZONE + 1):
            _by_zone[zone] = self

    def array(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """The memory as a NumPy array, which keeps the buffer."""
        found: np.ndarray = self.buffer.array(shape, dtype)
        return found

    def poison(self) -> None:
        """Make it uninitialised again."""
        guard.fill_undefined(self.ptr, self.size)


class _Variable:
    """The bytes of a variable of a module, which it keeps loaded. Nothing is known of what lies behind it."""

    def __init__(self, module: Any, address: int, nbytes: int) -> None:
        self._module, self.address, self._nbytes = module, address, nbytes

    def array(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        memory: Any = (ctypes.c_uint8 * self._nbytes).from_address(self.address)
        memory._owner = self
        return np.ndarray(tuple(shape), dtype, memory)

    def check(self) -> None:
        pass


class Symbol(Allocation):
    """The memory of a variable of a module."""

    __slots__ = ()

    def __init__(self, module: Any, ptr: int, size: int) -> None:
        self.buffer = _Variable(module, ptr, size)
        self.pool = _default_pool
        self.device_id = 0
        self.ptr = ptr
        self.size = size


def allocation_of(address: int, nbytes: int) -> Allocation:
    """The live block that holds all of [address, address + nbytes). Raises ValueError."""
    nearest = _by_zone.get(address // guard.ZONE)
    if nearest is not None and nearest.ptr <= address and address + nbytes <= nearest.ptr + nearest.size:
        return nearest
    for allocation in _live.values():
        if allocation.ptr <= address and address + nbytes <= allocation.ptr + allocation.size:
            return allocation
    raise ValueError(f"{nbytes} bytes at {address:#x} are not inside one block of device memory")


class MemoryPointer:
    """An address inside a block. Two pointers are as far apart as their `ptr`."""

    def __init__(self, mem: Allocation, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset
        self.device_id = 0

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def _run(self, task: Callable[[], Any], stream: Stream | None, others: Sequence[Allocation] = ()) -> None:
        stream = stream or get_current_stream()
        stream.flush()
        count_operation()
        if stream.capture is not None:
            stream.capture.add(task, [self.mem, *others])
        else:
            task()

    def _check(self, size: int) -> None:
        if not 0 <= size <= self.mem.ptr + self.mem.size - self.ptr:
            raise ValueError(f"{size} bytes at {self.ptr:#x} are not inside one block of device memory")

    def memset_async(self, value: int, size: int, stream: Stream | None = None) -> None:
        """Fill `size` bytes. Raises ValueError when they leave the block."""
        self._check(size)
        self._run(functools.partial(ctypes.memset, self.ptr, value, size), stream)

    def memset(self, value: int, size: int) -> None:
        """Fill `size` bytes, not through the current stream. Raises RuntimeError inside a capture."""
        refuse_synchronous("MemoryPointer.memset")
        self.memset_async(value, size)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Stream | None = None) -> None:
        """Copy `size` bytes of device memory. Raises ValueError when they leave a block."""
        self._check(size)
        src._check(size)
        self._run(functools.partial(ctypes.memmove, self.ptr, src.ptr, size), stream, [src.mem])

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy `size` bytes of device memory and wait. Raises RuntimeError inside a capture."""
        refuse_synchronous("MemoryPointer.copy_from_device")
        self.copy_from_device_async(src, size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Stream | None = None) -> None:
        """Copy `size` bytes of host memory at the address `mem`. Raises RuntimeError inside a capture."""
        self._check(size)
        refuse_to_device("MemoryPointer.copy_from_host", stream)
        stream = stream or get_current_stream()
        count_operation()
        stream.push(lambda: ctypes.memmove(self.ptr, _address(mem), size))

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy `size` bytes of host memory at the address `mem` and wait. Raises RuntimeError inside a capture."""
        refuse_synchronous("MemoryPointer.copy_from_host")
        self.copy_from_host_async(mem, size)
        get_current_stream().flush()

    def copy_to_host_async(self, mem: Any, size: int, stream: Stream | None = None) -> None:
        """Copy `size` bytes to host memory at the address `mem`. Raises RuntimeError inside a capture."""
        self._check(size)
        refuse_to_host("MemoryPointer.copy_to_host", stream)
        stream = stream or get_current_stream()
        count_operation()
        stream.push(lambda: ctypes.memmove(_address(mem), self.ptr, size))

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy `size` bytes to host memory at the address `mem` and wait. Raises RuntimeError inside a capture."""
        refuse_synchronous("MemoryPointer.copy_to_host")
        self.copy_to_host_async(mem, size)
        get_current_stream().flush()

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy `size` bytes of another pointer, or of host memory."""
        (self.copy_from_device if isinstance(mem, MemoryPointer) else self.copy_from_host)(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Stream | None = None) -> None:
        """Copy `size` bytes of another pointer, or of host memory, in order with the stream."""
        (self.copy_from_device_async if isinstance(mem, MemoryPointer) else self.copy_from_host_async)(mem, size, stream)


def _address(mem: Any) -> int:
    return mem if isinstance(mem, int) else mem.value


def alloc(size: int) -> MemoryPointer:
    """A block from the current allocator."""
    pointer: MemoryPointer = _allocators[-1](size)
    return pointer


def get_default_memory_pool() -> MemoryPool:
    """The pool that is used unless another one is set."""
    return _default_pool


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    """The pool of pinned host memory."""
    return _pinned_pool


def get_allocator() -> Callable[[int], Any]:
    """What gives device memory now."""
    return _allocators[-1]


def set_allocator(allocator: Callable[[int], Any] | None = None) -> None:
    """Take device memory from `allocator`, as a pool's `malloc`; None is the default pool."""
    _allocators[0] = allocator or _default_pool.malloc


@contextlib.contextmanager
def using_allocator(allocator: Callable[[int], Any] | None = None) -> Iterator[None]:
    """Take device memory from `allocator` inside."""
    _allocators.append(allocator or _default_pool.malloc)
    try:
        yield
    finally:
        _allocators.pop()


# ------------------------------------------------------------------------------------------------------ pinned memory
class PinnedMemoryPointer:
    """A block of pinned host memory; supports the buffer protocol through NumPy."""

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size)
        self.size = size
        self.ptr = ctypes.addressof(ctypes.c_char.from_buffer(self._bytes)) if size else 0
        _pinned_ranges[self.ptr] = self

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.ptr, False), "version": 3}


_pinned_ranges: weakref.WeakValueDictionary[int, PinnedMemoryPointer] = weakref.WeakValueDictionary()


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """A block of pinned host memory."""
    return PinnedMemoryPointer(size)


def empty_pinned(shape: int | Sequence[int], dtype: Any = float, order: str = "C") -> np.ndarray:
    """``cupyx.empty_pinned``: an uninitialised NumPy array in pinned memory."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.asarray(alloc_pinned_memory(size)).view(dtype).reshape(shape, order=order)


def is_pinned(array: np.ndarray) -> bool:
    """Whether a NumPy array lies in pinned memory."""
    address = array.ctypes.data
    return any(block.ptr <= address < block.ptr + block.size for block in list(_pinned_ranges.values()))
