"""Streams, events, captured graphs, and the rule of when the host may wait for the device.

An operation runs at once. Only copies from and to pinned host memory stay pending, until something orders them: a later
operation on the stream, a synchronisation, a waited event. A caller that reuses the host memory too early gets wrong
numbers, as on a GPU.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Task = Callable[[], Any]


class DeviceSynchronized(RuntimeError):
    """Something made the host wait for the device inside ``cupyx.allow_synchronize(False)``."""


class Graph:
    """What a stream has captured. Only `Stream.end_capture` makes one."""

    _tasks: list[Task]
    _memory: list[tuple[Any, Any]]  # references to an allocation and its pool

    def __init__(self) -> None:
        raise NotImplementedError("created by stream capture only")

    @classmethod
    def _empty(cls) -> Graph:
        graph = object.__new__(cls)
        graph._tasks = []
        graph._memory = []
        return graph

    def add(self, task: Task, allocations: Iterable[Any]) -> None:
        """Record an operation that uses `allocations`. For the modules of this package."""
        self._tasks.append(task)
        for allocation in allocations:
            # A private pool that is still alive keeps a freed block to itself; the default pool gives it to anybody.
            pool = weakref.ref(allocation.pool) if allocation.pool.private else None
            self._memory.append((weakref.ref(allocation), pool))

    def launch(self, stream: Stream | None = None) -> None:
        """Run the captured operations. Raises RuntimeError when memory that they use has been freed."""
        (stream or get_current_stream()).flush()
        for allocation, pool in self._memory:
            if allocation() is None and (pool is None or pool() is None):
                raise RuntimeError(
                    "graph launch: memory used by the captured operations was freed since the capture "
                    "(on a GPU the pool may have given it to another array)"
                )
        for task in self._tasks:
            task()

    def upload(self, stream: Stream | None = None) -> None:
        """Nothing to do here."""


class Event:
    """A point in a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self._stream: Stream | None = None
        self._position = 0
        self.time = 0.0

    def record(self, stream: Stream | None = None) -> None:
        """Mark everything that is in `stream` now."""
        self._stream = stream or get_current_stream()
        self._position = self._stream.submitted
        self.time = time.perf_counter()

    def complete(self) -> None:
        """Make everything before the event happen. For the modules of this package."""
        if self._stream is not None:
            self._stream.flush(self._position)

    def synchronize(self) -> None:
        """Wait for the event."""
        refuse_in_capture("Event.synchronize")
        self.complete()

    @property
    def done(self) -> bool:
        """Whether nothing before the event is pending."""
        return self._stream is None or self._stream.finished >= self._position


def get_elapsed_time(start: Event, end: Event) -> float:
    """Milliseconds between two events, of the host's clock."""
    return (end.time - start.time) * 1e3


class Stream:
    """An in-order queue of pending copies."""

    null: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.is_null = null
        self.ptr = 0 if null else id(self)
        self.capture: Graph | None = None
        self.submitted = 0
        self.finished = 0
        self._pending: list[Task] = []

    def __enter__(self) -> Stream:
        _stack.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _stack.pop()

    def use(self) -> Stream:
        """Make this the current stream."""
        _stack[-1] = self
        return self

    def push(self, task: Task) -> None:
        """Add a pending copy. For the modules of this package."""
        self._pending.append(task)
        self.submitted += 1

    def flush(self, until: int | None = None) -> None:
        """Make pending copies happen, up to the one with number `until`. For the modules of this package."""
        if not self._pending:
            return
        count = len(self._pending) if until is None else max(0, until - self.finished)
        tasks, self._pending = self._pending[:count], self._pending[count:]
        self.finished += len(tasks)
        for task in tasks:
            task()

    def synchronize(self) -> None:
        """Wait for the stream."""
        synchronize("Stream.synchronize", self)

    def record(self, event: Event | None = None) -> Event:
        """Record an event here."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Order what follows after `event`."""
        event.complete()

    def begin_capture(self, mode: int | None = None) -> None:
        """Record operations from here on instead of running them."""
        if self.is_null:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        self.flush()
        self.capture = Graph._empty()

    def end_capture(self) -> Graph:
        """The graph of what has been recorded."""
        if self.capture is None:
            raise RuntimeError("end_capture: the stream is not capturing")
        graph, self.capture = self.capture, None
        return graph

    def is_capturing(self) -> bool:
        """Whether a capture is under way."""
        return self.capture is not None

    @property
    def done(self) -> bool:
        """Whether nothing is pending."""
        return not self._pending


Stream.null = Stream(null=True)
_stack = [Stream.null]
_synchronisation_allowed = [True]


def get_current_stream() -> Stream:
    """The stream that operations go to."""
    return _stack[-1]


def refuse_in_capture(what: str) -> None:
    """Raise RuntimeError when the current stream is capturing: `what` is impossible there."""
    if _stack[-1].capture is not None:
        raise RuntimeError(f"the current stream is capturing, so synchronous API calls are disallowed ({what})")


def synchronize(what: str, stream: Stream | None = None) -> None:
    """Everything that makes the host wait for the device passes here. Raises DeviceSynchronized, RuntimeError."""
    refuse_in_capture(what)
    if not _synchronisation_allowed[-1]:
        raise DeviceSynchronized(f"{what} synchronises, but synchronisation is not allowed here")
    (stream or _stack[-1]).flush()


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """``cupyx.allow_synchronize``: with False, a wait for the device inside is an error."""
    _synchronisation_allowed.append(allow)
    try:
        yield
    finally:
        _synchronisation_allowed.pop()
