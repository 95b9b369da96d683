"""Streams, events, captured graphs, and the rule of when the host may wait for the device.

An operation runs at once. Only copies from and to pinned host memory stay pending, until something orders them: a later
operation on the stream, a synchronisation, a waited event. A caller that reuses the host memory too early gets wrong
numbers, as on a GPU.

Inside a capture operations are recorded. What the real CuPy or CUDA refuses there is refused with the same exception; an
error of CUDA's, unlike one of CuPy's own, also spoils the capture, so that `end_capture` fails.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from ..errors import CUDARuntimeError

streamCaptureModeGlobal = 0
streamCaptureModeThreadLocal = 1
streamCaptureModeRelaxed = 2

Task = Callable[[], Any]


class DeviceSynchronized(RuntimeError):
    """Something made the host wait for the device inside ``cupyx.allow_synchronize(False)``."""


class Graph:
    """What a stream has captured. Only `Stream.end_capture` makes one."""

    _tasks: list[Task]
    _memory: list[tuple[Any, Any, Any]]  # references to an allocation and its pool, and the buffer

    def __init__(self) -> None:
        raise NotImplementedError("created by stream capture only")

    @classmethod
    def _empty(cls) -> Graph:
        graph = object.__new__(cls)
        graph._tasks = []
        graph._memory = []
        return graph

    def add(self, task: Task, allocations: Iterable[Any]) -> None:
        """Record an operation that uses `allocations`, whose buffers live on. `task` must not hold them, or what is freed is not
        noticed. For the modules of this package.
        """
        self._tasks.append(task)
        for allocation in allocations:
            # A private pool that is still alive keeps a freed block to itself; the default pool gives it to anybody.
            pool = weakref.ref(allocation.pool) if allocation.pool.private else None
            self._memory.append((weakref.ref(allocation), pool, allocation.buffer))

    def launch(self, stream: Stream | None = None) -> None:
        """Run the captured operations. Raises RuntimeError when memory that they use has been freed."""
        stream = stream or get_current_stream()
        stream.flush()
        if stream.capture is not None:  # a node of the graph that is being captured
            stream.capture.add(self._run, [])
        else:
            self._run()

    def _run(self) -> None:
        for allocation, pool, _ in self._memory:
            if allocation() is None and (pool is None or pool() is None):
                raise RuntimeError(
                    "graph launch: memory used by the captured operations was freed since the capture "
                    "(on a GPU the pool may have given it to another array)"
                )
        for task in self._tasks:
            task()

    def upload(self, stream: Stream | None = None) -> None:
        """Nothing to do here."""


_ERRORS = {
    "IllegalState": "the operation cannot be performed in the present state",
    "StreamCaptureUnsupported": "operation not permitted when stream is capturing",
    "StreamCaptureInvalidated": "operation failed due to a previous error during capture",
    "StreamCaptureMerge": "operation would result in a merge of two independent capture sequences",
    "StreamCaptureUnmatched": "the capture was not initiated in this stream",
    "StreamCaptureUnjoined": "capturing stream has unjoined work",
    "StreamCaptureImplicit": "operation would make the legacy stream depend on a capturing blocking stream",
    "CapturedEvent": "operation not permitted on an event last recorded in a capturing stream",
}


def _error(name: str, what: str) -> CUDARuntimeError:
    return CUDARuntimeError(f"cudaError{name}: {_ERRORS[name]} ({what})")


class Capture:
    """A capture under way: what its streams have recorded so far."""

    def __init__(self, origin: Stream, mode: int) -> None:
        self.graph = Graph._empty()
        self.origin = origin
        self.mode = mode
        self.branches: list[Branch] = []
        self.spoilt = False

    def spoil(self, name: str, what: str) -> NoReturn:
        """Make `end_capture` fail. Raises CUDARuntimeError."""
        self.spoilt = True
        raise _error(name, what)

    def close(self) -> None:
        """End the capture of all its streams."""
        for branch in self.branches:
            branch.stream.capture = None
        _captures.remove(self)


class Branch:
    """A stream's part in a capture: the one that began it, or one that waited for an event of it."""

    def __init__(self, capture: Capture, stream: Stream) -> None:
        self.capture = capture
        self.stream = stream
        self.recorded = 0
        self.joined = 0  # so many of its operations has another branch waited for
        capture.branches.append(self)

    def add(self, task: Task, allocations: Iterable[Any]) -> None:
        """Record an operation that uses `allocations`. Raises CUDARuntimeError after an error of CUDA's."""
        if self.capture.spoilt:
            raise _error("StreamCaptureInvalidated", "an operation")
        self.recorded += 1
        self.capture.graph.add(task, allocations)


