"""Gamma numbers: see `gamma.cu`. The numbers are those of `lucid_kernels.cpu.random.gamma`."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.random.random import as_uint64
from lucid_kernels.cuda.runtime import launch


@launch.upcast_half
def random_gamma(shape: Any, *, seed: int, offset: int, log: bool = False, out: Any = None) -> Any:
    """A number from the gamma distribution of each `shape`, or its logarithm, which does not underflow; NaN for negative shapes.

    Numbers are at least the smallest normal one of their dtype.
    """
    shape = copies.contiguous(shape)
    y = launch.result(out, shape.shape, shape.dtype)
    if shape.size:
        least = np.float64(-np.inf if log else np.finfo(y.dtype).tiny)
        counters = map(as_uint64, (seed, offset))
        launch.kernel("gamma", f"random_gamma<{launch.ctype(shape.dtype)}>")(
            *launch.grid_1d(shape.size), (shape, y, np.int32(log), least, *counters, np.int64(shape.size)))
    return launch.deliver(y, out)
