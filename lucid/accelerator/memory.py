"""How much memory of a GPU is in use, by the names of torch.accelerator.memory."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .. import gpu

__all__ = ["empty_cache", "empty_host_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved",
           "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats"]


def require() -> None:
    """Raise RuntimeError without a GPU."""
    if not gpu.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def empty_cache() -> None:
    """`gpu.empty_cache`. Raises RuntimeError without a GPU, as all here.

    >>> lucid.accelerator.empty_cache()
    """
    require()
    gpu.empty_cache()


def empty_host_cache() -> None:
    """Nothing: pinned memory that is free is kept by CuPy.

    >>> lucid.accelerator.empty_host_cache()
    """
    require()


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """`gpu.memory_stats`.

    >>> "allocated_bytes.all.peak" in lucid.accelerator.memory_stats()
    True
    """
    require()
    return OrderedDict(gpu.memory_stats(device_index))


def memory_allocated(device_index: Any = None, /) -> int:
    """`gpu.memory_allocated`.

    >>> lucid.accelerator.memory_allocated() == lucid.gpu.memory_allocated()
    True
    """
    require()
    return gpu.memory_allocated(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """`gpu.max_memory_allocated`.

    >>> lucid.accelerator.max_memory_allocated() == lucid.gpu.max_memory_allocated()
    True
    """
    require()
    return gpu.max_memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """`gpu.memory_reserved`.

    >>> lucid.accelerator.memory_reserved() == lucid.gpu.memory_reserved()
    True
    """
    require()
    return gpu.memory_reserved(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """`gpu.max_memory_reserved`.

    >>> lucid.accelerator.max_memory_reserved() == lucid.gpu.max_memory_reserved()
    True
    """
    require()
    return gpu.max_memory_reserved(device_index)


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """`gpu.reset_accumulated_memory_stats`.

    >>> lucid.accelerator.reset_accumulated_memory_stats()
    """
    require()
    gpu.reset_accumulated_memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """`gpu.reset_peak_memory_stats`.

    >>> lucid.accelerator.reset_peak_memory_stats()
    """
    require()
    gpu.reset_peak_memory_stats(device_index)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """`gpu.mem_get_info`.

    >>> free, total = lucid.accelerator.get_memory_info()
    >>> 0 < free <= total
    True
    """
    require()
    return gpu.mem_get_info(device_index)
