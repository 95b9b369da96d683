"""What is noted of each operation, module and part of a program while a profiler records."""
from __future__ import annotations

import pathlib
import sys
import threading
import time
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from .. import backends
from ..backends.gpu_probe import simulated
from . import costs

_HERE = str(pathlib.Path(__file__).parents[1])
_active: ContextVar[Recorder | None] = ContextVar("lucid_profiler", default=None)
recording = 0  # recorders at work, of all threads: while it is 0 nobody looks further
_lock = threading.Lock()


def current() -> Recorder | None:
    """The recorder of this context, if one is at work."""
    return _active.get() if recording else None


class Event:
    """One call: times in nanoseconds since the recorder began; `device_ns` is the GPU's time.

    >>> with lucid.profiler.profile() as p:
    ...     y = lucid.ones(3).sin()
    >>> any(event.name == "sin" for event in p.events())
    True
    """

    __slots__ = ("bytes", "category", "device", "device_events", "device_ns", "end", "flops", "inner", "input_dtypes",
                 "input_shapes", "memory", "name", "parent", "stack", "start", "thread")

    def __init__(self, name: str, category: str, parent: Event | None, start: int) -> None:
        self.name, self.category, self.parent = name, category, parent
        self.start = self.end = start
        self.inner = 0  # nanoseconds in events below it
        self.device_ns = self.flops = self.bytes = self.memory = 0
        self.device_events: Any = None
        self.device = "cpu"
        self.input_shapes: list[Any] = []
        self.input_dtypes: list[str] = []
        self.stack: list[str] = []
        self.thread = threading.get_ident()

    def __repr__(self) -> str:
        return f"<Event {self.name} {self.cpu_time:.1f} us>"

    @property
    def cpu_time(self) -> float:
        """Microseconds from its begin to its end."""
        return (self.end - self.start) / 1000

    @property
    def self_cpu_time(self) -> float:
        """Microseconds without those of the events inside."""
        return (self.end - self.start - self.inner) / 1000

    @property
    def device_time(self) -> float:
        """Microseconds on a GPU."""
        return self.device_ns / 1000


