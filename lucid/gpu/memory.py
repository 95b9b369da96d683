"""How much memory of a GPU is in use."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .. import backends
from ..backends.device import Device
from ._device import driver, index_of, is_available
from ._nvml import list_gpu_processes

__all__ = ["caching_allocator_alloc", "caching_allocator_delete", "empty_cache", "get_allocator_backend",
           "get_per_process_memory_fraction", "host_memory_stats", "host_memory_stats_as_nested_dict", "list_gpu_processes",
           "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated",
           "memory_cached", "memory_reserved", "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
           "reset_accumulated_host_memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
           "reset_max_memory_cached", "reset_peak_host_memory_stats", "reset_peak_memory_stats",
           "set_per_process_memory_fraction"]

Result = TypeVar("Result")


def _on(device: Any) -> Any:
    return backends.gpu_module().on(Device("gpu", index_of(device)))


def _pool() -> Any:
    return backends.gpu_module().memory.POOL


def memory_allocated(device: Any = None) -> int:
    """Bytes that arrays on a GPU use, by default the current one; 0 without a GPU.

    Not those of arrays that are free and kept to be used again, up to LUCID_GPU_RING_BYTES, which `max_memory_allocated` counts.

    >>> before = lucid.gpu.memory_allocated()
    >>> x = lucid.zeros(1000, device="gpu")
    >>> lucid.gpu.memory_allocated() - before >= 4000
    True
    """
    if not is_available():
        return 0
    with _on(device):
        return _pool().used_bytes(index_of(device))


def memory_reserved(device: Any = None) -> int:
    """`memory_allocated()` and what is free but kept for the next arrays.

    >>> lucid.gpu.memory_cached() == lucid.gpu.memory_reserved()
    True
    """
    if not is_available():
        return 0
    with _on(device):
        return _pool().pool.total_bytes()


def max_memory_allocated(device: Any = None) -> int:
    """The most that `memory_allocated()` has been since the start, or since `reset_peak_memory_stats()`.

    Counted are arrays of the default allocator, not those of one that was chosen by `cupy.cuda.set_allocator`.

    >>> x = lucid.zeros(1000, device="gpu")
    >>> lucid.gpu.max_memory_allocated() >= lucid.gpu.memory_allocated() >= 4000
    True
    """
    return _pool().allocated[index_of(device)] if is_available() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most that `memory_reserved()` has been since the start, or since `reset_peak_memory_stats()`.

    >>> lucid.gpu.max_memory_cached() >= lucid.gpu.memory_cached()
    True
    """
    return _pool().reserved[index_of(device)] if is_available() else 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let both peaks begin at what is in use now.

    >>> lucid.gpu.reset_max_memory_allocated()
    >>> lucid.gpu.max_memory_allocated() == lucid.gpu.memory_allocated()
    True
    """
    if is_available():
        with _on(device):
            _pool().reset_peaks(index_of(device))


def _renamed(old: str, function: Callable[[Any], Result]) -> Callable[..., Result]:
    """`function` by a name that PyTorch has given up, with a FutureWarning."""
    @functools.wraps(function)
    def warning(device: Any = None) -> Result:
        warnings.warn(f"lucid.gpu.{old} now calls lucid.gpu.{function.__name__}, which is its name.", FutureWarning, stacklevel=2)
        return function(device)

    warning.__name__ = warning.__qualname__ = old
    return warning


reset_max_memory_allocated = _renamed("reset_max_memory_allocated", reset_peak_memory_stats)
reset_max_memory_cached = _renamed("reset_max_memory_cached", reset_peak_memory_stats)
memory_cached = _renamed("memory_cached", memory_reserved)
max_memory_cached = _renamed("max_memory_cached", max_memory_reserved)


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes in use and kept, now and at most, by PyTorch's names; empty without a GPU.

    >>> x = lucid.zeros(1000, device="gpu")
    >>> lucid.gpu.memory_stats()["allocated_bytes.all.current"] >= 4000
    True
    """
    if not is_available():
        return {}
    return {"allocated_bytes.all.current": memory_allocated(device), "allocated_bytes.all.peak": max_memory_allocated(device),
            "reserved_bytes.all.current": memory_reserved(device), "reserved_bytes.all.peak": max_memory_reserved(device)}


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """`memory_stats` with a dictionary for each part of its names.

    >>> sorted(lucid.gpu.memory_stats_as_nested_dict()["allocated_bytes"]["all"])
    ['current', 'peak']
    """
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *above, last = name.split(".")
        inner = nested
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Nothing: `memory_stats` has no counts of what was allocated and freed in all.

    >>> lucid.gpu.reset_accumulated_memory_stats()
    """


def host_memory_stats() -> dict[str, Any]:
    """Empty: CuPy's pool of pinned memory counts nothing.

    >>> lucid.gpu.host_memory_stats()
    {}
    """
    return {}


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Empty, as `host_memory_stats`.

    >>> lucid.gpu.host_memory_stats_as_nested_dict()
    {}
    """
    return {}


