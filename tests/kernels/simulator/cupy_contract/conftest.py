"""CuPy, real or the stand-in."""
from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from lucid_kernels import simulator
from lucid_kernels.simulator.cupy_names import real_cupy


def _real_with_gpu() -> ModuleType | None:
    try:
        with real_cupy() as cupy:
            return cupy if cupy is not None and cupy.cuda.runtime.getDeviceCount() > 0 else None
    except Exception:  # no driver or no device: CuPy has an exception class for each
        return None


@pytest.fixture
def cp() -> Iterator[ModuleType]:
    real = _real_with_gpu()
    if real is not None:
        yield real
        return
    was_installed = simulator.installed()
    yield simulator.install()
    if not was_installed:
        simulator.uninstall()
