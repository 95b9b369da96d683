"""The GPUs, by the names of torch.cuda. `lucid.cuda` is the same module.

`_device`: which GPUs there are, and which is the current one.
`_streams`: streams and events.
`_memory`: how much memory is in use.
`_random`: seeds.
`_graphs`: work that is captured once and replayed.
`amp`: PyTorch's older names of mixed precision.
"""
from __future__ import annotations

import importlib
from typing import Any

from .. import backends
from ..backends.memory import OutOfMemoryError
from ._device import (
    current_device,
    device,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    is_bf16_supported,
    is_simulated,
    set_device,
    synchronize,
    why_unavailable,
)
from ._graphs import CUDAGraph, graph, graph_pool_handle, make_graphed_callables
from ._memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from ._random import (
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
from ._streams import (
    Event,
    Stream,
    current_stream,
    default_stream,
    is_current_stream_capturing,
    set_stream,
    stream,
)

__all__ = ["CUDAGraph", "Event", "OutOfMemoryError", "Stream", "current_device", "current_stream", "default_stream", "device",
           "device_count", "empty_cache", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
           "get_rng_state_all", "graph", "graph_pool_handle", "init", "initial_seed", "is_available", "is_bf16_supported",
           "is_current_stream_capturing", "is_initialized", "is_simulated", "make_graphed_callables", "manual_seed",
           "manual_seed_all", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
           "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
           "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
           "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize", "why_unavailable"]


def init() -> None:
    """Import the GPU backend, which the first array on a GPU does otherwise. Raises RuntimeError without a GPU."""
    backends.gpu_module()


def is_initialized() -> bool:
    """Whether the GPU backend has been imported."""
    return backends.gpu_is_used()


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor") and name != "Tensor":  # the types of tensors on a GPU, as `lucid.gpu.FloatTensor`
        from ..ops.creation.types import tensor_types

        globals().update(tensor_types("gpu"))
        if name in globals():
            return globals()[name]
    if name == "amp":  # imported when it is first asked for
        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
