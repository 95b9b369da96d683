"""How much memory of a GPU is in use."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import backends
from ..backends.device import Device
from ._device import index_of, is_available


def _on(device: Any) -> Any:
    return backends.gpu_module().on(Device("gpu", index_of(device)))


def _pool() -> Any:
    return backends.gpu_module().memory.POOL


def memory_allocated(device: Any = None) -> int:
    """Bytes that arrays on a GPU use, by default the current one; 0 without a GPU.

    Not those of small arrays that are free and kept to be used again, up to LUCID_GPU_RING_BYTES, which `max_memory_allocated`
    counts.
    """
    if not is_available():
        return 0
    with _on(device):
        return _pool().used_bytes(index_of(device))


def memory_reserved(device: Any = None) -> int:
    """`memory_allocated()` and what is free but kept for the next arrays."""
    if not is_available():
        return 0
    with _on(device):
        return _pool().pool.total_bytes()


def max_memory_allocated(device: Any = None) -> int:
    """The most that `memory_allocated()` has been since the start, or since `reset_peak_memory_stats()`.

    Counted are arrays of the default allocator, not those of one that was chosen by `cupy.cuda.set_allocator`.
    """
    return _pool().allocated[index_of(device)] if is_available() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most that `memory_reserved()` has been since the start, or since `reset_peak_memory_stats()`."""
    return _pool().reserved[index_of(device)] if is_available() else 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let both peaks begin at what is in use now."""
    if is_available():
        with _on(device):
            _pool().reset_peaks(index_of(device))


def _renamed(old: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` by a name that PyTorch has given up, with a FutureWarning."""
    @functools.wraps(function)
    def warning(device: Any = None) -> Any:
        warnings.warn(f"lucid.gpu.{old} now calls lucid.gpu.{function.__name__}, which is its name.", FutureWarning, stacklevel=2)
        return function(device)

    warning.__name__ = warning.__qualname__ = old
    return warning


reset_max_memory_allocated = _renamed("reset_max_memory_allocated", reset_peak_memory_stats)
reset_max_memory_cached = _renamed("reset_max_memory_cached", reset_peak_memory_stats)
memory_cached = _renamed("memory_cached", memory_reserved)
max_memory_cached = _renamed("max_memory_cached", max_memory_reserved)


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes in use and kept, now and at most, by PyTorch's names; empty without a GPU."""
    if not is_available():
        return {}
    return {"allocated_bytes.all.current": memory_allocated(device), "allocated_bytes.all.peak": max_memory_allocated(device),
            "reserved_bytes.all.current": memory_reserved(device), "reserved_bytes.all.peak": max_memory_reserved(device)}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """`memory_stats` as a table, in MiB. `abbreviated` changes nothing: the table is short."""
    stats = memory_stats(device)
    lines = [f"{'':<18}{'now':>16}{'peak':>16}"]
    for kind in ("allocated", "reserved"):
        now, peak = [f"{stats.get(f'{kind}_bytes.all.{when}', 0) / (1 << 20):,.1f} MiB" for when in ("current", "peak")]
        lines.append(f"{kind + ' memory':<18}{now:>16}{peak:>16}")
    return "\n".join(lines)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU, as the driver counts them. Raises RuntimeError without a GPU."""
    return backends.gpu_module().free_and_total(index_of(device))


def empty_cache() -> None:
    """Give the memory that is free but kept back to the driver."""
    if is_available():
        _pool().empty_cache()
