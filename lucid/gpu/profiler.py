"""What NVIDIA's profilers collect, by the names of torch.cuda.profiler; `lucid.profiler` is lucid's own.

>>> with lucid.gpu.profiler.profile():
...     y = lucid.ones(3, device="gpu") * 2
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ._device import driver

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let a profiler that waits for it, as ``nsys profile -c cudaProfilerApi``, begin to collect. Raises RuntimeError without a
    GPU.

    >>> lucid.gpu.profiler.start()
    >>> lucid.gpu.profiler.stop()
    """
    driver().profiler_start()


def stop() -> None:
    """Let it end.

    >>> lucid.gpu.profiler.stop()
    """
    driver().profiler_stop()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """The context that is collected.

    >>> with lucid.gpu.profiler.profile():
    ...     y = lucid.ones(3, device="gpu") * 2
    """
    start()
    try:
        yield
    finally:
        stop()
