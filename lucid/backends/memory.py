"""The memory of the CPU: how much large arrays use, how much is kept for the next ones, and a limit for that.

Arrays of two mebibytes and more that our kernels make come from a pool (`lucid_kernels.cpu.runtime.allocator`), which the
names of `torch.cuda` describe here: `memory_allocated`, `memory_reserved`, their peaks and `memory_stats`. Smaller arrays and
those that NumPy makes are malloc's; on Linux with the GNU C library importing lucid tells it to keep freed ones
(`lucid_kernels.cpu.runtime.malloc`), and `memory_stats` has its counts, which are of the whole process. New memory costs page
faults, which take longer than the kernels that fill it. `lucid.gpu` has the statistics of GPUs.
"""
from __future__ import annotations

import sys
from typing import Any

from lucid_kernels.cpu.runtime import malloc
from lucid_kernels.cpu.runtime.allocator import POOL

__all__ = ["OutOfMemoryError", "empty_cache", "max_memory_allocated", "max_memory_reserved", "max_memory_resident",
           "memory_allocated", "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_limit"]


class OutOfMemoryError(MemoryError, RuntimeError):
    """A GPU has no memory for an array, although what was free but kept was given back and the call tried again.

    >>> issubclass(lucid.gpu.OutOfMemoryError, RuntimeError)
    True
    """


def memory_allocated() -> int:
    """Bytes of the pool that arrays have, in multiples of 64 KiB."""
    return POOL.count().allocated


def memory_reserved() -> int:
    """`memory_allocated()` and the bytes that are free but kept for the next arrays."""
    return POOL.count().reserved


def max_memory_allocated() -> int:
    """The most that `memory_allocated()` has been since the start, or since `reset_peak_memory_stats()`."""
    return POOL.count().max_allocated


def max_memory_reserved() -> int:
    """The most that `memory_reserved()` has been since the start, or since `reset_peak_memory_stats()`."""
    return POOL.count().max_reserved


def reset_peak_memory_stats() -> None:
    """Let both peaks begin at what is in use now."""
    POOL.reset_peaks()


def memory_stats() -> dict[str, int]:
    """All counts: of bytes, current and peak, as `torch.cuda.memory_stats` names them; of requests that got memory in the pool
    (``hits``) and of those that took new memory (``misses``); and, where the C library tells them, of malloc's bytes in use and
    free but kept, for the whole process.
    """
    now = POOL.count()
    counts = {"allocated_bytes.all.current": now.allocated, "allocated_bytes.all.peak": now.max_allocated,
              "reserved_bytes.all.current": now.reserved, "reserved_bytes.all.peak": now.max_reserved,
              "hits": now.hits, "misses": now.misses}
    found = malloc.statistics()
    if found is not None:
        counts |= {"malloc.allocated_bytes": found[0], "malloc.free_bytes": found[1]}
    return counts


def max_memory_resident() -> int:
    """The most bytes of real memory that the process has had so far."""
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def empty_cache() -> None:
    """Give the memory that is free but kept back to the system: that of the pool, and malloc's where it can."""
    POOL.empty_cache()
    malloc.trim()


def set_limit(size: int) -> None:
    """Keep at most `size` bytes of freed memory in the pool; before, what LUCID_MEMORY_LIMIT says, else a quarter of the memory.

    The GNU C library's malloc then keeps as much at the top of its heap, but never more than 256 MiB. Raises ValueError for a
    negative size.
    """
    if size < 0:
        raise ValueError(f"set_limit: the limit must not be negative, got {size}")
    POOL.set_limit(size)
    malloc.set_most_kept(min(size, malloc.MOST_KEPT))


def run_again(name: str, kernel: Any, arrays: Any, attributes: dict[str, Any], error: MemoryError) -> Any:
    """Run a kernel that had no memory once more, after `empty_cache`; not if it writes into `out`, which may have changed.

    Raises MemoryError that names the operation and the request, `OutOfMemoryError` on a GPU: CuPy has tried again there.
    """
    on_gpu = any(getattr(a, "__cuda_array_interface__", None) is not None for a in arrays)
    if not on_gpu and attributes.get("out") is None and not name.startswith("multi_tensor"):
        empty_cache()
        try:
            return kernel(*arrays, **attributes)
        except MemoryError as again:
            error = again
    shapes = ", ".join(f"{list(a.shape)} {a.dtype}" if hasattr(a, "shape") else str(a) for a in arrays)
    if on_gpu:
        raise out_of_memory(f"{name} of {shapes}", error) from error
    raise MemoryError(f"{name} of {shapes}: {error}") from error


def out_of_memory(what: str, error: MemoryError) -> MemoryError:
    """The error for `what`, for which a GPU has no memory; CuPy's says how many bytes it requested and how many are in use."""
    return OutOfMemoryError(f"{what}: {error}")
