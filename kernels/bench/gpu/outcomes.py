"""A plugin of pytest: each outcome is a line of JSON at once, so that what has run counts when the time is over; and with
LUCID_BENCH_POISON the memory of new arrays is full of NaN, so that what a kernel forgets to write is seen.

    python -m pytest -p bench.gpu.outcomes …
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, ClassVar

from bench.gpu.place import FILE, GPU, POISON, SIMULATOR, place, prepare

_BEGINNING, _END = 2000, 1000  # characters of an error that are kept
_LINES, _LONGEST = 6, 500  # lines of its message, and characters
_NAN = 0xFF  # each byte: a NaN of every floating-point dtype, -1 of the integers

prepare()  # before the tests import CuPy


def poisoned(malloc: Any) -> Any:
    """An allocator whose memory is full of NaN."""
    import cupy

    def allocate(size: int) -> Any:
        pointer = malloc(size)
        stream = cupy.cuda.get_current_stream()
        if size and not stream.is_capturing():
            pointer.memset_async(_NAN, size, stream)
        return pointer

    return allocate


def pytest_configure(config: Any) -> None:
    """Poison, in each process that runs tests. The simulator knows by itself what has not been written."""
    if os.environ.get(POISON) and place() != SIMULATOR:
        import cupy

        cupy.cuda.set_allocator(poisoned(cupy.get_default_memory_pool().malloc))
    _state.is_worker = hasattr(config, "workerinput")


class _State:
    """What this process knows of itself."""

    is_worker = False  # of pytest-xdist: another process collects the outcomes
    has_failed = False  # its last test
    launched: ClassVar[set[tuple[str, str]]] = set()  # kernels: file and name


_state = _State()


def _write(row: dict[str, Any]) -> None:
    path = os.environ.get(FILE)
    if path is not None:
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")


def shortened(text: str) -> str:
    """The beginning of an error, where it says what is wrong, and its end."""
    return text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}\n[…]\n{text[-_END:]}"


def message(report: Any) -> str:
    """What an error says: its first lines."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = report.longreprtext.splitlines()
    lines = [line[1:] for line in text if line.startswith("E ")] or text if crash is None else crash.message.splitlines()
    return " ".join([line.strip() for line in lines if line.strip()][:_LINES])[:_LONGEST]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note that a test begins: where the time is over in it, its name is known."""
    if not _state.is_worker:
        _write({"begins": nodeid})


def pytest_runtest_logreport(report: Any) -> None:
    """Note what became of a test."""
    _state.has_failed = _state.has_failed or report.failed
    if _state.is_worker or not (report.when == "call" or report.failed or report.skipped):
        return
    row = {"test": report.nodeid, "outcome": report.outcome, "when": report.when, "seconds": round(report.duration, 3)}
    if report.failed:
        row |= {"message": message(report), "error": shortened(report.longreprtext)}
    _write(row)


def pytest_collectreport(report: Any) -> None:
    """Note a file that cannot be imported."""
    if report.failed and not _state.is_worker:
        _write({"test": report.nodeid, "outcome": "failed", "when": "collect", "message": message(report),
                "error": shortened(report.longreprtext)})


def pytest_runtest_teardown() -> None:
    """Note which kernels a test has launched, before another forgets them."""
    launch = sys.modules.get("lucid_kernels.cuda.runtime.launch")
    if launch is not None:
        _state.launched |= {key for key in launch.loaded() if "\n" not in key[0]}  # not those whose text was generated


def pytest_runtest_logfinish() -> None:
    """End a worker whose GPU was lost in a test that failed: pytest-xdist begins another, so that the next do not fail too."""
    failed, _state.has_failed = _state.has_failed, False
    if failed and _state.is_worker and is_lost():
        _write_launched()
        os._exit(1)


def is_lost() -> bool:
    """Whether an error of CUDA is there that stays."""
    if place() != GPU:
        return False
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError:
        return True
    return False


def pytest_sessionfinish() -> None:
    """Say which kernels this process has launched."""
    _write_launched()


def _write_launched() -> None:
    if _state.launched:
        _write({"launched": sorted(_state.launched)})