def reset_accumulated_host_memory_stats() -> None:
    """Nothing: `host_memory_stats` is empty.

    >>> lucid.gpu.reset_accumulated_host_memory_stats()
    """


def reset_peak_host_memory_stats() -> None:
    """Nothing: `host_memory_stats` is empty.

    >>> lucid.gpu.reset_peak_host_memory_stats()
    """


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let tensors on a GPU take no more than a part of its memory, from 0 to 1: `OutOfMemoryError` beyond it.

    >>> lucid.gpu.set_per_process_memory_fraction(0.5)
    >>> lucid.gpu.get_per_process_memory_fraction()
    0.5
    >>> lucid.gpu.set_per_process_memory_fraction(1.0)
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with _on(device):
        driver().limit(0 if fraction == 1 else max(1, round(fraction * mem_get_info(device)[1])))


def get_per_process_memory_fraction(device: Any = None) -> float:
    """What `set_per_process_memory_fraction` has been called with; 1.0 without it.

    >>> lucid.gpu.get_per_process_memory_fraction()
    1.0
    """
    with _on(device):
        limit = driver().limit()
        return limit / mem_get_info(device)[1] if limit else 1.0


def get_allocator_backend() -> str:
    """Whose memory it is: 'cupy', whose pool keeps what is free, and which other libraries share.

    >>> lucid.gpu.get_allocator_backend()
    'cupy'
    """
    return "cupy"


_blocks: dict[int, Any] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of `size` bytes of the memory that tensors take theirs from, kept until `caching_allocator_delete`. CuPy's
    pool is one for all streams but for what is freed, so `stream` changes nothing.

    >>> address = lucid.gpu.caching_allocator_alloc(1000)
    >>> lucid.gpu.caching_allocator_delete(address)
    """
    with _on(device):
        block = _pool().malloc(size)
    _blocks[block.ptr] = block
    return int(block.ptr)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back what `caching_allocator_alloc` returned. Raises RuntimeError for another address.

    >>> lucid.gpu.caching_allocator_delete(lucid.gpu.caching_allocator_alloc(1000))
    """
    if _blocks.pop(mem_ptr, None) is None:
        raise RuntimeError(f"caching_allocator_delete: {mem_ptr:#x} is not an address of caching_allocator_alloc")


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """`memory_stats` as a table, in MiB. `abbreviated` changes nothing: the table is short.

    >>> x = lucid.zeros(1000, device="gpu")
    >>> type(lucid.gpu.memory_summary()).__name__
    'str'
    """
    stats = memory_stats(device)
    lines = [f"{'':<18}{'now':>16}{'peak':>16}"]
    for kind in ("allocated", "reserved"):
        now, peak = [f"{stats.get(f'{kind}_bytes.all.{when}', 0) / (1 << 20):,.1f} MiB" for when in ("current", "peak")]
        lines.append(f"{kind + ' memory':<18}{now:>16}{peak:>16}")
    return "\n".join(lines)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU, as the driver counts them. Raises RuntimeError without a GPU.

    >>> free, total = lucid.gpu.mem_get_info()
    >>> 0 < free <= total
    True
    """
    return backends.gpu_module().free_and_total(index_of(device))


def empty_cache() -> None:
    """Give the memory that is free but kept back to the driver.

    >>> lucid.gpu.empty_cache()
    >>> lucid.gpu.memory_reserved() >= lucid.gpu.memory_allocated()
    True
    """
    if is_available():
        _pool().empty_cache()
