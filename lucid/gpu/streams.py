"""Streams and events, by the names of torch.cuda."""
from __future__ import annotations

import collections
import contextlib
import weakref
from typing import Any

from .. import backends
from ..backends.device import Device
from ._device import driver, index_of

__all__ = ["Event", "ExternalStream", "Stream"]


class Stream:
    """An order of work on a GPU. Work of two streams may overlap; nothing orders them but `wait_stream` and events.

    `device` is a GPU, by default the current one; `priority` is lower for more urgent work. Work goes to a stream inside
    ``with lucid.gpu.stream(s):``, or ``with s:``. Memory that one stream's work still reads is not given to another one's by
    itself: keep tensors alive until both have met (`wait_stream`), as in PyTorch. Raises RuntimeError without a GPU.

    >>> stream = lucid.gpu.Stream()
    >>> with lucid.gpu.stream(stream):
    ...     y = lucid.ones(3, device="gpu") * 2
    >>> stream.synchronize()
    >>> y.tolist()
    [2.0, 2.0, 2.0]
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self._index = index_of(device)
        gpu = backends.gpu_module()
        with gpu.on(Device("gpu", self._index)):
            self._stream = gpu.streams.Stream(non_blocking=True, priority=priority or None)
        self._inside: list[Any] = []

    @classmethod
    def _of(cls, stream: Any, index: int) -> Stream:
        self = object.__new__(cls)
        self._index, self._stream, self._inside = index, stream, []
        return self

    @property
    def device(self) -> Device:
        """The GPU."""
        return Device("gpu", self._index)

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle; 0 is that of the default stream."""
        return int(self._stream.ptr)

    def synchronize(self) -> None:
        """Wait for the work of the stream. Raises the index errors that its kernels found."""
        self._stream.synchronize()
        backends.gpu_module().raise_pending()

    def query(self) -> bool:
        """Whether all work of the stream is done."""
        return bool(self._stream.done)

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, behind the work of the stream so far."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of the stream wait for `event`; the host does not."""
        if event._event is not None:
            self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for the work of `stream` so far; the host does not."""
        self.wait_event(stream.record_event())

    def keep_until_done(self, tensor: Any) -> None:
        """Keep the memory of a tensor that is gone until the work that the stream then has is done: `Tensor.record_stream`."""
        weakref.finalize(tensor, _keep, tensor._array, self)

    def __enter__(self) -> Stream:
        context = stream(self)
        context.__enter__()
        self._inside.append(context)
        return self

    def __exit__(self, *error: Any) -> None:
        self._inside.pop().__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self._index, self.cuda_stream) == (other._index, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self._index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<lucid.gpu.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


_kept: collections.deque[tuple[Any, Any]] = collections.deque()  # memory of tensors that are gone, with the events before


def _keep(array: Any, stream: Stream) -> None:
    while _kept and _kept[0][0].query():
        _kept.popleft()
    _kept.append((stream.record_event(), array))


class Event:
    """A point in the work of a stream.

    `enable_timing` is needed for `elapsed_time`; `blocking` lets `synchronize` sleep instead of spinning. CUDA's event is
    made when it is first recorded.

    >>> start, end = lucid.gpu.Event(enable_timing=True), lucid.gpu.Event(enable_timing=True)
    >>> start.record()
    >>> y = lucid.ones(3, device="gpu") * 2
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0  # milliseconds
    True
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("Event: events of other processes are not supported")
        self.enable_timing, self.blocking = enable_timing, blocking
        self._event: Any = None

    def record(self, stream: Stream | None = None) -> None:
        """Mark the work that `stream`, by default the current one, has so far."""
        target = stream or current_stream()
        if self._event is None:
            gpu = backends.gpu_module()
            with gpu.on(target.device):
                self._event = gpu.streams.Event(block=self.blocking, disable_timing=not self.enable_timing)
        self._event.record(target._stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of `stream`, by default the current one, wait for the event."""
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        """Whether the work before the event is done; True if it was never recorded."""
        return self._event is None or bool(self._event.done)

    def synchronize(self) -> None:
        """Let the host wait for the event."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`.

        Raises ValueError unless both have timing and were recorded, RuntimeError while one is pending.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time: call end_event.synchronize()")
        return float(backends.gpu_module().streams.get_elapsed_time(self._event, end_event._event))

    def __repr__(self) -> str:
        return f"<lucid.gpu.Event {'not recorded' if self._event is None else 'done' if self.query() else 'pending'}>"


def current_stream(device: Any = None) -> Stream:
    """The stream that work on a GPU goes to. Raises RuntimeError without a GPU.

    >>> lucid.gpu.current_stream() == lucid.gpu.default_stream()
    True
    """
    index = index_of(device)
    with backends.gpu_module().on(Device("gpu", index)):
        return Stream._of(backends.gpu_module().streams.get_current_stream(), index)


def default_stream(device: Any = None) -> Stream:
    """The stream that is current unless another one was chosen.

    >>> lucid.gpu.default_stream().query()
    True
    """
    return Stream._of(backends.gpu_module().streams.Stream.null, index_of(device))


def set_stream(stream: Stream | None) -> None:
    """Make `stream` the current one of its device, and that the current device; None changes nothing.

    >>> stream = lucid.gpu.Stream()
    >>> lucid.gpu.set_stream(stream)
    >>> lucid.gpu.current_stream() == stream
    True
    >>> lucid.gpu.set_stream(lucid.gpu.default_stream())
    """
    if stream is not None:
        backends.gpu_module().use(stream._index)
        stream._stream.use()


class StreamContext:
    """The context in which work goes to `stream`; None changes nothing.

    >>> side = lucid.gpu.Stream()
    >>> with lucid.gpu.StreamContext(side):
    ...     print(lucid.gpu.current_stream() == side)
    True
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._inside: list[contextlib.ExitStack] = []

    def __enter__(self) -> None:
        with contextlib.ExitStack() as stack:
            if self.stream is not None:
                stack.enter_context(backends.gpu_module().on(self.stream.device))
                stack.enter_context(self.stream._stream)
            self._inside.append(stack.pop_all())

    def __exit__(self, *error: Any) -> None:
        self._inside.pop().__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """The context in which work goes to `stream`; None changes nothing.

    >>> side = lucid.gpu.Stream()
    >>> with lucid.gpu.stream(side):
    ...     print(lucid.gpu.current_stream() == side)
    True
    """
    return StreamContext(stream)


class ExternalStream(Stream):
    """A stream that another library has made, by its address; it lives as long as that library lets it.

    >>> lucid.gpu.ExternalStream(other.ptr)  # doctest: +SKIP
    <lucid.gpu.Stream device=gpu:0 cuda_stream=0x55d5c1a0>
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        self._index = index_of(device)
        with backends.gpu_module().on(Device("gpu", self._index)):
            self._stream = driver().external_stream(stream_ptr)
        self._inside = []


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """`ExternalStream`.

    >>> lucid.gpu.get_stream_from_external(other.ptr)  # doctest: +SKIP
    <lucid.gpu.Stream device=gpu:0 cuda_stream=0x55d5c1a0>
    """
    return ExternalStream(data_ptr, device)


def current_blas_handle() -> int:
    """The handle of cuBLAS that products on the current GPU use. Raises RuntimeError without a GPU.

    >>> type(lucid.gpu.current_blas_handle()).__name__
    'int'
    """
    return int(driver().cublas_handle())


def current_solver_handle() -> int:
    """The handle of cuSOLVER that factorizations on the current GPU use. Raises RuntimeError without a GPU.

    >>> lucid.gpu.current_solver_handle()  # doctest: +SKIP
    94012345678912
    """
    return int(driver().cusolver_handle())


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """`debug_mode` must be 0 or "default": NotImplementedError for warnings and errors where the host waits for a GPU.

    >>> lucid.gpu.set_sync_debug_mode("default")
    """
    names = ("default", "warn", "error")
    if debug_mode not in (0, 1, 2, *names):
        raise RuntimeError(f"invalid value of debug_mode, expected one of {', '.join(f'`{name}`' for name in names)}")
    if debug_mode not in (0, "default"):
        raise NotImplementedError(f"set_sync_debug_mode({debug_mode!r}): nothing watches where the host waits")


def get_sync_debug_mode() -> int:
    """0: nothing is said where the host waits for a GPU.

    >>> lucid.gpu.get_sync_debug_mode()
    0
    """
    return 0


def ipc_collect() -> None:
    """Nothing: memory of a GPU that was sent to another process is freed with its last tensor.

    >>> lucid.gpu.ipc_collect()
    """


def is_current_stream_capturing() -> bool:
    """Whether a capture is under way in the current stream; False before the first use of a GPU.

    >>> lucid.gpu.is_current_stream_capturing()
    False
    """
    return backends.gpu_is_used() and bool(backends.gpu_module().streams.get_current_stream().is_capturing())
