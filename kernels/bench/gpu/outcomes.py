"""A plugin of pytest: each outcome is a line of JSON at once, so that what has run counts when the time is over; and with
LUCID_BENCH_POISON the memory of new arrays is full of NaN, so that what a kernel forgets to write is seen.

    python -m pytest -p bench.gpu.outcomes …
"""

from __future__ import annotations

import json
import os
from typing import Any

from bench.gpu.place import FILE, POISON, SIMULATOR, place, prepare

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
    if hasattr(config, "workerinput"):
        os.environ.pop(FILE, None)  # the process that collects the outcomes writes them


def pytest_runtest_logreport(report: Any) -> None:
    """Note what became of a test."""
    path = os.environ.get(FILE)
    if path is None or not (report.when == "call" or report.failed or report.skipped):
        return
    row = {"test": report.nodeid, "outcome": report.outcome, "when": report.when, "seconds": round(report.duration, 3)}
    if report.failed:
        row["error"] = report.longreprtext[-1500:]
    with open(path, "a") as file:
        file.write(json.dumps(row) + "\n")


def pytest_collectreport(report: Any) -> None:
    """Note a file that cannot be imported."""
    if report.failed and os.environ.get(FILE):
        with open(os.environ[FILE], "a") as file:
            file.write(json.dumps({"test": report.nodeid, "outcome": "failed", "when": "collect",
                                   "error": str(report.longrepr)[-1500:]}) + "\n")
