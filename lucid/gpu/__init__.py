"""The GPUs, by the names of torch.cuda. `lucid.cuda` is the same module.

`_device`: which GPUs there are, and which is the current one.
`streams`: streams and events.
`memory`: how much memory is in use.
`random`: seeds.
`graphs`: CUDA graphs: work that is captured once and replayed.
`comm`: tensors to several GPUs and back.
`cudart`: functions of CUDA's runtime.
`nvtx`, `profiler`: marks and ranges for NVIDIA's profilers.
`_nvml`: temperature, power and clocks by NVIDIA's management library.
`amp`: PyTorch's older names of mixed precision.

>>> device = "gpu" if lucid.gpu.is_available() else "cpu"
>>> (lucid.ones(3, device=device) * 2).tolist()
[2.0, 2.0, 2.0]
"""
from __future__ import annotations

import importlib
from typing import Any

from .. import backends
from .._random import default_generator
from ..backends.memory import OutOfMemoryError
from . import memory as memory
from . import random as random
from . import streams as streams
from ._device import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_gencode_flags,
    is_available,
    is_bf16_supported,
    is_simulated,
    is_tf32_supported,
    set_device,
    synchronize,
    why_unavailable,
)
from ._nvml import clock_rate, device_memory_used, memory_usage, power_draw, temperature, utilization
from .cudart import CudaError, check_error, cudart, cudaStatus
from .graphs import CUDAGraph, graph, graph_pool_handle, make_graphed_callables
from .memory import (
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_blas_handle,
    current_solver_handle,
    current_stream,
    default_stream,
    get_stream_from_external,
    get_sync_debug_mode,
    ipc_collect,
    is_current_stream_capturing,
    set_stream,
    set_sync_debug_mode,
    stream,
)

__all__ = ["CUDAGraph", "CudaError", "Event", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext",
           "caching_allocator_alloc", "caching_allocator_delete", "can_device_access_peer", "check_error", "clock_rate",
           "cudaStatus", "cudart", "current_blas_handle", "current_device", "current_solver_handle", "current_stream",
           "default_stream", "device", "device_count", "device_memory_used", "device_of", "empty_cache",
           "get_allocator_backend", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
           "get_gencode_flags", "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all",
           "get_stream_from_external", "get_sync_debug_mode", "graph", "graph_pool_handle", "host_memory_stats",
           "host_memory_stats_as_nested_dict", "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported",
           "is_current_stream_capturing", "is_initialized", "is_simulated", "is_tf32_supported", "list_gpu_processes",
           "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
           "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
           "memory_stats_as_nested_dict", "memory_summary", "memory_usage", "power_draw", "reset_accumulated_host_memory_stats",
           "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
           "reset_peak_host_memory_stats", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
           "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "set_sync_debug_mode",
           "stream", "synchronize", "temperature", "utilization", "why_unavailable"]

has_half, has_magma = True, False


def init() -> None:
    """Import the GPU backend, which the first array on a GPU does otherwise. Raises RuntimeError without a GPU.

    >>> lucid.gpu.init()
    >>> lucid.gpu.is_initialized()
    True
    """
    backends.gpu_module()


def is_initialized() -> bool:
    """Whether the GPU backend has been imported.

    >>> x = lucid.ones(1, device="gpu")
    >>> lucid.gpu.is_initialized()
    True
    """
    return backends.gpu_is_used()


_LAZY = ("amp", "comm", "nvtx", "profiler")  # imported when they are first asked for


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor") and name != "Tensor":  # the types of tensors on a GPU, as `lucid.gpu.FloatTensor`
        from ..ops.creation.types import tensor_types

        globals().update(tensor_types("gpu"))
        if name in globals():
            return globals()[name]
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "default_generators":
        return (default_generator,) * device_count()
    if name == "_initialized":
        return is_initialized()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
