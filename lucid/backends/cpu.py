"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu import blas

from . import functions, lazy, linear_algebra
from .device import Device

DEVICE = Device("cpu")


def _scatter_add(array: np.ndarray, index: Any, values: np.ndarray) -> None:
    np.add.at(array, index, values)


def _multiply(a: np.ndarray, b: np.ndarray) -> Any:
    if a.dtype in functions.HALVES:  # BLAS has none of them, and sums belong in float32
        return (functions.wide(a) @ functions.wide(b)).astype(a.dtype)
    return blas.matmul(a, b)


TABLE: dict[str, Callable[..., Any]] = functions.table(np, _scatter_add, _multiply) | linear_algebra.table(np)
lazy.kernels("lucid_kernels.cpu", TABLE)