_captures: list[Capture] = []


class Event:
    """A point in a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self._stream: Stream | None = None
        self._position = 0
        self._branch: Branch | None = None
        self._recorded = 0
        self.time = 0.0

    def record(self, stream: Stream | None = None) -> None:
        """Mark everything that is in `stream` now."""
        self._stream = stream or get_current_stream()
        self._branch = self._stream.capture
        if self._branch is not None:
            self._recorded = self._branch.recorded
        self._position = self._stream.submitted
        self.time = time.perf_counter()

    def complete(self) -> None:
        """Make everything before the event happen. For the modules of this package."""
        if self._stream is not None:
            self._stream.flush(self._position)

    def synchronize(self) -> None:
        """Wait for the event. Raises CUDARuntimeError when it was recorded in a capture."""
        if self._branch is not None:
            self._branch.capture.spoil("CapturedEvent", "Event.synchronize")
        self.complete()

    @property
    def done(self) -> bool:
        """Whether nothing before the event is pending; reading this in a capture spoils the capture."""
        if self._branch is not None:
            self._branch.capture.spoilt = True
            return False
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
        self.non_blocking = non_blocking
        self.ptr = 0 if null else id(self)
        self.device_id = 0
        self.capture: Branch | None = None
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
        """Make pending copies happen, up to the one with number `until`. For the modules of this package.

        Raises CUDARuntimeError for the default stream while a stream that is not `non_blocking` is capturing.
        """
        if _captures and self.is_null:
            for capture in _captures:
                if not capture.origin.non_blocking:
                    capture.spoil("StreamCaptureImplicit", "an operation on the default stream")
        if not self._pending:
            return
        count = len(self._pending) if until is None else max(0, until - self.finished)
        tasks, self._pending = self._pending[:count], self._pending[count:]
        self.finished += len(tasks)
        for task in tasks:
            task()

    def synchronize(self) -> None:
        """Wait for the stream. Raises CUDARuntimeError inside a capture."""
        if self.capture is not None:
            self.capture.capture.spoil("StreamCaptureUnsupported", "Stream.synchronize")
        synchronize("Stream.synchronize", self)

    def record(self, event: Event | None = None) -> Event:
        """Record an event here."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Order what follows after `event`. A stream that waits for an event of a capture takes part in it."""
        branch = event._branch
        if branch is None:
            event.complete()
            return
        if branch.capture not in _captures:
            raise _error("CapturedEvent", "wait_event")
        if self.is_null:
            branch.capture.spoil("StreamCaptureImplicit", "wait_event")
        if self.capture is None:
            self.flush()
            self.capture = Branch(branch.capture, self)
        elif self.capture.capture is not branch.capture:
            branch.capture.spoil("StreamCaptureMerge", "wait_event")
        branch.joined = max(branch.joined, event._recorded)

    def begin_capture(self, mode: int | None = None) -> None:
        """Record operations from here on instead of running them. Raises RuntimeError, CUDARuntimeError."""
        if self.is_null:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if self.capture is not None:
            raise _error("IllegalState", "begin_capture in a capture")
        self.flush()
        capture = Capture(self, streamCaptureModeRelaxed if mode is None else mode)
        _captures.append(capture)
        self.capture = Branch(capture, self)

    def end_capture(self) -> Graph:
        """The graph of what has been recorded. Raises CUDARuntimeError, and then there is none."""
        if self.capture is None:
            raise _error("IllegalState", "end_capture without begin_capture")
        capture = self.capture.capture
        if capture.origin is not self:
            capture.spoil("StreamCaptureUnmatched", "end_capture")
        capture.close()
        if capture.spoilt:
            raise _error("StreamCaptureInvalidated", "end_capture")
        if any(branch.joined < branch.recorded for branch in capture.branches if branch.stream is not self):
            raise _error("StreamCaptureUnjoined", "end_capture")
        return capture.graph

    def is_capturing(self) -> bool:
        """Whether a capture is under way. Raises RuntimeError after an error of CUDA's in it, CUDARuntimeError."""
        if self.is_null and any(not capture.origin.non_blocking for capture in _captures):
            raise _error("StreamCaptureImplicit", "is_capturing of the default stream")
        if self.capture is not None and self.capture.capture.spoilt:
            raise RuntimeError("the stream was capturing, but an error has invalidated the capture sequence")
        return self.capture is not None

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any) -> None:
        """Call ``callback(arg)`` when what is in the stream now has happened; part of the graph in a capture."""
        self.flush()
        if self.capture is not None:
            self.capture.add(lambda: callback(arg), [])
        else:
            callback(arg)

    def add_callback(self, callback: Callable[[Stream, int, Any], Any], arg: Any) -> None:
        """Call ``callback(stream, 0, arg)`` when what is in the stream now has happened. Raises CUDARuntimeError."""
        if self.capture is not None:
            self.capture.capture.spoil("StreamCaptureUnsupported", "add_callback")
        self.flush()
        callback(self, 0, arg)

    @property
    def done(self) -> bool:
        """Whether nothing is pending; reading this inside a capture spoils the capture."""
        if self.capture is not None:
            self.capture.capture.spoilt = True
            return False
        return not self._pending

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"


