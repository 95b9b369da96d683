"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import functions, lazy
from .device import Device

DEVICE = Device("cpu")


def _scatter_add(array: np.ndarray, index: Any, values: np.ndarray) -> None:
    np.add.at(array, index, values)


def _multiply(a: np.ndarray, b: np.ndarray) -> Any:
    if a.dtype in functions.HALVES:  # BLAS has none of them, and sums belong in float32
        return (functions.wide(a) @ functions.wide(b)).astype(a.dtype)
    return a @ b


TABLE: dict[str, Callable[..., Any]] = functions.table(np, _scatter_add, _multiply)
lazy.kernels("lucid_kernels.cpu", TABLE)

# Below this many elements NumPy's loop is as fast as Numba's threads, and its call is cheaper.
PARALLEL = 1 << 16


def _arithmetic(name: str, ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's ufunc, and the threaded kernel of that name for two large arrays of one shape."""
    large: dict[str, Callable[..., Any]] = {}
    lazy.add(large, "lucid_kernels.cpu.elementwise", name)

    array = np.ndarray

    def kernel(a: Any, b: Any, *, out: Any = None) -> Any:
        if a.__class__ is array and a.size >= PARALLEL and b.__class__ is array and a.shape == b.shape:
            return large[name](a, b, out=out)
        return ufunc(a, b) if out is None else ufunc(a, b, out=out)

    return kernel


TABLE |= {name: _arithmetic(name, TABLE[name]) for name in ("add", "sub", "mul", "div")}
