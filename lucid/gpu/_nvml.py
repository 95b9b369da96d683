"""What NVIDIA's management library says of a GPU, through the package nvidia-ml-py, as in PyTorch."""
from __future__ import annotations

import importlib
from typing import Any

from ._device import index_of


def _library() -> Any:
    try:
        library = importlib.import_module("pynvml")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported.") from error
    try:
        library.nvmlInit()
    except library.NVMLError_DriverNotLoaded as error:
        raise RuntimeError("cuda driver can't be loaded, is cuda enabled?") from error
    return library


def _handle(device: Any) -> tuple[Any, Any]:
    library = _library()
    return library, library.nvmlDeviceGetHandleByIndex(index_of(device))


def device_memory_used(device: Any = None) -> int:
    """Bytes of a GPU that all processes use together. Needs the package nvidia-ml-py: ModuleNotFoundError without it.

    >>> lucid.gpu.device_memory_used()  # doctest: +SKIP
    1234567890
    """
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetMemoryInfo(handle).used)


def memory_usage(device: Any = None) -> int:
    """Percent of the last sample period in which the memory of a GPU was read or written. Needs nvidia-ml-py.

    >>> lucid.gpu.memory_usage()  # doctest: +SKIP
    40
    """
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetUtilizationRates(handle).memory)


def utilization(device: Any = None) -> int:
    """Percent of the last sample period in which a kernel ran. Needs nvidia-ml-py.

    >>> lucid.gpu.utilization()  # doctest: +SKIP
    90
    """
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetUtilizationRates(handle).gpu)


def temperature(device: Any = None) -> int:
    """Degrees Celsius of a GPU. Needs nvidia-ml-py.

    >>> lucid.gpu.temperature()  # doctest: +SKIP
    60
    """
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetTemperature(handle, 0))


def power_draw(device: Any = None) -> int:
    """Milliwatts that a GPU takes. Needs nvidia-ml-py.

    >>> lucid.gpu.power_draw()  # doctest: +SKIP
    300000
    """
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetPowerUsage(handle))


def clock_rate(device: Any = None) -> int:
    """The clock of the multiprocessors in MHz. Needs nvidia-ml-py.

    >>> lucid.gpu.clock_rate()  # doctest: +SKIP
    1980
    """
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetClockInfo(handle, 1))


def list_gpu_processes(device: Any = None) -> str:
    """The processes that use a GPU, with their memory, a line for each. Needs nvidia-ml-py: a text that says so without it.

    >>> type(lucid.gpu.list_gpu_processes()).__name__
    'str'
    """
    try:
        library, handle = _handle(device)
    except ModuleNotFoundError:
        return "pynvml module not found, please install nvidia-ml-py"
    lines = [f"GPU:{index_of(device)}"]
    processes = library.nvmlDeviceGetComputeRunningProcesses(handle)
    if not processes:
        lines.append("no processes are running")
    for process in processes:
        mebibytes = process.usedGpuMemory / 1024 ** 2
        lines.append(f"process {process.pid:>10d} uses {mebibytes:>12.3f} MB GPU memory")
    return "\n".join(lines)
