"""Operations of one name together, and their table."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .recorder import Event


class EventAverage:
    """All events of one key. Times are in microseconds, and bytes are those of new results.

    >>> with lucid.profiler.profile() as p:
    ...     y = lucid.ones(3).sin().sin()
    >>> [(average.key, average.count) for average in p.key_averages() if average.key == "sin"]
    [('sin', 2)]
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.device_memory_usage = self.self_device_memory_usage = 0
        self.flops = self.bytes = 0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.is_user_annotation = False

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} "
                f"cpu_time={_time(self.cpu_time)} device_time={_time(self.device_time)} input_shapes={self.input_shapes}>")

    @property
    def cpu_time(self) -> float:
        """Of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Of a call, on a GPU."""
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time = device_time
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)

    def add(self, event: Event) -> None:
        """One more."""
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time
        self.self_device_time_total += event.device_time
        self.flops += event.flops
        self.bytes += event.bytes
        if event.device == "gpu":
            self.self_device_memory_usage += event.memory
        else:
            self.self_cpu_memory_usage += event.memory
        self.is_user_annotation |= event.category == "user_annotation"


def averages(events: Iterable[Event], by_shape: bool = False, by_stack: int = 0) -> EventList:
    """The events of each name together, apart by the shapes of inputs and the lines that called them if that is asked for."""
    groups: dict[Any, EventAverage] = {}
    for event in events:
        key = (event.name, str(event.input_shapes) if by_shape else "", tuple(event.stack[:by_stack]))
        group = groups.get(key)
        if group is None:
            group = groups[key] = EventAverage(event.name)
            group.input_shapes = event.input_shapes if by_shape else ""
            group.stack = event.stack[:by_stack]
        group.add(event)
        # All of an event but what another of the same key around it has counted already.
        device, memory = event.device_time, event.memory
        outer, counted = event.parent, {id(group)}
        group.device_time_total += device
        _count_memory(group, event, memory)
        while outer is not None:
            around = groups.get((outer.name, str(outer.input_shapes) if by_shape else "", tuple(outer.stack[:by_stack])))
            if around is not None and id(around) not in counted:
                counted.add(id(around))
                around.device_time_total += device
                _count_memory(around, event, memory)
            outer = outer.parent
        if not _is_inside_its_own(event):
            group.cpu_time_total += event.cpu_time
    return EventList(groups.values())


def _count_memory(group: EventAverage, event: Event, memory: int) -> None:
    if event.device == "gpu":
        group.device_memory_usage += memory
    else:
        group.cpu_memory_usage += memory


def _is_inside_its_own(event: Event) -> bool:
    outer = event.parent
    while outer is not None:
        if outer.name == event.name:
            return True
        outer = outer.parent
    return False


class EventList(list[EventAverage]):
    """The averages of a profile.

    >>> with lucid.profiler.profile() as p:
    ...     y = lucid.ones(3).sin()
    >>> type(p.key_averages()).__name__, "sin" in p.key_averages().table()
    ('EventList', True)
    """

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each without those inside."""
        return sum(event.self_cpu_time_total for event in self)

    def __str__(self) -> str:
        return self.table()

    def total_average(self) -> EventAverage:
        """All events together."""
        total = EventAverage("Total")
        for event in self:
            for name, value in vars(event).items():
                if isinstance(value, (int, float)) and not isinstance(value, bool) and not name.startswith("is_"):
                    setattr(total, name, getattr(total, name) + value)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False) -> str:
        """A table as PyTorch prints it. `sort_by` is one of cpu_time, cpu_time_total, self_cpu_time_total, device_time_total,
        self_device_time_total, cpu_memory_usage, self_cpu_memory_usage, flops and count; "cuda" may stand for "device".
        """
        events = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            if not hasattr(EventAverage(""), name):
                raise AttributeError(f"there is no column '{sort_by}' to sort by")
            events.sort(key=lambda event: getattr(event, name), reverse=True)
        total = sum(event.self_cpu_time_total for event in self) or 1.0
        total_device = sum(event.self_device_time_total for event in self)
        columns: list[tuple[str, Callable[[EventAverage], str]]] = [
            ("Name", lambda e: _cut(e.key, max_name_column_width)),
            ("Self CPU %", lambda e: f"{e.self_cpu_time_total / total:.2%}"),
            ("Self CPU", lambda e: _time(e.self_cpu_time_total)),
            ("CPU total %", lambda e: f"{e.cpu_time_total / total:.2%}"),
            ("CPU total", lambda e: _time(e.cpu_time_total)),
            ("CPU time avg", lambda e: _time(e.cpu_time))]
        if total_device:
            columns += [("Self GPU", lambda e: _time(e.self_device_time_total)),
                        ("Self GPU %", lambda e: f"{e.self_device_time_total / total_device:.2%}"),
                        ("GPU total", lambda e: _time(e.device_time_total)),
                        ("GPU time avg", lambda e: _time(e.device_time))]
        if any(event.cpu_memory_usage or event.device_memory_usage for event in self):
            columns += [("CPU Mem", lambda e: _bytes(e.cpu_memory_usage)),
                        ("Self CPU Mem", lambda e: _bytes(e.self_cpu_memory_usage))]
        if any(event.device_memory_usage for event in self):
            columns += [("GPU Mem", lambda e: _bytes(e.device_memory_usage)),
                        ("Self GPU Mem", lambda e: _bytes(e.self_device_memory_usage))]
        columns.append(("# of Calls", lambda e: str(e.count)))
        if any(event.input_shapes for event in self):
            columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), max_shapes_column_width)))
        if any(event.stack for event in self):
            columns.append(("Source Location", lambda e: _cut(e.stack[0] if e.stack else "", max_src_column_width)))
        if any(event.flops for event in self):
            columns.append(("Total MFLOPs", lambda e: f"{e.flops / 1e6:.3f}" if e.flops else "--"))
        rows = [[cell(event) for _, cell in columns] for event in events[:row_limit if row_limit >= 0 else None]]
        widths = [max([len(title), *[len(row[place]) for row in rows]]) for place, (title, _) in enumerate(columns)]
        line = "  ".join("-" * width for width in widths)
        text = [header] if header else []
        text += [line, _row([title for title, _ in columns], widths), line, *[_row(row, widths) for row in rows], line,
                 f"Self CPU time total: {_time(total if self else 0.0)}"]
        if total_device:
            text.append(f"Self GPU time total: {_time(total_device)}")
        return "\n".join(text) + "\n"


def _row(cells: list[str], widths: list[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _cut(text: str, width: int) -> str:
    return text if width < 0 or len(text) <= width else text[:width - 3] + "..."


def _time(microseconds: float) -> str:
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= unit:
            return f"{microseconds / unit:.3f}{name}"
    return f"{microseconds:.3f}us"


def _bytes(number: int) -> str:
    for exponent, name in ((30, "Gb"), (20, "Mb"), (10, "Kb")):
        if abs(number) >= 2 ** exponent:
            return f"{number / 2 ** exponent:.2f} {name}"
    return f"{number} b"
