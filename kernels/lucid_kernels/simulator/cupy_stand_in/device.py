"""``cupy.cuda.device``."""

from __future__ import annotations

from typing import Any, ClassVar

from . import runtime
from .streams import synchronize_device


class Device:
    """The one simulated device; a context manager, as CuPy's."""

    attributes: ClassVar[dict[str, int]] = {
        "AsyncEngineCount": 1,
        "ComputeCapabilityMajor": int(runtime.COMPUTE_CAPABILITY[:-1]),
        "ComputeCapabilityMinor": int(runtime.COMPUTE_CAPABILITY[-1]),
        "ConcurrentKernels": 1,
        "CooperativeLaunch": 0,
        "ManagedMemory": 0,
        "MaxBlockDimX": 1024,
        "MaxBlockDimY": 1024,
        "MaxBlockDimZ": 64,
        "MaxBlocksPerMultiprocessor": 32,
        "MaxGridDimX": (1 << 31) - 1,
        "MaxGridDimY": 65535,
        "MaxGridDimZ": 65535,
        "MaxRegistersPerBlock": 65536,
        "MaxRegistersPerMultiprocessor": 65536,
        "MaxSharedMemoryPerBlock": 48 << 10,
        "MaxSharedMemoryPerBlockOptin": 227 << 10,
        "MaxSharedMemoryPerMultiprocessor": 228 << 10,
        "MaxThreadsPerBlock": 1024,
        "MaxThreadsPerMultiProcessor": 2048,
        "MultiProcessorCount": runtime.MULTIPROCESSORS,
        "ReservedSharedMemoryPerBlock": 1 << 10,
        "TotalConstantMemory": 64 << 10,
        "UnifiedAddressing": 1,
        "WarpSize": 32,
    }
    compute_capability = runtime.COMPUTE_CAPABILITY

    def __init__(self, device: Any = None) -> None:
        self.id: int = device.id if isinstance(device, Device) else device or 0
        runtime.setDevice(self.id)

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of memory."""
        return runtime.memGetInfo()

    @property
    def pci_bus_id(self) -> str:
        """A made-up address."""
        return "0000:00:00.0"

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def use(self) -> None:
        """Make this the current device."""

    def synchronize(self) -> None:
        """Wait for the device."""
        synchronize_device("Device.synchronize")

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    __hash__ = None  # type: ignore[assignment]  # CuPy's has none either

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def get_compute_capability() -> str:
    """The compute capability, as '90'."""
    return runtime.COMPUTE_CAPABILITY


def get_cublas_handle() -> int:
    """The handle that cuBLAS's functions take."""
    return 1


def get_device_id() -> int:
    """The current device."""
    return 0
