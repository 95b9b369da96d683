"""Measures the cases on the stub, in a process of its own, and makes a table.

A time is that of the thread on a CPU: what other processes do in between does not count. The fastest of many blocks stands beside
the lower quartile; where they differ much, the machine was busy.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.environment import child_environment
from bench.host import stub

TITLE = "host time of GPU operations on a CUDA that computes nothing: no time of a kernel, a driver or a GPU"


def measure(call: Callable[[], Any], block: float, blocks: int) -> tuple[float, float]:
    """Seconds of a call on its thread's CPU: the fastest of so many `blocks` of about so many seconds, and the lower quartile."""
    start = time.perf_counter()
    count = 0
    while count < 3 or time.perf_counter() - start < block:
        call()
        count += 1
    calls = max(1, int(block * count / (time.perf_counter() - start)))
    times = []
    for _ in range(blocks):
        start = time.thread_time()
        for _ in range(calls):
            call()
        times.append((time.thread_time() - start) / calls)
    times.sort()
    return times[0], times[blocks // 4]


def rows(quick: bool) -> list[dict[str, Any]]:
    """The results of all cases, measured in this process, which uses the stub from now on."""
    installed = stub.install()
    from bench.host import cases
    from bench.library import Library

    library = Library("lucid", "gpu")
    found = []
    measure(next(cases.operations(library))[1], 2e-3, 100)  # the first fifth of a second of a process is slower by half
    for kind, block, blocks in (("operations", 2e-3, 100), ("replays", 2e-3, 100), ("steps", 2e-2, 40)):
        for name, call in getattr(cases, kind)(library):
            fastest, quartile = measure(call, block / 4 if quick else block, blocks // 4 if quick else blocks)
            installed.counts()
            call()
            found.append({"kind": kind, "name": name, "us": fastest * 1e6, "quartile_us": quartile * 1e6, **installed.counts()})
    return found


def table(results: list[dict[str, Any]]) -> str:
    """The results as lines of text."""
    lines = [TITLE, f"{'':54s}{'us':>9s}{'quartile':>10s}" + "".join(f"{name:>13s}" for name in stub.COUNTERS)]
    lines += [f"{result['name']:54s}{result['us']:9.1f}{result['quartile_us']:10.1f}"
              + "".join(f"{result[name]:13d}" for name in stub.COUNTERS) for result in results]
    return "\n".join(lines)


def report(quick: bool = False) -> tuple[dict[str, Any], str]:
    """The results of a fresh process, and a table of them; a sentence that says what is missing where the stub cannot run."""
    missing = stub.problem()
    if missing is not None:
        return {"missing": missing}, missing
    environment = {name: value for name, value in child_environment("ours").items() if name != "LUCID_GPU"}
    done = subprocess.run([sys.executable, "-m", "bench.host.report", *["quick"] * quick], env=environment, check=True,
                          stdout=subprocess.PIPE, text=True)
    results = json.loads(done.stdout.splitlines()[-1])
    return {"results": results}, table(results)


if __name__ == "__main__":
    print(json.dumps(rows("quick" in sys.argv[1:])))
