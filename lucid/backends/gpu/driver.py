"""What the CUDA driver and its tools are asked for beside arrays: ranges for profilers, handles, peers, limits of memory."""
from __future__ import annotations

import cupy

from .memory import POOL


def range_push(message: str) -> None:
    """Begin a range that NVIDIA's tools show."""
    cupy.cuda.nvtx.RangePush(message)


def range_pop() -> None:
    """End the innermost range."""
    cupy.cuda.nvtx.RangePop()


def mark(message: str) -> None:
    """A moment that NVIDIA's tools show."""
    cupy.cuda.nvtx.Mark(message)


def profiler_start() -> None:
    """Let NVIDIA's profilers begin to collect."""
    cupy.cuda.runtime.profilerStart()


def profiler_stop() -> None:
    """Let them end."""
    cupy.cuda.runtime.profilerStop()


def can_access_peer(index: int, peer: int) -> bool:
    """Whether GPU `index` reads the memory of GPU `peer`."""
    return bool(cupy.cuda.runtime.deviceCanAccessPeer(index, peer))


def cublas_handle() -> int:
    """The handle of cuBLAS of the current GPU."""
    return int(cupy.cuda.device.get_cublas_handle())


def cusolver_handle() -> int:
    """The handle of cuSOLVER of the current GPU."""
    return int(cupy.cuda.device.get_cusolver_handle())


def limit(size: int | None = None) -> int:
    """The most bytes that the pool of the current GPU may hold, 0 for all; set to `size` where that is given."""
    if size is not None:
        POOL.pool.set_limit(size=size)
    return int(POOL.pool.get_limit())


def runtime_version() -> int:
    """The version of CUDA's runtime, as 13000."""
    return int(cupy.cuda.runtime.runtimeGetVersion())


def external_stream(pointer: int) -> cupy.cuda.Stream:
    """A stream of another library on the current GPU, by its address."""
    return cupy.cuda.ExternalStream(pointer)
