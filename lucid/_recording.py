"""Tells the recorder of `lucid.compiler` what no kernel sees: random numbers taken, elements read by Python, arrays made of
Python's numbers, and functions that a replay calls in place of recording them.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

under_way = 0  # recordings, of all threads: while it is 0 nobody looks further
recorder: ContextVar[Any] = ContextVar("lucid_recorder", default=None)


def current() -> Any:
    """The recorder of this context, or None."""
    return recorder.get() if under_way else None


def count(change: int) -> None:
    """One recording more (1) or less (-1)."""
    global under_way
    under_way += change


def constant(array: Any) -> Any:
    """`array`, which was made of Python's numbers: a replay makes a copy of it."""
    if under_way:
        recording = recorder.get()
        if recording is not None:
            recording.constant(array)
    return array


def refuse(why: str) -> None:
    """Python is about to see something that a replay would not compute."""
    recording = current()
    if recording is not None:
        recording.refuse(why)


def differentiated() -> None:
    """`backward` is called."""
    recording = recorder.get()
    if recording is not None:
        recording.differentiates = True


def number(function: Callable[..., float], *args: Any) -> float:
    """A number of Python's that `function` computes of tensors: a replay calls it, for the kernels that get the number now."""
    recording = current()
    return function(*args) if recording is None else recording.host(function, args, {}, is_number=True)


def not_recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let replays call `function` itself: it reads and changes Python's state, such as learning rates and counts of steps."""
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        recording = current()
        return function(*args, **keywords) if recording is None else recording.host(function, args, keywords)

    return call