class Recorder:
    """Notes events while it is entered."""

    def __init__(self, *, shapes: bool, memory: bool, stacks: bool, flops: bool, modules: bool, gpu: bool) -> None:
        self.shapes, self.memory, self.stacks, self.flops, self.modules = shapes, memory, stacks, flops, modules
        self.gpu = gpu and not simulated()
        self.events: list[Event] = []
        self.zero = time.perf_counter_ns()
        self._open: list[Event] = []
        self._modules: list[tuple[Any, str, Event]] = []
        self._handles: list[Any] = []
        self._contexts: list[Any] = []
        self._first: Any = None  # the GPU's event at the begin of the recording

    # ---- beginning and ending ------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Note what happens in this context from now on."""
        global recording
        self._contexts = [backends.observe(self._after, self._before)]
        self._contexts[0].__enter__()
        self._token = _active.set(self)
        with _lock:
            recording += 1
        if self.modules:
            self._watch_modules()
        self._watch_optimizers()

    def end(self) -> None:
        """Note no more, and wait for the GPU's times."""
        global recording
        for handle in self._handles:
            handle.remove()
        with _lock:
            recording -= 1
        _active.reset(self._token)
        self._contexts[0].__exit__(None, None, None)
        while self._open:
            self.leave(self._open[-1])
        timed = [event for event in self.events if event.device_events is not None]
        if timed:
            backends.synchronize()
            elapsed = backends.gpu_module().streams.get_elapsed_time
            for event in timed:
                start, stop = event.device_events
                event.device_ns = int(elapsed(start, stop) * 1e6)
                event.device_events = int(elapsed(self._first, start) * 1e6)

    def _watch_modules(self) -> None:
        from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        self._handles += [register_module_forward_pre_hook(self._into_module),
                          register_module_forward_hook(self._out_of_module, always_call=True)]

    def _watch_optimizers(self) -> None:
        from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        opened: list[Event] = []

        def before(optimizer: Any, args: Any, keywords: Any) -> None:
            if current() is self:
                opened.append(self.enter(f"Optimizer.step#{type(optimizer).__name__}.step", "user_annotation"))

        def after(optimizer: Any, args: Any, keywords: Any) -> None:
            if current() is self and opened:
                self.leave(opened.pop())

        self._handles += [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)]

    # ---- events ----------------------------------------------------------------------------------------------------
    def enter(self, name: str, category: str, args: str | None = None) -> Event:
        """An event begins."""
        event = Event(name, category, self._open[-1] if self._open else None, time.perf_counter_ns() - self.zero)
        if args is not None:
            event.input_shapes = [args]
        if self.stacks:
            event.stack = _user_lines()
        self._open.append(event)
        self.events.append(event)
        return event

    def leave(self, event: Event) -> None:
        """It ends, and with it those inside that an error has left open."""
        if event not in self._open:
            return
        now = time.perf_counter_ns() - self.zero
        while self._open:
            last = self._open.pop()
            last.end = now
            if last.parent is not None:
                last.parent.inner += last.end - last.start
            if last is event:
                return

    def _before(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> None:
        if current() is not self:
            return
        while self._open and self._open[-1].category == "cpu_op":  # an error has left it open
            self.leave(self._open[-1])
        event = self.enter(name, "cpu_op")
        if self.gpu and any(hasattr(a, "__cuda_array_interface__") for a in arrays):
            event.device = "gpu"
            event.device_events = (self._mark(), None)
        event.start = time.perf_counter_ns() - self.zero

    def _after(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> None:
        now = time.perf_counter_ns() - self.zero
        if current() is not self or not self._open or self._open[-1].name != name or self._open[-1].category != "cpu_op":
            return
        event = self._open.pop()
        event.end = now
        if event.parent is not None:
            event.parent.inner += event.end - event.start
        if event.device_events is not None:
            event.device_events = (event.device_events[0], self._mark())
        if self.shapes:
            event.input_shapes = [list(a.shape) if hasattr(a, "shape") else [] for a in arrays]
            event.input_dtypes = [a.dtype.name if hasattr(a, "dtype") else type(a).__name__ for a in arrays]
        if self.flops:
            event.flops = costs.flops(name, arrays, attributes, result)
            event.bytes = costs.moved_bytes(arrays, attributes, result)
        if self.memory:
            event.memory = costs.new_bytes(arrays, attributes, result)

    def _mark(self) -> Any:
        event = backends.gpu_module().streams.Event()
        if self._first is None:
            self._first = backends.gpu_module().streams.Event()
            self._first.record()
        event.record()
        return event

    # ---- modules ---------------------------------------------------------------------------------------------------
    def _into_module(self, module: Any, args: Any) -> None:
        if current() is not self:
            return
        name = type(module).__name__
        if self._modules:
            outer, path, _ = self._modules[-1]
            child = next((key for key, value in outer._modules.items() if value is module), None)
            path = f"{path}.{child}" if child else f"{path}.{name}"
        else:
            path = name
        label = f"nn.Module: {path}" + (f" ({name})" if path != name else "")
        self._modules.append((module, path, self.enter(label, "python_function")))

    def _out_of_module(self, module: Any, args: Any, output: Any) -> None:
        if current() is self and any(entry[0] is module for entry in self._modules):
            while self._modules:  # those inside have ended, too
                entry = self._modules.pop()
                self.leave(entry[2])
                if entry[0] is module:
                    return


def _user_lines(most: int = 8) -> list[str]:
    """The lines of the program outside of lucid, the innermost first."""
    lines: list[str] = []
    frame = sys._getframe(2)
    while frame is not None and len(lines) < most:
        code = frame.f_code
        if not code.co_filename.startswith((_HERE, "<")):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_qualname}")
        frame = frame.f_back  # type: ignore[assignment]
    return lines


