"""Pathwise gradients of gamma and Dirichlet numbers: computed in float64 and rounded once to their dtype."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, deliver, result
from ..math.pathwise import beta_slope, gamma_slope
from ..runtime.jit import jit_parallel
from ..runtime.tuning import FEW_SLOW_ELEMENTS as _PIECE


@jit_parallel
def _gamma_slopes(a: Any, x: Any, y: Any) -> None:
    for i in numba.prange((y.shape[0] + _PIECE - 1) // _PIECE):
        for j in range(i * _PIECE, min(y.shape[0], (i + 1) * _PIECE)):
            y[j] = gamma_slope(np.float64(a[j]), np.float64(x[j]))


@upcast_half
def standard_gamma_grad(a: Array, x: Array, *, out: Array | None = None) -> Array:
    """dx/da of numbers x from gamma distributions of shape `a` and rate 1; the arrays are broadcast."""
    a, x = np.broadcast_arrays(a, x)
    y = result(out, a.shape, a.dtype)
    _gamma_slopes(a.ravel(), x.ravel(), y.ravel())
    return deliver(out, y)


@jit_parallel
def _beta_slopes(x: Any, a: Any, total: Any, y: Any) -> None:
    for i in numba.prange((y.shape[0] + _PIECE - 1) // _PIECE):
        for j in range(i * _PIECE, min(y.shape[0], (i + 1) * _PIECE)):
            y[j] = beta_slope(np.float64(a[j]), np.float64(total[j]) - np.float64(a[j]), np.float64(x[j]))


@upcast_half
def dirichlet_grad(x: Array, a: Array, total: Array, *, out: Array | None = None) -> Array:
    """(dx/da) / (1 - x) of numbers x whose distributions are beta, of `a` and ``total - a``; the arrays are broadcast."""
    x, a, total = np.broadcast_arrays(x, a, total)
    y = result(out, x.shape, x.dtype)
    _beta_slopes(x.ravel(), a.ravel(), total.ravel(), y.ravel())
    return deliver(out, y)
