"""Fixtures of the simulator's tests. Nothing here needs a GPU; what needs g++ and CUDA's headers is skipped without."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from lucid_kernels import extras, simulator

NEEDS_COMPILER = pytest.mark.skipif(
    not simulator.available(), reason=f"needs g++ and the CUDA headers: {extras.command('simulator')}"
)


def schedule_name(schedule: simulator.Schedule) -> str:
    """The schedule as a test's name."""
    return schedule.order + (str(schedule.seed) if schedule.order == "shuffled" else "")


@pytest.fixture(params=simulator.SCHEDULES, ids=schedule_name)
def each_schedule(request: pytest.FixtureRequest) -> Iterator[simulator.Schedule]:
    """The test runs under every schedule."""
    with simulator.schedule(request.param):
        yield request.param


@pytest.fixture
def cp() -> Iterator[ModuleType]:
    """The stand-in, under the name `cupy` for the time of the test."""
    was_installed = simulator.installed()
    yield simulator.install()
    if not was_installed:
        simulator.uninstall()
