"""Signals that arrive while a kernel is compiled, or what compiles it is imported."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Let the handlers of signals, which Python runs in the main thread, run after this context, and not in it.

    Most raise, as that of Ctrl-C does. In the midst of a compilation that left functions half compiled, for which a later call
    raised other errors or ended the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    for known in signal.valid_signals():
        handler = signal.getsignal(known)
        if callable(handler):
            handlers[known] = handler

    def run() -> None:
        for number, frame in arrived:
            handlers[number](number, frame)

    with contextlib.ExitStack() as stack:
        stack.callback(run)
        for number, handler in handlers.items():
            stack.callback(signal.signal, number, handler)
            signal.signal(number, lambda number, frame: arrived.append((number, frame)))
        yield
