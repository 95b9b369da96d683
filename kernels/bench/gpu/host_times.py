"""The host's time of operations and training steps: what a call takes until it returns, while the device has room for more."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lucid_kernels.measuring.timing import FAKED, is_fake

from bench.gpu.place import SIMULATOR, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

_BLOCK = 1e-3  # seconds of calls between two waits: fewer launches than a stream's queue takes
_BLOCKS = 40
_FEW = 5  # cases on the simulator


def host_seconds(call: Callable[[], Any], synchronize: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a call: the fastest of many blocks, and their median."""
    call()
    synchronize()
    if is_fake():
        return FAKED, FAKED
    start = time.perf_counter()
    call()
    calls = max(1, min(100, int(_BLOCK / (time.perf_counter() - start))))
    times = []
    for _ in range(_BLOCKS):
        synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    synchronize()
    return min(times), statistics.median(times)


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each operation and step, ours beside PyTorch's where it sees the GPU."""
    from bench.host import cases
    from bench.library import Library

    libraries = [Library(name, "gpu") for name in ("lucid", *(["torch"] if given.facts.get("torch_cuda") else []))]
    kinds = (cases.operations,) if place() == SIMULATOR else (cases.operations, cases.steps)
    for kind in kinds:
        pairs = zip(*(kind(library) for library in libraries), strict=True)
        for pair in itertools.islice(pairs, _FEW if place() == SIMULATOR else None):
            row: dict[str, Any] = {"name": pair[0][0]}
            for library, (_, call) in zip(libraries, pair, strict=True):
                side = "torch" if library.is_torch else "ours"
                fastest, median = host_seconds(call, synchronize(library))
                row |= {f"{side}_us": fastest * 1e6, f"{side}_median_us": median * 1e6}
            yield row


def synchronize(library: Any) -> Callable[[], Any]:
    """What waits for the device."""
    return library.lib.cuda.synchronize if library.is_torch else library.lib.gpu.synchronize
