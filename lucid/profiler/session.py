"""`profile`: watches what a context runs."""
from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any, Self

from ..backends.gpu_probe import gpu_problem
from . import trace
from .averages import EventList, averages
from .recorder import Event, Recorder, current
from .regions import record_function
from .steps import ProfilerAction, always


class ProfilerActivity(enum.Enum):
    """What is watched.

    >>> lucid.profiler.ProfilerActivity.CPU in lucid.profiler.supported_activities()
    True
    """

    CPU = 0
    CUDA = 1
    GPU = 1


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched here.

    >>> lucid.profiler.ProfilerActivity.CPU in lucid.profiler.supported_activities()
    True
    """
    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if gpu_problem() is None else set())


class profile:
    """Watch the operations that run in a context, as torch.profiler.profile does::

        with lucid.profiler.profile(record_shapes=True, with_flops=True) as prof:
            train()
        print(prof.key_averages().table(sort_by="self_cpu_time_total"))
        prof.export_chrome_trace("trace.json")

    With a `schedule`, call `step()` after each step of the training; `on_trace_ready` gets the profiler whenever steps that are
    recorded have ended. Without `activities` all are watched.

    Names are those of lucid's operations (`conv2d_grad_weight`), of modules (``nn.Module: Net.fc1 (Linear)``; not with
    ``with_modules=False``), of `Optimizer.step`, and of `record_function`. Memory is that of results, not what is free again.
    A GPU's time comes from events around each operation; the simulator has none. Functions of `lucid.compile` run eagerly
    meanwhile. While nothing is watched, nothing costs more.

    >>> with lucid.profiler.profile(record_shapes=True) as p:
    ...     y = lucid.ones(2, 3).sin()
    >>> [event.input_shapes for event in p.events() if event.name == "sin"]
    [[[2, 3]]]
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None, on_trace_ready: Callable[[Any], Any] | None = None,
                 record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = True, experimental_config: Any = None, execution_trace_observer: Any = None,
                 acc_events: bool = False, use_cuda: bool | None = None) -> None:
        chosen = supported_activities() if activities is None else set(activities)
        if not chosen:
            raise AssertionError("No activities specified for the profiler")
        self.activities = chosen
        self.schedule = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._options = {"shapes": record_shapes, "memory": profile_memory, "stacks": with_stack, "flops": with_flops,
                         "modules": with_modules, "gpu": ProfilerActivity.CUDA in chosen or bool(use_cuda)}
        self._recorder: Recorder | None = None
        self._events: list[Event] = []
        self._metadata: dict[str, Any] = {}
        self._step: Any = None
        self._started = False
        self._accumulate = acc_events

    # ---- running ---------------------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        if self._started:
            raise RuntimeError("profile: it has been started already")
        self._started = True
        self._begin(self.current_action)

    def stop(self) -> None:
        """End, and give what is recorded to `on_trace_ready`."""
        if not self._started:
            return
        self._started = False
        if self._end() and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """The next step of the training begins."""
        if not self._started:
            raise RuntimeError("profile: step() before start()")
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        recorded = before in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recorded and (before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in (
                ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)):
            self._end()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            self._begin(self.current_action)
        elif recorded:
            self._close_step()
            self._open_step()
        else:
            self._end()
            self._begin(self.current_action)

    def _begin(self, action: ProfilerAction) -> None:
        if action is ProfilerAction.NONE:
            return
        if current() is not None:
            raise RuntimeError("profile: another profiler records here already")
        self._recorder = Recorder(**self._options)
        self._recorder.begin()
        self._open_step()

    def _end(self) -> bool:
        """Whether something was recorded that counts."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return False
        self._close_step()
        recorder.end()
        counts = not self.record_steps or any(event.name.startswith("ProfilerStep#") for event in recorder.events)
        if counts:
            self._events = [*self._events, *recorder.events] if self._accumulate else recorder.events
        return counts

    def _open_step(self) -> None:
        if self.record_steps and self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _close_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    # ---- what is known ---------------------------------------------------------------------------------------------
    def events(self) -> list[Event]:
        """All that was recorded, in order of their begin."""
        return list(self._events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
                     ) -> EventList:
        """The events of each name together."""
        return averages(self._events, group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for chrome://tracing or Perfetto; compressed if the name ends in .gz."""
        trace.write(path, self._events, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the lines that called operations, with their times, as tools for flame graphs read them."""
        if metric not in ("self_cpu_time_total", "self_cuda_time_total"):
            raise ValueError("metric should be one of: self_cpu_time_total, self_cuda_time_total")
        with open(path, "w", encoding="utf-8") as file:
            for event in self._events:
                value = int(event.self_cpu_time if metric == "self_cpu_time_total" else event.device_time)
                if event.stack and value > 0:
                    file.write(f"{';'.join(line.replace(' ', '_') for line in reversed(event.stack))} {value}\n")

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the traces."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, written as JSON, to the traces."""
        import json

        self._metadata[key] = json.loads(value)

    def roofline(self, seconds: float = 0.03) -> str:
        """A table of operations on the CPU, with the share of the least time in which this machine moves the bytes of their
        arrays through its memory, or does their arithmetic. Needs ``with_flops=True``; measures the machine now.
        """
        if not self._options["flops"]:
            raise RuntimeError("profile: roofline() needs with_flops=True")
        from lucid_kernels.measuring.roofline import Roofline

        machine = Roofline()
        groups: dict[str, list[Event]] = {}
        for event in self._events:
            if event.category == "cpu_op" and event.device == "cpu" and event.bytes:
                groups.setdefault(event.name, []).append(event)
        floors: dict[tuple[int, int], float] = {}
        lines = [f"{'operation':32} {'calls':>7} {'time':>12} {'of the floor':>13}"]
        for name, events in sorted(groups.items(), key=lambda item: -sum(e.cpu_time for e in item[1])):
            least = 0.0
            for event in events:
                amount = event.bytes, event.flops if name.startswith(("matmul", "linear", "conv")) else 0
                if amount not in floors:
                    floors[amount] = machine.floor(event.bytes, "triad", amount[1], seconds) or 0.0
                least += floors[amount] * 1e6
            spent = sum(event.cpu_time for event in events)
            lines.append(f"{name:32} {len(events):7} {spent:10.1f}us {least / spent if spent else 0:13.0%}")
        return "\n".join(lines) + "\n"
