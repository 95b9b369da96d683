"""CUDA kernels on a machine without a GPU.

The `.cu` files are compiled by g++ and run on the CPU, one fiber per CUDA thread, with checks that a GPU does not make:
missing and divergent barriers, lanes that read inactive lanes, deadlocks, accesses outside an array, uninitialised shared
memory, races between blocks, wrong argument types. `install` puts a strict stand-in in the place of the `cupy` module, so
that a whole GPU code path runs, and a silent mix-up of host and device arrays is an error.

    from lucid_kernels import simulator

    simulator.install()
    import cupy

    with simulator.schedule(simulator.Schedule("reverse")):
        cupy.RawKernel(code, "saxpy")((1,), (128,), (x, y, np.float32(2), np.int32(100)))

Sources can ask for the simulator with ``#ifdef LUCID_SIMULATOR``. Not simulated: concurrency between blocks (except that
two blocks write one element), memory ordering, timing, fast-math differences, wgmma, TMA, mbarrier and clusters.
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
