"""Fixtures for tests of your own kernels: ``pytest_plugins = ["lucid.extension.fixtures"]`` in `conftest.py`, or ``pytest -p
lucid.extension.fixtures``. They are not loaded otherwise. Where there is no GPU, the device 'gpu' is the simulator from then on.
"""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from ..backends import gpu_probe

_chosen = os.environ.get("LUCID_GPU")
if _chosen is None and gpu_probe.gpu_problem() is not None:
    from lucid_kernels import simulator
    from lucid_kernels.simulator.installation import install_lazily

    if simulator.available():
        os.environ["LUCID_GPU"] = "simulated"
        install_lazily()  # whoever imports CuPy gets the stand-in
        gpu_probe.gpu_problem.cache_clear()


@pytest.fixture
def simulated_gpu() -> str:
    """The device 'gpu', of the simulator; skips where a real GPU is used, or g++ or CUDA's headers are missing."""
    problem = gpu_probe.gpu_problem()
    if problem is not None:
        pytest.skip(problem)
    if not gpu_probe.simulated():
        pytest.skip("the device 'gpu' is a real one: LUCID_GPU=simulated asks for the simulator")
    return "gpu"


def pytest_generate_tests(metafunc: Any) -> None:
    """A test with the fixture `gpu_schedule` runs under each schedule of the simulator; on a GPU, which has its own, once."""
    if "gpu_schedule" in metafunc.fixturenames:
        from lucid_kernels.simulator import SCHEDULES

        chosen = list(SCHEDULES) if gpu_probe.simulated() else [None]
        names = [f"{each.order}-{each.seed}" if each else "gpu" for each in chosen]
        metafunc.parametrize("gpu_schedule", chosen, ids=names, indirect=True)


@pytest.fixture
def gpu_schedule(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The order in which the simulator runs threads and blocks in this test, each of `lucid_kernels.simulator.SCHEDULES` in turn;
    None on a GPU.
    """
    problem = gpu_probe.gpu_problem()
    if problem is not None:
        pytest.skip(problem)
    if request.param is None:
        yield None
        return
    from lucid_kernels.simulator import schedule

    with schedule(request.param):
        yield request.param
