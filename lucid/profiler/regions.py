"""Parts of a program by name."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self, TypeVar

from .recorder import current

F = TypeVar("F", bound=Callable[..., Any])


class record_function:
    """A context, or a decorator, whose name stands in profiles: ``with record_function("loss"): ...``

    >>> with lucid.profiler.profile() as p:
    ...     with lucid.profiler.record_function("my part"):
    ...         y = lucid.ones(3).sin()
    >>> "my part" in [event.name for event in p.events()]
    True
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[Any] = []

    def __enter__(self) -> Self:
        recorder = current()
        self._open.append(None if recorder is None else (recorder, recorder.enter(self.name, "user_annotation", args=self.args)))
        return self

    def __exit__(self, *exception: object) -> None:
        opened = self._open.pop()
        if opened is not None:
            recorder, event = opened
            recorder.leave(event)

    def __call__(self, function: F) -> F:
        """The function, in a part of this name."""
        @functools.wraps(function)
        def inside(*args: Any, **keywords: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **keywords)

        return inside  # type: ignore[return-value]
