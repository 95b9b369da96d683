"""Timing one block of calls, and noticing that other processes had the CPU meanwhile."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

#: A block is disturbed when other processes used more than this many cores during it.
DISTURBED = 0.25
_TICK = 1 / os.sysconf("SC_CLK_TCK")


def _cpu_seconds() -> tuple[float, float]:
    """CPU seconds used so far by the whole machine and by this process."""
    try:
        with open("/proc/stat") as file:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    except OSError:  # not Linux: every block counts as undisturbed
        return 0.0, 0.0
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (user + nice + system + irq + softirq + steal) * _TICK, usage.ru_utime + usage.ru_stime


def measure_block(call: Callable[[], Any], synchronize: Callable[[], None], seconds: float) -> dict[str, float]:
    """Call for about `seconds`, at least twice, after a warm-up.

    Returns the median time of one call and the cores that other processes used meanwhile. Short calls are timed in groups,
    so that reading the clock does not count.
    """
    start = time.perf_counter()
    warm_up = 0
    while warm_up < 1 or time.perf_counter() - start < seconds / 8:
        call()
        synchronize()
        warm_up += 1
    group = max(1, int(50e-6 / ((time.perf_counter() - start) / warm_up)))
    times: list[float] = []
    machine, own = _cpu_seconds()
    begin = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(group):
            call()
        synchronize()
        times.append((time.perf_counter() - start) / group)
    wall = time.perf_counter() - begin
    machine_after, own_after = _cpu_seconds()
    others = ((machine_after - machine) - (own_after - own)) / wall
    return {"seconds": statistics.median(times), "others": max(0.0, others)}
