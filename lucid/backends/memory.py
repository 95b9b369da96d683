"""The memory of the CPU: how much is in use, how much is kept for the next arrays, and a limit for that.

There is no pool of our own. Arrays are malloc's, and on Linux with the GNU C library importing lucid tells it to keep freed ones
(`lucid_kernels.cpu._memory`), since the page faults of new memory take longer than the kernels that fill it. The numbers are
malloc's, so of the whole process. Other C libraries do not tell them: NotImplementedError. `lucid.gpu` has those of GPUs.
"""
from __future__ import annotations

import resource
import sys

from lucid_kernels.cpu import _memory

__all__ = ["empty_cache", "max_memory_resident", "memory_allocated", "memory_reserved", "set_limit"]


def _statistics() -> tuple[int, int]:
    found = _memory.statistics()
    if found is None:
        raise NotImplementedError("this system's C library does not say how much memory it has allocated; the GNU C library 2.33 "
                                  "and newer do")
    return found


def memory_allocated() -> int:
    """Bytes that the process has allocated and not freed: arrays, and everything else that comes from malloc."""
    return _statistics()[0]


def memory_reserved() -> int:
    """`memory_allocated()` and the bytes that are free but kept for the next arrays."""
    used, kept = _statistics()
    return used + kept


def max_memory_resident() -> int:
    """The most bytes of real memory that the process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def empty_cache() -> None:
    """Give the memory that is free but kept back to the system, where the C library can."""
    _memory.trim()


def set_limit(size: int) -> None:
    """Keep at most `size` bytes of freed memory at the top of the heap (before: 256 MiB).

    Free memory below an array that lives is kept beyond that. Raises ValueError for a negative size, and NotImplementedError
    where the C library cannot be told.
    """
    if size < 0:
        raise ValueError(f"set_limit: the limit must not be negative, got {size}")
    if not _memory.set_most_kept(size):
        raise NotImplementedError("this system's C library cannot be told how much memory to keep")
