"""Interpolation on the CPU; large planes by a kernel."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..common import interpolation
from ..common.interpolation import Band
from ..sizes import MANY

Array = Any
Kernel = Callable[..., Any]

_by_taps = interpolation.planes_by_taps(np)


def _resample_planes(x: Array, rows: Band | None, columns: Band | None) -> Array:
    if x.size < MANY:
        return _by_taps(x, rows, columns)
    from lucid_kernels.cpu.interpolation import resize as kernels

    return kernels.resample(x, *[band and kernels.Band(*band) for band in (rows, columns)])


def table(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend, by the time of a call."""
    return interpolation.table(np, entries, _resample_planes)
