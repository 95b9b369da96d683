"""The time of a GPU by its own clock, without the host's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from lucid_kernels.measuring.timing import FAKED, is_fake

_MOST = 50  # calls of a group
_BYTES = 256 << 20  # of a copy


def device_seconds(call: Callable[[], Any], rounds: int = 5, group: float = 2e-3) -> float:
    """The time of a call between two events: the median of so many rounds of about so many seconds.

    A long copy goes before, so that all launches are there when the first one begins: the device never waits for the host. That
    is not so where a call launches more than the queue of a stream takes (about a thousand), or waits for the device itself.
    """
    if is_fake():
        call()
        return FAKED
    import cupy

    call()
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    call()
    host = time.perf_counter() - start
    cupy.cuda.Device().synchronize()
    once = max(time.perf_counter() - start, 1e-6)
    calls = min(_MOST, max(1, int(group / once)))
    stream, source, target = cupy.cuda.get_current_stream(), cupy.empty(_BYTES, cupy.uint8), cupy.empty(_BYTES, cupy.uint8)
    copies = 1 + int(1.5 * host * calls / (2 * _BYTES / 2e12))  # at 2 TB/s, or slower
    times = []
    for _ in range(rounds):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        for _ in range(min(copies, 100)):
            target.data.copy_from_device_async(source.data, _BYTES, stream)
        begin.record(stream)
        for _ in range(calls):
            call()
        end.record(stream)
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e-3 / calls)
    return statistics.median(times)
