"""Whether the device 'gpu' can be used, and if not, exactly why."""
from __future__ import annotations

import functools
import importlib.util
import os

from lucid_kernels import extras

SIMULATE = "LUCID_GPU=simulated runs the GPU path on the CPU, slowly, for tests"


def simulated() -> bool:
    """Whether the variable LUCID_GPU names the simulator."""
    value = os.environ.get("LUCID_GPU", "")
    if value not in ("", "simulated"):
        raise RuntimeError(f"LUCID_GPU={value!r} is not understood; the only value is 'simulated'")
    return value == "simulated"


_forbidden: str | None = None


def forbid(reason: str) -> None:
    """Make 'gpu' unusable in this process, with `reason` as the error; for processes that must not touch a GPU."""
    global _forbidden
    _forbidden = reason
    gpu_problem.cache_clear()


@functools.cache
def gpu_problem() -> str | None:
    """None when 'gpu' is usable, else a sentence that says what is missing and what to do."""
    if _forbidden is not None:
        return _forbidden
    if simulated():
        from lucid_kernels import simulator

        if simulator.available():
            return None
        return ("LUCID_GPU=simulated needs g++ and the CUDA headers: install g++ with the system's package manager and "
                f"run {extras.command('simulator')}")
    if importlib.util.find_spec("cupy") is None:
        return (f"device 'gpu' needs CuPy: {extras.command('cuda13')} (CUDA 13 driver) or {extras.command('cuda12')} "
                f"(CUDA 12 driver); {SIMULATE}")
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # the driver is missing or too old: CuPy has several classes for that
        return f"CuPy is installed but finds no usable CUDA driver or device ({error}); {SIMULATE}"
    return None if count else f"CuPy is installed but there is no CUDA device; {SIMULATE}"


if os.environ.get("LUCID_GPU") == "simulated":  # whoever imports CuPy from now on gets the simulator's stand-in
    from lucid_kernels.simulator.installation import install_lazily

    install_lazily()
