"""The GPU backend: op name -> CuPy function or CUDA kernel. Imported on first use; its import needs a usable GPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import families, gpu_probe
from ..common import attention, complex, interpolation, linalg_gradients, vectors
from ..device import Device
from ..memory_format import in_memory_order
from ..merge import merge

_problem = gpu_probe.gpu_problem()
if _problem is not None:
    raise RuntimeError(_problem)
if gpu_probe.simulated():
    from lucid_kernels import simulator

    simulator.install()

import cupy  # noqa: E402
from lucid_kernels.cuda import multi_tensor  # noqa: E402
from lucid_kernels.cuda.attention.attention import with_dropout  # noqa: E402
from lucid_kernels.cuda.runtime import launch  # noqa: E402

from . import (  # noqa: E402
    convolution,
    elementwise,
    fft,
    fractional_pooling,
    graphs,
    indexing,
    linalg,
    linear,
    manipulation,
    memory,
    planning,
    poisson,
    reductions,
    sorting,
)

Array = Any
NAME = "gpu"
ndarray = cupy.ndarray
streams = cupy.cuda  # CuPy's Stream, Event, get_current_stream and get_elapsed_time
raise_pending = launch.raise_pending
kept_numbers = multi_tensor.Numbers
Graph, Draws, make_graph_pool, prepare_capture = graphs.Graph, graphs.Draws, graphs.Pool, graphs.prepare
Static, copy_into, own_copy = graphs.Static, graphs.copy_into, graphs.own_copy
_DEVICES = [Device("gpu", index) for index in range(cupy.cuda.runtime.getDeviceCount())]

TABLE: dict[str, Callable[..., Any]] = {}
families.kernels("lucid_kernels.cuda", TABLE, planning.planned)
families.kernels("lucid_kernels.cuda", TABLE, planning.planned, families.OF_GPU)
TABLE.update(merge(
    TABLE, elementwise.table(TABLE), manipulation.TABLE, indexing.TABLE, sorting.TABLE, reductions.table(),
    linalg.TABLE, fractional_pooling.TABLE))
# What is made of other operations.
TABLE.update(merge(
    TABLE, poisson.table(TABLE), complex.table(cupy, TABLE), fft.table(TABLE),
    planning.all_planned(linear.table(TABLE["matmul"])),
    planning.all_planned(linear.activated(TABLE)),
    vectors.table(cupy, TABLE, indexing.scatter_add),
    linalg_gradients.table(cupy, TABLE), planning.all_planned(convolution.table(TABLE)),
    with_dropout(attention.table(cupy, TABLE)), interpolation.table(cupy, TABLE, interpolation.planes_by_taps(cupy)),
    {"multi_tensor_step": multi_tensor.step}))


def on(device: Device) -> Any:
    """Context in which new arrays are made on `device`. Raises RuntimeError if there is no such GPU."""
    if device.index is None or device.index >= len(_DEVICES):
        raise RuntimeError(f"device {device} does not exist: this machine has {len(_DEVICES)} GPU(s)")
    return cupy.cuda.Device(device.index)


def device_of(array: Array) -> Device:
    """The GPU that holds `array`."""
    return _DEVICES[array.data.device_id]


def from_host(array: np.ndarray, device: Device, non_blocking: bool = False) -> Array:
    """A copy of a NumPy array on `device`; with `non_blocking` the host does not wait for that of pinned memory."""
    with on(device):
        if non_blocking and array.size and memory.is_pinned(array):
            return in_memory_order(array, memory.copy_later)
        return in_memory_order(array, cupy.asarray)


def to_host(array: Array) -> np.ndarray:
    """A NumPy copy of `array`; waits for the device and raises its pending index errors."""
    result = in_memory_order(array, lambda ordered: ordered.get())  # CuPy's order is row-major
    launch.raise_pending()
    return result


def to_device(array: Array, device: Device, copy: bool) -> Array:
    """`array` on another GPU, or a copy on the same one."""
    if device_of(array) == device and not copy:
        return array
    with on(device):
        return in_memory_order(array, cupy.array)


def synchronize() -> None:
    """Wait for the current device and raise its pending index errors."""
    cupy.cuda.Device().synchronize()
    launch.raise_pending()


def as_array(data: object) -> Array:
    """An array on the GPU memory that `data` exposes by `__cuda_array_interface__`; no copy."""
    return cupy.asarray(data)


def from_dlpack(data: object) -> Array:
    """An array on the GPU memory that `data` exposes by `__dlpack__`; no copy."""
    return cupy.from_dlpack(data)


def device_count() -> int:
    """The number of GPUs."""
    return len(_DEVICES)


def use(index: int) -> None:
    """Make GPU `index` the current one of CuPy's in this thread."""
    cupy.cuda.Device(index).use()


def properties(index: int) -> dict[str, Any]:
    """What CUDA says of GPU `index`."""
    found: dict[str, Any] = cupy.cuda.runtime.getDeviceProperties(index)
    return found


def free_and_total(index: int) -> tuple[int, int]:
    """Free and total bytes of GPU `index`."""
    free, total = cupy.cuda.Device(index).mem_info
    return free, total
