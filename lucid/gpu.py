"""The GPUs: whether there are any, and waiting for them. `lucid.cuda` is the same module."""
from __future__ import annotations

from typing import Any

from . import backends
from .backends.gpu_probe import gpu_problem, simulated

__all__ = ["device_count", "empty_cache", "is_available", "is_simulated", "memory_allocated", "memory_reserved", "synchronize",
           "why_unavailable"]


def is_available() -> bool:
    """Whether the device 'gpu' can be used: CuPy with a CUDA device, or the simulator (LUCID_GPU=simulated)."""
    return backends.available()


def is_simulated() -> bool:
    """Whether 'gpu' is the simulator, chosen by LUCID_GPU=simulated."""
    return simulated()


def why_unavailable() -> str | None:
    """What is missing and what to install, or None when 'gpu' can be used."""
    return gpu_problem()


def device_count() -> int:
    """The number of GPUs; 0 when 'gpu' cannot be used."""
    return backends.gpu_module().device_count() if is_available() else 0


def synchronize() -> None:
    """Wait for all GPU work issued so far. Raises the index errors that kernels found on the way."""
    backends.synchronize()


def memory_allocated() -> int:
    """Bytes that arrays on the current GPU use; 0 before the first one."""
    return backends.gpu_module().memory_pool().used_bytes() if is_available() else 0


def memory_reserved() -> int:
    """`memory_allocated()` and what is free but kept for the next arrays."""
    return backends.gpu_module().memory_pool().total_bytes() if is_available() else 0


def empty_cache() -> None:
    """Give the memory that is free but kept back to the driver."""
    if is_available():
        backends.gpu_module().memory_pool().free_all_blocks()


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor") and name != "Tensor":  # the types of tensors on a GPU, as `lucid.gpu.FloatTensor`
        from .ops.creation.types import tensor_types

        globals().update(tensor_types("gpu"))
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
