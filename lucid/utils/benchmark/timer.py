"""`Timer`: how long a statement takes, by PyTorch's names."""
from __future__ import annotations

import contextlib
import enum
import textwrap
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import lucid

from ... import backends
from .measurement import Measurement, TaskSpec


class Language(enum.Enum):
    """Of a statement.

    >>> lucid.utils.benchmark.Language.PYTHON.name
    'PYTHON'
    """

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The clock, after what the GPU has been given is done.

    >>> start = lucid.utils.benchmark.timer()
    >>> lucid.utils.benchmark.timer() >= start
    True
    """
    if backends.gpu_is_used():
        backends.synchronize()
    return time.perf_counter()


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let operations use `n` threads in this context.

    >>> before = lucid.get_num_threads()
    >>> with lucid.utils.benchmark.set_torch_threads(1):
    ...     print(lucid.get_num_threads())
    1
    >>> lucid.get_num_threads() == before
    True
    """
    before = lucid.get_num_threads()
    lucid.set_num_threads(n)
    try:
        yield
    finally:
        lucid.set_num_threads(before)


class Timer:
    """Times a statement as PyTorch's does: on one thread unless `num_threads` says otherwise, after calls that do not count,
    and waiting for the GPU. `lucid` is among the names that the statement sees.

    >>> from lucid.utils.benchmark import Timer
    >>> measured = Timer("x.sin()", globals={"x": lucid.ones(9)}).timeit(10)
    >>> measured.median > 0
    True
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
                 globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
                 description: str | None = None, env: str | None = None, num_threads: int = 1,
                 language: Language | str = Language.PYTHON) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently, only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            if language in (Language.CPP, "cpp", "c++"):
                raise NotImplementedError("Timer: lucid has no statements in C++")
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError("global_setup is C++ only")
        names = dict(globals or {})
        names.setdefault("lucid", lucid)
        stmt, setup = textwrap.dedent(stmt).strip("\n"), textwrap.dedent(setup).strip("\n")
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._clock = timer
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # some clocks stand still for so short a time

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of `number` calls."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """As in PyTorch, raises NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """As in PyTorch, raises NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> None:
        """Raises NotImplementedError: lucid does not count instructions."""
        raise NotImplementedError("Timer.collect_callgrind: lucid does not count instructions; use blocked_autorange")

    def _block(self, seconds: float) -> int:
        """Calls in a block that takes long enough that the clock does not count, but not more than a thousandth of `seconds`."""
        start = time.perf_counter()
        for _ in range(100):
            self._clock()
        overhead = (time.perf_counter() - start) / 100
        number = 1
        while True:
            taken = self._timeit(number)
            if taken >= max(seconds / 1000, overhead * 1e4) or taken >= seconds:
                return number
            number *= 10

    def _blocks(self, number: int, callback: Callable[[int, float], Any] | None, stop: Callable[[list[float]], bool]
                ) -> Measurement:
        times: list[float] = []
        while not stop(times):
            seconds = self._timeit(number)
            times.append(seconds)
            if callback is not None:
                callback(number, seconds)
        return Measurement(number, times, self._task_spec)

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Blocks of calls until they have taken `min_run_time` seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            return self._blocks(self._block(min_run_time), callback, lambda times: sum(times) >= min_run_time)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """Blocks of calls until the quartiles lie within `threshold` of the median, or `max_run_time` seconds are over."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(0.05)

            def stop(times: list[float]) -> bool:
                spent = sum(times)
                if spent >= max_run_time and times:
                    return True
                if spent < min_run_time or len(times) < 4:
                    return False
                return Measurement(number, times, self._task_spec).meets_confidence(threshold)

            return self._blocks(number, callback, stop)
