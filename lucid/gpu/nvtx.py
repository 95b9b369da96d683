"""Ranges that NVIDIA's tools show, by the names of torch.cuda.nvtx. Without a GPU they raise RuntimeError, as in PyTorch.

>>> with lucid.gpu.nvtx.range("forward of {}", "model"):
...     y = lucid.ones(3, device="gpu") * 2
"""
from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from .. import backends
from ._device import driver

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_local = threading.local()
_numbers = itertools.count(1)


def _driver() -> Any:
    if not backends.available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a GPU?")
    return driver()


def range_push(msg: str) -> int:
    """Begin a range inside of those that are open; returns how many these are.

    >>> lucid.gpu.nvtx.range_push("step")
    0
    >>> lucid.gpu.nvtx.range_pop()
    0
    """
    _driver().range_push(msg)
    depth = getattr(_local, "depth", 0)
    _local.depth = depth + 1
    return depth


def range_pop() -> int:
    """End the innermost range; returns how many are open around it, or -1 without one.

    >>> lucid.gpu.nvtx.range_pop()
    -1
    """
    tools = _driver()
    depth: int = getattr(_local, "depth", 0)
    if depth:
        tools.range_pop()
        _local.depth = depth - 1
    return depth - 1


def range_start(msg: str) -> int:
    """A mark where a range begins that may end in another thread; returns a number for `range_end`.

    >>> lucid.gpu.nvtx.range_end(lucid.gpu.nvtx.range_start("copy"))
    """
    _driver().mark(f"start: {msg}")  # CuPy has no ranges across threads
    number = next(_numbers)
    _started[number] = msg
    return number


_started: dict[int, str] = {}


def range_end(range_id: int) -> None:
    """A mark where a range of `range_start` ends.

    >>> lucid.gpu.nvtx.range_end(lucid.gpu.nvtx.range_start("copy"))
    """
    _driver().mark(f"end: {_started.pop(range_id, range_id)}")


def mark(msg: str) -> None:
    """A moment.

    >>> lucid.gpu.nvtx.mark("epoch 3")
    """
    _driver().mark(msg)


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """The context, or decorator, of a range; its name is ``msg.format(*args, **kwargs)``.

    >>> with lucid.gpu.nvtx.range("batch {}", 3):
    ...     y = lucid.ones(3, device="gpu") * 2
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
