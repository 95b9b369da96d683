"""Softmax and log-softmax along one dimension, with their gradients, on a GPU."""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch

# With fewer slices than this the strided kernel, a thread a slice, leaves the chip idle; with few elements a slice
# that does not matter. Transposing first then costs two more passes, but all threads work. Chosen, not measured.
_FEW_SLICES = 4096
_LONG_SLICE = 256


def _run(name: str, arrays: tuple[Any, ...], dim: int, out: Any) -> Any:
    """Launch `name` over the slices along `dim` of equally shaped arrays."""
    x = arrays[0]
    shape = x.shape
    dim = dim % max(1, x.ndim)
    length = shape[dim] if shape else 1
    inner = math.prod(shape[dim + 1 :])
    slices = x.size // length if length else 0
    if inner > 1 and slices < _FEW_SLICES and length >= _LONG_SLICE:
        moved = tuple(cupy.moveaxis(array, dim, -1) for array in arrays)
        return launch.deliver(launch.contiguous(cupy.moveaxis(_run(name, moved, -1, None), -1, dim)), out)
    arrays = tuple(map(launch.contiguous, arrays))
    y = launch.result(out, shape, x.dtype)
    if x.size:
        rows = inner == 1
        grid, block = launch.slices(slices, length) if rows else launch.grid_1d(slices)
        name = name.format(T=launch.ctype(x.dtype), ROWS="true" if rows else "false")
        launch.kernel("softmax", name)(grid, block, (*arrays, y, np.int64(slices), np.int64(length), np.int64(inner)))
    return launch.deliver(y, out)


@launch.upcast_half
def softmax(x: Any, *, dim: int, out: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `dim`."""
    return _run("softmax<{T}, false, {ROWS}>", (x,), dim, out)


@launch.upcast_half
def softmax_grad(g: Any, y: Any, *, dim: int, out: Any = None) -> Any:
    """Gradient of `softmax` from its result."""
    return _run("softmax_grad<{T}, false, {ROWS}>", (g, y), dim, out)


@launch.upcast_half
def log_softmax(x: Any, *, dim: int, out: Any = None) -> Any:
    """x - log(sum(exp(x))) along `dim`."""
    return _run("softmax<{T}, true, {ROWS}>", (x,), dim, out)


@launch.upcast_half
def log_softmax_grad(g: Any, y: Any, *, dim: int, out: Any = None) -> Any:
    """Gradient of `log_softmax` from its result."""
    return _run("softmax_grad<{T}, true, {ROWS}>", (g, y), dim, out)
