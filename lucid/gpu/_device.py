"""Which GPUs there are, which is the current one, and what they are."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import backends
from ..backends.device import Device, current_gpu, set_current_gpu
from ..backends.gpu_probe import gpu_problem, simulated


def is_available() -> bool:
    """Whether the device 'gpu' can be used: CuPy with a CUDA device, or the simulator (LUCID_GPU=simulated).

    >>> lucid.gpu.is_available()
    True
    """
    return backends.available()


def is_simulated() -> bool:
    """Whether 'gpu' is the simulator, asked for by LUCID_GPU=simulated.

    >>> lucid.gpu.is_simulated() in (True, False)
    True
    """
    return simulated()


def why_unavailable() -> str | None:
    """What is missing and what to install, or None when 'gpu' can be used.

    >>> lucid.gpu.why_unavailable() is None
    True
    """
    return gpu_problem()


def device_count() -> int:
    """The number of GPUs; 0 when 'gpu' cannot be used.

    >>> lucid.gpu.device_count() >= 1
    True
    """
    return backends.gpu_module().device_count() if is_available() else 0


def driver() -> Any:
    """What the driver and its tools are asked for. Raises RuntimeError without a GPU."""
    backends.gpu_module()
    from ..backends.gpu import driver

    return driver


def index_of(device: Any) -> int:
    """The number of a GPU given as a number, a name, a `lucid.device` or None, the current one.

    Raises ValueError for a device that is no GPU, RuntimeError where there is no GPU of that number.
    """
    if device is None:
        index = current_gpu()
    elif isinstance(device, int):
        index = device
    else:
        device = Device(device)
        if device.type != "gpu":
            raise ValueError(f"Expected a gpu device, but got: {device}")
        index = device.index or 0
    with backends.gpu_module().on(Device("gpu", index)):  # raises where there is none
        return index


def current_device() -> int:
    """The number of the current GPU: that of ``device='gpu'`` without a number, in this context.

    Raises RuntimeError without a GPU.

    >>> lucid.gpu.current_device()
    0
    """
    return index_of(None)


def set_device(device: Any) -> None:
    """Make `device`, a number or a name, the current GPU of this context. A negative number changes nothing.

    >>> lucid.gpu.set_device(0)
    >>> lucid.gpu.current_device()
    0
    """
    if isinstance(device, int) and device < 0:
        return
    index = index_of(device)
    backends.gpu_module().use(index)
    set_current_gpu(index)


@contextlib.contextmanager
def device(device: Any) -> Iterator[None]:
    """The context in which `device` is the current GPU; None or a negative number changes nothing.

    >>> with lucid.gpu.device(0):
    ...     print(lucid.gpu.current_device())
    0
    """
    if device is None or (isinstance(device, int) and device < 0):
        yield
        return
    before = current_device()
    set_device(device)
    try:
        yield
    finally:
        set_device(before)


@contextlib.contextmanager
def device_of(obj: Any) -> Iterator[None]:
    """The context in which the GPU of a tensor is the current one; a tensor that is on none changes nothing.

    >>> with lucid.gpu.device_of(lucid.ones(1, device="gpu")):
    ...     print(lucid.gpu.current_device())
    0
    """
    with device(obj.device.index if obj.device.type == "gpu" else None):
        yield


def synchronize(device: Any = None) -> None:
    """Wait for all work of a GPU, by default the current one. Raises the index errors that kernels found on the way.

    Nothing happens before the first use of a GPU.

    >>> y = lucid.ones(3, device="gpu") * 2
    >>> lucid.gpu.synchronize()
    >>> y.tolist()
    [2.0, 2.0, 2.0]
    """
    if device is None:
        backends.synchronize()
        return
    index = index_of(device)
    with backends.gpu_module().on(Device("gpu", index)):
        backends.synchronize()


@dataclass(frozen=True)
class DeviceProperties:
    """What a GPU is; sizes in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int
    max_threads_per_block: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """The name, compute capability, memory and multiprocessors of a GPU, by default the current one.

    >>> lucid.gpu.get_device_properties().warp_size
    32
    """
    found = backends.gpu_module().properties(index_of(device))
    return DeviceProperties(
        found["name"].decode(), found["major"], found["minor"], found["totalGlobalMem"], found["multiProcessorCount"],
        found["warpSize"], found["maxThreadsPerBlock"], found["maxThreadsPerMultiProcessor"], found["regsPerMultiprocessor"],
        found["sharedMemPerBlock"], found["sharedMemPerBlockOptin"], found["sharedMemPerMultiprocessor"], found["l2CacheSize"])


def get_device_name(device: Any = None) -> str:
    """The name of a GPU, by default the current one: 'simulated' on the simulator.

    >>> type(lucid.gpu.get_device_name()).__name__
    'str'
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (9, 0).

    >>> major, minor = lucid.gpu.get_device_capability()
    >>> (major, minor) >= (7, 0)
    True
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 works on the GPU: always, as kernels compute in float32; in hardware from compute capability 8.0 on.

    >>> lucid.gpu.is_bf16_supported()
    True
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Whether the GPU has TF32 in hardware: from compute capability 8.0 on; False without a GPU.

    >>> lucid.gpu.is_tf32_supported() in (True, False)
    True
    """
    return is_available() and get_device_capability() >= (8, 0)


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for, which are those of the GPUs that are there; none without a GPU.

    >>> lucid.gpu.get_arch_list()[0].startswith("sm_")
    True
    """
    return sorted({"sm_{}{}".format(*get_device_capability(index)) for index in range(device_count())})


def get_gencode_flags() -> str:
    """`get_arch_list` as options of NVIDIA's compiler.

    >>> lucid.gpu.get_gencode_flags().startswith("-gencode compute=compute_")
    True
    """
    numbers = [name.removeprefix("sm_") for name in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{number},code=sm_{number}" for number in numbers)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a GPU reads the memory of another one. Raises RuntimeError where one of them is not there.

    >>> lucid.gpu.can_device_access_peer(0, 0)
    False
    """
    return bool(driver().can_access_peer(index_of(device), index_of(peer_device)))