Stream.null = Stream(null=True)
_stack = [Stream.null]
_operations = threading.local()


def count_operation() -> None:
    """Count something that is done on the device. For the modules of this package."""
    _operations.count = operations() + 1


def operations() -> int:
    """How many operations this thread has done on the device: launches, products, copies, fills, functions of CuPy's."""
    return getattr(_operations, "count", 0)


_synchronisation_allowed = [True]


def get_current_stream() -> Stream:
    """The stream that operations go to."""
    return _stack[-1]


_SYNCHRONOUS = "the current stream is capturing, so synchronous API calls are disallowed"
_TO_DEVICE = "the current stream is capturing, so H2D transfers are disallowed"
_TO_HOST = "the current stream is capturing, so D2H transfers are disallowed"


def _refuse(message: str, what: str, stream: Stream | None = None) -> None:
    if (stream or _stack[-1]).is_capturing():
        raise RuntimeError(f"{message} ({what})")


def refuse_synchronous(what: str) -> None:
    """Raises RuntimeError in a capture: `what` would wait for the device, or not go through the current stream."""
    _refuse(_SYNCHRONOUS, what)


def refuse_to_device(what: str, stream: Stream | None = None) -> None:
    """Raises RuntimeError in a capture: `what` copies host memory to the device."""
    _refuse(_TO_DEVICE, what, stream)


def refuse_to_host(what: str, stream: Stream | None = None) -> None:
    """Raises RuntimeError in a capture: `what` copies device memory to the host."""
    _refuse(_TO_HOST, what, stream)


def refuse_library(library: str) -> None:
    """Raises NotImplementedError in a capture, as CuPy does at each call of its libraries but cuFFT."""
    if _stack[-1].is_capturing():
        raise NotImplementedError(f"calling {library} API during stream capture is currently unsupported")


def refuse_cuda_malloc() -> None:
    """Raises CUDARuntimeError where memory from the system is forbidden: in a capture whose mode is not the relaxed one."""
    for capture in _captures:
        if capture.mode != streamCaptureModeRelaxed:
            capture.spoil("StreamCaptureUnsupported", "cudaMalloc")


def synchronize_device(what: str) -> None:
    """Wait for the device. Raises CUDARuntimeError while any stream is capturing."""
    for capture in list(_captures):
        capture.spoil("StreamCaptureUnsupported", what)
    synchronize(what)


def synchronize(what: str, stream: Stream | None = None) -> None:
    """Everything that makes the host wait for the device passes here. Raises DeviceSynchronized."""
    if not _synchronisation_allowed[-1]:
        raise DeviceSynchronized(f"{what} synchronises, but synchronisation is not allowed here")
    (stream or _stack[-1]).flush()


def fetch(what: str, stream: Stream | None = None) -> None:
    """Before the host looks at device memory. Raises RuntimeError in a capture, DeviceSynchronized."""
    refuse_to_host(what, stream)
    synchronize(what, stream)


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """``cupyx.allow_synchronize``: with False, a wait for the device inside is an error."""
    _synchronisation_allowed.append(allow)
    try:
        yield
    finally:
        _synchronisation_allowed.pop()
