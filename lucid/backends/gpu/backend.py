"""The GPU backend: op name -> CuPy function or CUDA kernel. Imported on first use; its import needs a usable GPU."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .. import families, gpu_probe
from ..common import (
    complex,
    convolution,
    elementwise,
    fractional_pooling,
    functions,
    interpolation,
    linalg,
    linalg_gradients,
    linear,
    nll_loss,
    pad,
    poisson,
    slices,
    sorting,
    vectors,
    views,
)
from ..common import fft as common_fft
from ..device import Device
from ..memory_format import in_memory_order

_problem = gpu_probe.gpu_problem()
if _problem is not None:
    raise RuntimeError(_problem)
if gpu_probe.simulated():
    from lucid_kernels import simulator

    simulator.install()

import cupy  # noqa: E402
import cupyx  # noqa: E402
from lucid_kernels.cuda.convolution import composed  # noqa: E402
from lucid_kernels.cuda.elementwise import elementwise as cuda_elementwise  # noqa: E402
from lucid_kernels.cuda.matmul import products  # noqa: E402
from lucid_kernels.cuda.runtime import launch  # noqa: E402

from . import memory  # noqa: E402

Array = Any
ndarray = cupy.ndarray
streams = cupy.cuda  # CuPy's Stream, Event, get_current_stream and get_elapsed_time
raise_pending = launch.raise_pending
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_DEVICES = [Device("gpu", index) for index in range(cupy.cuda.runtime.getDeviceCount())]


def _scatter_add(array: Array, index: Any, values: Array) -> None:
    if array.dtype.kind == "c":  # no atomics: the parts, one after the other
        cupyx.scatter_add(array.real, index, values.real)
        cupyx.scatter_add(array.imag, index, values.imag)
    elif array.dtype == np.int64:  # no atomics, but two's complement adds like unsigned
        cupyx.scatter_add(array.view(np.uint64), index, values.view(np.uint64))
    elif array.dtype.itemsize < 4:
        wide = array.astype(np.int32)
        cupyx.scatter_add(wide, index, values.astype(np.int32))
        array[...] = wide.astype(array.dtype)
    else:
        cupyx.scatter_add(array, index, values)


def _where(condition: Array, a: Any, b: Any) -> Array:
    """CuPy's `where`, whose result for bfloat16 would be float32: their bits are chosen instead."""
    dtypes = {value.dtype for value in (a, b) if hasattr(value, "dtype")}
    if dtypes != {_BFLOAT16}:
        return cupy.where(condition, a, b)
    a, b = (cupy.asarray(value, _BFLOAT16).view(np.uint16) for value in (a, b))
    return cupy.where(condition, a, b).view(_BFLOAT16)


TABLE: dict[str, Callable[..., Any]] = functions.table(cupy, _scatter_add, products.matmul) | {"where": _where}
TABLE |= vectors.table(cupy, TABLE, _scatter_add) | views.table(cupy) | sorting.table(cupy)
TABLE |= common_fft.table(cupy, TABLE) | complex.table(cupy, TABLE)
TABLE |= linalg.table(cupy, lambda: cupyx.errstate(linalg="raise"))  # CuPy says nothing of singular matrices by itself
TABLE |= linalg_gradients.table(cupy, TABLE)
TABLE |= elementwise.table(cupy) | fractional_pooling.table(cupy)
families.kernels("lucid_kernels.cuda", TABLE)
# CuPy's round a quotient down: infinite divisors and large quotients give something else. And its roots are powers.
TABLE |= {name: getattr(cuda_elementwise, name) for name in ("floor_divide", "remainder", "power")}
TABLE |= poisson.table(cupy, TABLE["gammaincc"])
TABLE |= composed.table(convolution.table(cupy, TABLE, 1 << 28, cupy.copyto))
TABLE |= interpolation.table(cupy, TABLE)
TABLE |= pad.table(cupy, cupy.empty, cupy.copyto) | slices.table(cupy.empty, cupy.ndarray.fill, cupy.copyto, operator.iadd)
TABLE |= linear.table(cupy, TABLE) | nll_loss.table(cupy, TABLE)


def on(device: Device) -> Any:
    """Context in which new arrays are made on `device`. Raises RuntimeError if there is no such GPU."""
    if device.index is None or device.index >= len(_DEVICES):
        raise RuntimeError(f"device {device} does not exist: this machine has {len(_DEVICES)} GPU(s)")
    return cupy.cuda.Device(device.index)


def device_of(array: Array) -> Device:
    """The GPU that holds `array`."""
    return _DEVICES[array.device.id]


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
