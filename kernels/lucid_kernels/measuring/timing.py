"""Timing one block of calls, and noticing that other processes had the CPU meanwhile."""

from __future__ import annotations

import glob
import os
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

#: A block is disturbed when other processes used, or kept from us, more than this many cores during it.
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


def _waited_seconds() -> float:
    """How long the threads of this process have been ready to run so far while others had the CPU."""
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        try:
            with open(path) as file:
                total += int(file.read().split()[1])
        except (OSError, IndexError):  # the thread has ended
            continue
    return total * 1e-9


#: Short calls are timed in groups of so many seconds, so that reading the clock does not count, nor, on a GPU, waiting for it:
#: calls follow each other as in training.
GROUP = {"cpu": 50e-6, "gpu": 1e-3}


#: With this variable times are made up: for machines on which they would say nothing, so that no one takes them for measured.
FAKE = "LUCID_BENCH_FAKE_CLOCK"
FAKED = 1e-6  # seconds of any call


def is_fake() -> bool:
    """Whether times are made up."""
    return bool(os.environ.get(FAKE))


def measure_block(call: Callable[[], Any], synchronize: Callable[[], None], seconds: float,
                  device: str = "cpu") -> dict[str, float]:
    """Call for about `seconds`, at least once, after a warm-up.

    Returns the median and the shortest time of one call, and the cores that other processes used meanwhile. /proc/stat counts in
    ticks of 10 ms, so two of them are no evidence in a short block; the time that our threads waited for a CPU is exact, but
    says nothing of a neighbour on a core that we leave free.
    """
    if is_fake():
        call()
        synchronize()
        return {"seconds": FAKED, "fastest": FAKED, "others": 0.0}
    start = time.perf_counter()
    warm_up = 0
    while warm_up < 1 or time.perf_counter() - start < seconds / 8:
        call()
        synchronize()
        warm_up += 1
    group = max(1, int(GROUP[device] / ((time.perf_counter() - start) / warm_up)))
    times: list[float] = []
    waited = _waited_seconds()
    machine, own = _cpu_seconds()
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(group):
            call()
        synchronize()
        times.append((time.perf_counter() - start) / group)
    wall = time.perf_counter() - begin
    machine_after, own_after = _cpu_seconds()
    used = (machine_after - machine) - (own_after - own) - 2 * _TICK
    others = max(0.0, used, _waited_seconds() - waited) / wall
    return {"seconds": statistics.median(times), "fastest": min(times), "others": others}
