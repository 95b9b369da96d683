"""`torch.accelerator`: the GPU under names that fit any accelerator. `lucid.gpu` has more.

`memory`: how much memory is in use.
`events`: events on streams.
`graphs`: captured graphs.

>>> device = lucid.accelerator.current_accelerator() if lucid.accelerator.is_available() else lucid.device("cpu")
>>> (lucid.ones(3, device=device) * 2).tolist()
[2.0, 2.0, 2.0]
"""
from __future__ import annotations

from typing import Any

from .. import gpu
from ..backends.device import Device
from .graphs import Graph
from .memory import (
    empty_cache,
    empty_host_cache,
    get_memory_info,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    require,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)

__all__ = ["Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
           "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
           "synchronize"]


def is_available() -> bool:
    """Whether there is a GPU.

    >>> lucid.accelerator.is_available()
    True
    """
    return gpu.is_available()


def device_count() -> int:
    """The number of GPUs.

    >>> lucid.accelerator.device_count() >= 1
    True
    """
    return gpu.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The current GPU as a device; None without one, whatever `check_available`.

    >>> lucid.accelerator.current_accelerator().type
    'gpu'
    """
    return Device("gpu") if gpu.is_available() else None


def current_device_index() -> int:
    """The number of the current GPU. Raises RuntimeError without one.

    >>> lucid.accelerator.current_device_index()
    0
    """
    require()
    return gpu.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any, /) -> None:
    """Make a GPU, given by its number or name, the current one.

    >>> lucid.accelerator.set_device_index(0)
    """
    require()
    gpu.set_device(device)


set_device_idx = set_device_index


class device_index:
    """The context in which the GPU of a number is the current one; None changes nothing.

    >>> with lucid.accelerator.device_index(0):
    ...     print(lucid.accelerator.current_device_index())
    0
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._inside: list[Any] = []

    def __enter__(self) -> None:
        context = gpu.device(self.idx)
        context.__enter__()
        self._inside.append(context)

    def __exit__(self, *error: Any) -> None:
        self._inside.pop().__exit__(*error)


def current_stream(device: Any = None, /) -> gpu.Stream:
    """`gpu.current_stream`. Raises RuntimeError without a GPU.

    >>> lucid.accelerator.current_stream() == lucid.gpu.current_stream()
    True
    """
    require()
    return gpu.current_stream(device)


def set_stream(stream: gpu.Stream) -> None:
    """`gpu.set_stream`.

    >>> lucid.accelerator.set_stream(lucid.accelerator.current_stream())
    """
    require()
    gpu.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait for all work of a GPU, by default the current one. Raises RuntimeError without a GPU.

    >>> lucid.accelerator.synchronize()
    """
    require()
    gpu.synchronize(device)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """The dtypes that tensors on a GPU may have, in the set ``["supported_dtypes"]``. Raises RuntimeError without a GPU.

    >>> lucid.float32 in lucid.accelerator.get_device_capability()["supported_dtypes"]
    True
    """
    require()
    gpu.get_device_properties(device)
    from .._dtypes import ALL

    return {"supported_dtypes": set(ALL)}
