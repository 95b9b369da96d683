"""Where the parts of the batch run: on a GPU, on the simulator, or with the real CuPy on a CUDA that computes nothing."""

from __future__ import annotations

import functools
import os

from lucid_kernels.measuring.timing import FAKE

from bench.environment import child_environment

PLACE = "LUCID_BENCH_PLACE"
#: For `outcomes`: the file for them, and whether memory is full of NaN.
FILE, POISON = "LUCID_BENCH_OUTCOMES", "LUCID_BENCH_POISON"
GPU, SIMULATOR, STUB = "gpu", "simulator", "stub"


def place() -> str:
    """One of GPU, SIMULATOR and STUB."""
    return os.environ.get(PLACE, GPU)


def variables(chosen: str) -> dict[str, str]:
    """The environment of processes that run at a place."""
    found = {name: value for name, value in child_environment("ours").items() if name not in ("LUCID_GPU", FAKE)}
    found[PLACE] = chosen
    if chosen == SIMULATOR:
        found["LUCID_GPU"] = "simulated"
    if chosen != GPU:
        found[FAKE] = "1"
    return found


@functools.cache
def prepare() -> None:
    """Let `import cupy` give what belongs to the place. Called before anything imports it, in each process; a second call does
    nothing."""
    if place() == STUB:
        from bench.host import stub

        stub.install()
    elif place() == SIMULATOR:
        from lucid_kernels import simulator

        simulator.install()
