"""``cupy.cuda.runtime``: one device, always there."""

from __future__ import annotations

import os
from typing import Any

from ..errors import CUDARuntimeError
from . import lacking
from .streams import streamCaptureModeGlobal as streamCaptureModeGlobal
from .streams import streamCaptureModeRelaxed as streamCaptureModeRelaxed
from .streams import streamCaptureModeThreadLocal as streamCaptureModeThreadLocal
from .streams import synchronize_device

is_hip = False

#: What the simulated device says of itself. Few multiprocessors: grids that are sized by the device stay small.
MULTIPROCESSORS = 4
MEMORY_BYTES = 8 << 30
COMPUTE_CAPABILITY = os.environ.get("LUCID_SIMULATOR_COMPUTE_CAPABILITY", "90")


__getattr__ = lacking.attributes("cupy.cuda.runtime")


def getDeviceCount() -> int:
    """The number of devices."""
    return 1


def getDevice() -> int:
    """The current device."""
    return 0


def setDevice(device: int) -> None:
    """Choose the device. Raises CUDARuntimeError."""
    if device != 0:
        raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")


def deviceSynchronize() -> None:
    """Wait for the device."""
    synchronize_device("deviceSynchronize")


def deviceCanAccessPeer(device: int, peer: int) -> int:
    """Whether a device reads the memory of another one: there is none."""
    setDevice(device)
    setDevice(peer)
    return 0


def profilerStart() -> None:
    """Where a profiler would begin to look; here nothing."""


def profilerStop() -> None:
    """Where it would end."""


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes of memory."""
    return MEMORY_BYTES, MEMORY_BYTES


def runtimeGetVersion() -> int:
    """CUDA's version."""
    return 13000


def driverGetVersion() -> int:
    """The driver's version."""
    return 13000


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Facts about a device."""
    setDevice(device)
    return {
        "name": b"simulated",
        "major": int(COMPUTE_CAPABILITY[:-1]),
        "minor": int(COMPUTE_CAPABILITY[-1]),
        "l2CacheSize": 4 << 20,
        "maxBlocksPerMultiProcessor": 32,
        "maxGridSize": ((1 << 31) - 1, 65535, 65535),
        "maxThreadsDim": (1024, 1024, 64),
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiProcessor": 2048,
        "multiProcessorCount": MULTIPROCESSORS,
        "regsPerBlock": 65536,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlock": 48 << 10,
        "sharedMemPerBlockOptin": 227 << 10,
        "sharedMemPerMultiprocessor": 228 << 10,
        "totalConstMem": 64 << 10,
        "totalGlobalMem": MEMORY_BYTES,
        "warpSize": 32,
    }
