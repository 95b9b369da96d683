"""Pathwise gradients on a GPU: the formulas of the CPU kernels, in double, rounded once."""
from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch


def _slopes(name: str, out: Any, *arrays: Any) -> Any:
    arrays = tuple(map(copies.contiguous, cupy.broadcast_arrays(*arrays)))
    x = arrays[0]
    y = launch.result(out, x.shape, x.dtype)
    if x.size:
        kernel = launch.kernel("pathwise", f"{name}<{launch.ctype(x.dtype)}>")
        kernel(*launch.grid_1d(x.size), (*arrays, y, np.int64(x.size)))
    return launch.deliver(y, out)


@launch.upcast_half
def standard_gamma_grad(a: Any, x: Any, *, out: Any = None) -> Any:
    """dx/da of numbers x from gamma distributions of shape `a` and rate 1; the arrays are broadcast."""
    return _slopes("standard_gamma_grad", out, a, x)


@launch.upcast_half
def dirichlet_grad(x: Any, a: Any, total: Any, *, out: Any = None) -> Any:
    """(dx/da) / (1 - x) of numbers x whose distributions are beta, of `a` and ``total - a``; the arrays are broadcast."""
    return _slopes("dirichlet_grad", out, x, a, total)
