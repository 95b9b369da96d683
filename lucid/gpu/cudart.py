"""The functions of CUDA's runtime that programs call by `torch.cuda.cudart()`."""
from __future__ import annotations

from .. import backends
from ._device import driver
from .memory import mem_get_info

__all__ = ["CudaError", "check_error", "cudaStatus", "cudart"]


class cudaStatus:
    """The numbers that CUDA's functions return: `SUCCESS`, `ERROR_NOT_READY`.

    >>> lucid.gpu.cudaStatus.SUCCESS
    0
    """

    SUCCESS = 0
    ERROR_NOT_READY = 34


class CudaError(RuntimeError):
    """A function of CUDA's failed.

    >>> print(lucid.gpu.CudaError(2))
    CUDA error (2)
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code})")
        self.code = code


def check_error(res: int) -> None:
    """Raise CudaError unless a function of CUDA's returned 0.

    >>> lucid.gpu.check_error(lucid.gpu.cudart().cudaProfilerStop())
    """
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


class _Runtime:
    """What `cudart` returns; errors are raised, so what returns a number returns 0."""

    @staticmethod
    def cudaProfilerStart() -> int:
        """Let NVIDIA's profilers begin to collect."""
        driver().profiler_start()
        return cudaStatus.SUCCESS

    @staticmethod
    def cudaProfilerStop() -> int:
        """Let them end."""
        driver().profiler_stop()
        return cudaStatus.SUCCESS

    cudaMemGetInfo = staticmethod(mem_get_info)


def cudart() -> _Runtime:
    """CUDA's runtime: `cudaProfilerStart`, `cudaProfilerStop` and `cudaMemGetInfo`. Raises RuntimeError without a GPU.

    >>> free, total = lucid.gpu.cudart().cudaMemGetInfo()
    >>> 0 < free <= total
    True
    """
    backends.gpu_module()
    return _Runtime()
