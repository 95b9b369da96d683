"""Measurements of one task, and what is known of its time."""
from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Iterator
from typing import Any

_UNITS = ((1e-9, "ns", "nanosecond"), (1e-6, "us", "microsecond"), (1e-3, "ms", "millisecond"), (1.0, "s", "second"))
#: Quartiles that lie so much of the median apart are worth a warning, and so are fewer seconds or blocks of calls in all.
_SPREAD, _SHORT, _FEW = 0.1, 1e-3, 2


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was timed, and how it is called in tables.

    >>> lucid.utils.benchmark.TaskSpec("x.sin()", setup="pass", label="sines").title
    'sines'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, with the sub-label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:{_indented(self.stmt)}"

    def setup_str(self) -> str:
        """The setup, as messages show it."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:{_indented(self.setup)}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a line each."""
        return "\n".join(filter(None, [self.title, self.description or "", self.setup_str()]))


def _indented(text: str) -> str:
    return "".join(f"\n  {line}" for line in text.splitlines())


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of blocks of `number_per_run` calls, in seconds.

    >>> from lucid.utils.benchmark import Measurement, TaskSpec
    >>> measured = Measurement(10, [0.1, 0.2, 0.3], TaskSpec("f()", setup="pass"))
    >>> measured.median, measured.times
    (0.02, [0.01, 0.02, 0.03])
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in ("stmt", "setup", "label", "sub_label", "description", "env", "num_threads"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds of a call, for each block."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def median(self) -> float:
        """The median time of a call."""
        return statistics.median(self._some())

    @property
    def mean(self) -> float:
        """The mean time of a call."""
        return statistics.fmean(self._some())

    @property
    def iqr(self) -> float:
        """How far the quartiles lie apart."""
        low, high = self._quartiles()
        return high - low

    def _some(self) -> list[float]:
        if not self.raw_times:
            raise RuntimeError("Measurement: there are no times")
        return self.times

    def _quartiles(self) -> tuple[float, float]:
        times = self._some()
        if len(times) == 1:
            return times[0], times[0]
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return low, high

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something: those above the error of the mean between the quartiles."""
        times = sorted(self._some())
        inner = times[len(times) // 4:len(times) - len(times) // 4]
        error = statistics.pstdev(inner) / math.sqrt(len(inner)) * 1.645  # 90 % of normally distributed ones
        # The clock and its call are not known to better than a tenth of a per cent.
        relative = max(error / self.median if self.median else 0.0, 10.0 ** -3)
        if len(times) < 2:
            relative = 10.0 ** -2
        return max(1, min(4, math.floor(-math.log10(relative))))

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread, or are of too short a run, to be relied on."""
        return bool(self._warnings())

    def meets_confidence(self, threshold: float = _SPREAD) -> bool:
        """Whether the quartiles lie within `threshold` of the median."""
        return self.iqr / self.median < threshold if self.median else True

    def _warnings(self) -> list[str]:
        found = []
        if not self.meets_confidence():
            found.append(f"WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.\n"
                         "         This could indicate system fluctuation.")
        return found

    @property
    def title(self) -> str:
        """The label of the task."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        threads = f"{self.task_spec.num_threads} thread{'s' * (self.task_spec.num_threads > 1)}"
        lines = [f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>", self.task_spec.summarize()]
        if len(self.raw_times) == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
            lines.append(f"  1 measurement, {self.number_per_run} runs , {threads}")
        else:
            low, high = self._quartiles()
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            if len(self.raw_times) > 3:
                lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
            lines.append(f"  {len(self.raw_times)} measurements, {self.number_per_run} runs per measurement, {threads}")
        return "\n".join([*lines, *self._warnings()])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, of the times of all."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [Measurement(1, [t for m in group for t in m.times], spec) for spec, group in groups.items()]


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time in seconds, and its length in seconds.

    >>> lucid.utils.benchmark.select_unit(0.0025)
    ('ms', 0.001)
    """
    fitting = [(name, scale) for scale, name, _ in _UNITS if t >= scale]
    return fitting[-1] if fitting else (_UNITS[0][1], _UNITS[0][0])


def unit_to_english(u: str) -> str:
    """'us' -> 'microsecond'.

    >>> lucid.utils.benchmark.unit_to_english("us")
    'microsecond'
    """
    return next(name for _, unit, name in _UNITS if unit == u)


def trim_sigfig(x: float, n: int) -> float:
    """`x` with its first `n` digits.

    >>> lucid.utils.benchmark.trim_sigfig(123.456, 2)
    120.0
    """
    if not x or not math.isfinite(x):
        return x
    return float(f"{x:.{n - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in order.

    >>> lucid.utils.benchmark.ordered_unique([3, 1, 3, 2])
    [3, 1, 2]
    """
    return list(dict.fromkeys(elements))


def by(measurements: Iterable[Measurement], key: Any) -> Iterator[tuple[Any, list[Measurement]]]:
    """Groups with one value of `key`, in order of their first."""
    groups: dict[Any, list[Measurement]] = {}
    for measurement in measurements:
        groups.setdefault(key(measurement), []).append(measurement)
    yield from groups.items()
