"""CUDA kernels on a machine without a GPU.

The `.cu` files are compiled by g++ and run on the CPU, one fiber per CUDA thread, with checks that a GPU does not make:
missing and divergent barriers, lanes that read inactive lanes, deadlocks, accesses outside an array, uninitialised
shared memory, races between blocks, wrong argument types. `install` puts a strict stand-in in the place of the `cupy`
module, so that a whole GPU code path runs, and a silent mix-up of host and device arrays is an error.

    from lucid_kernels import simulator

    simulator.install()
    import cupy

    with simulator.schedule(simulator.Schedule("reverse")):
        cupy.RawKernel(code, "saxpy")((1,), (128,), (x, y, np.float32(2), np.int32(100)))

A source can ask for the simulator with ``#ifdef LUCID_SIMULATOR``. What it must not use: inline PTX without such a
branch, cooperative groups, `<cuda/std/...>`, CUB, textures, grid-wide waiting. Not simulated: concurrency between
blocks (except that two blocks write one element), memory ordering, timing, fast-math differences, wgmma, TMA, mbarrier
and clusters. Reads of up to 15 bytes past an array that does not fill its last 16 bytes go unseen.

Variables, read at import: LUCID_SIMULATOR_CACHE (folder of built kernels), LUCID_SIMULATOR_DEBUG=0 (no bounds checks
and source lines), LUCID_SIMULATOR_GUARD=0 (no guard pages), LUCID_SIMULATOR_CHECK_API=0 (no comparison with an
installed CuPy), LUCID_SIMULATOR_TIME_LIMIT (seconds per launch), LUCID_SIMULATOR_WATCHED_BYTES (largest array watched
for races between blocks), LUCID_SIMULATOR_COMPUTE_CAPABILITY (what the device says it is), CXX, CUDA_PATH.
"""

from __future__ import annotations

from .build import available
from .errors import CompileError, SimulatorError
from .installation import install, installed, uninstall
from .scheduling import SCHEDULES, Schedule, schedule

__all__ = [
    "SCHEDULES",
    "CompileError",
    "Schedule",
    "SimulatorError",
    "available",
    "install",
    "installed",
    "schedule",
    "uninstall",
]
