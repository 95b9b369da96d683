"""Which tensors other threads are writing at this moment.

A write is counted by the version of a tensor when it is done. That one has begun is seen by the functions that a thread is in, so
that it costs nothing to write.
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, TypeVar

from .tensor import Tensor, Version, version_box

F = TypeVar("F", bound=Callable[..., Any])
_marked: dict[CodeType, tuple[str, ...]] = {}


def writes(*names: str) -> Callable[[F], F]:
    """Mark a function that writes to the memory of tensors and counts that: its local variables `names` hold them, one or
    several, while it does so.
    """
    def mark(function: F) -> F:
        _marked[function.__code__] = names
        return function

    return mark


def written_elsewhere() -> set[Version]:
    """The versions of the tensors that functions with the mark `writes` write in other threads."""
    found = set()
    for thread, frame in sys._current_frames().items():
        while thread != threading.get_ident() and frame is not None:
            for name in _marked.get(frame.f_code, ()):
                found |= set(map(version_box, _tensors(frame.f_locals.get(name))))
            frame = frame.f_back  # type: ignore[assignment]
    return found


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
