"""The CPU by the names that programs use for any device: torch.cpu. Work on a CPU is done when a call returns, so there is
nothing to wait for.

`amp`: PyTorch's older names of mixed precision.

>>> with lucid.cpu.stream(lucid.cpu.current_stream()):
...     print(lucid.cpu.device_count())
1
"""
from __future__ import annotations

import contextlib
import importlib
import os
import platform
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities",
           "is_available", "is_initialized", "set_device", "stream", "synchronize"]


def is_available() -> bool:
    """True.

    >>> lucid.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True.

    >>> lucid.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """1: all processors are one device.

    >>> lucid.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """'cpu'.

    >>> lucid.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one.

    >>> lucid.cpu.set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Nothing: work is done when a call returns.

    >>> lucid.cpu.synchronize()
    """


class Event:
    """A point in the work of a stream, which is done.

    >>> lucid.cpu.Event().query()
    True
    """

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing."""

    def synchronize(self) -> None:
        """Nothing."""

    def wait(self, stream: Any = None) -> None:
        """Nothing."""


class Stream:
    """An order of work: that of the program.

    >>> lucid.cpu.Stream().record_event().query()
    True
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing."""

    def record_event(self) -> Event:
        """An event, which is done."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Nothing."""

    def synchronize(self) -> None:
        """Nothing."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The stream.

    >>> lucid.cpu.current_stream() is lucid.cpu.current_stream()
    True
    """
    return _stream


class StreamContext(contextlib.AbstractContextManager[None]):
    """A context in which nothing is different.

    >>> with lucid.cpu.StreamContext(lucid.cpu.Stream()):
    ...     y = lucid.ones(2)
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __exit__(self, *error: object) -> None:
        return None


def stream(stream: Any) -> StreamContext:
    """`StreamContext`.

    >>> with lucid.cpu.stream(lucid.cpu.current_stream()):
    ...     y = lucid.ones(2)
    """
    return StreamContext(stream)


def _flags() -> frozenset[str]:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def get_capabilities() -> Mapping[str, Any]:
    """What the processor has, where the system says it: its architecture, the number of logical cores, and True for each
    instruction set, as ``"avx2"``, ``"avx512_f"`` and ``"avx512_bf16"``.

    >>> lucid.cpu.get_capabilities()["num_logical_cores"] >= 1
    True
    """
    found: dict[str, Any] = {"architecture": platform.machine(), "num_logical_cores": os.cpu_count()}
    for flag in _flags():
        found[_renamed(flag)] = True
    return MappingProxyType(found)


def _renamed(flag: str) -> str:
    """A flag of Linux by PyTorch's name: 'avx512f' is 'avx512_f', 'pni' is 'sse3'."""
    if flag.startswith("avx512") and not flag.startswith("avx512_"):
        return f"avx512_{flag[6:]}"
    return {"pni": "sse3", "abm": "lzcnt", "bmi1": "bmi", "fma": "fma3", "sha_ni": "sha"}.get(flag, flag)


def _is_avx2_supported() -> bool:
    return bool(get_capabilities().get("avx2", False))


def _is_avx512_supported() -> bool:
    return bool(get_capabilities().get("avx512_f", False))


def __getattr__(name: str) -> Any:
    if name == "amp":  # imported when it is first asked for
        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
