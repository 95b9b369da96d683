"""The CUDA kernels' tests run on the real CuPy where there is a GPU, else on the simulator under each of its schedules."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType

import pytest
from lucid_kernels import simulator


def _has_gpu() -> bool:
    if simulator.installed():
        return False
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except (ImportError, OSError, RuntimeError):  # no CuPy, no driver, no device
        return False


GPU = _has_gpu()
if not GPU and simulator.available():
    simulator.install()  # before the test modules import the launchers, and with them cupy

_SCHEDULES = (None,) if GPU else simulator.SCHEDULES


def pytest_ignore_collect() -> bool | None:
    """Without a GPU and without a compiler and CUDA's headers for the simulator there is nothing to run here."""
    return True if not GPU and not simulator.available() else None


@pytest.fixture(scope="session")
def cp() -> ModuleType:
    """The `cupy` module in use: the real one, or the stand-in."""
    import cupy

    return cupy


def _name(schedule: simulator.Schedule | None) -> str:
    if schedule is None:
        return "gpu"
    return schedule.order + (str(schedule.seed) if schedule.order == "shuffled" else "")


@pytest.fixture(params=_SCHEDULES, ids=_name)
def schedule(request: pytest.FixtureRequest) -> Iterator[simulator.Schedule | None]:
    """Run the test under each order of threads that the simulator knows; once on a GPU."""
    with contextlib.nullcontext() if request.param is None else simulator.schedule(request.param):
        yield request.param
