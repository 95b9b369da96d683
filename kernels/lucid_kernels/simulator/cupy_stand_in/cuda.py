"""``cupy.cuda``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from . import cublas, device, lacking, memory, runtime, simulated_driver
from .device import Device, get_cublas_handle, get_device_id
from .memory import (
    MemoryPointer,
    MemoryPool,
    OutOfMemoryError,
    PinnedMemoryPointer,
    PinnedMemoryPool,
    alloc,
    alloc_pinned_memory,
    get_allocator,
    set_allocator,
    using_allocator,
)
from .streams import Event, Graph, Stream, get_current_stream, get_elapsed_time

nvtx = lacking.module(
    "cupy.cuda.nvtx",
    {
        "Mark": lambda message, id_color=-1: None,
        "RangePop": lambda: None,
        "RangePush": lambda message, id_color=-1: None,
    },
)
__getattr__ = lacking.attributes("cupy.cuda")


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Where a profiler would look; here nothing."""
    yield


def is_available() -> bool:
    """Whether there is a device."""
    return True


__all__ = [
    "Device",
    "Event",
    "Graph",
    "MemoryPointer",
    "MemoryPool",
    "OutOfMemoryError",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    "Stream",
    "alloc",
    "alloc_pinned_memory",
    "cublas",
    "device",
    "get_allocator",
    "get_cublas_handle",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "is_available",
    "memory",
    "nvtx",
    "profile",
    "runtime",
    "set_allocator",
    "simulated_driver",
    "using_allocator",
]
