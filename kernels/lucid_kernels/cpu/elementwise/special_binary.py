"""Special functions of two arguments, which are broadcast: computed in float64 and rounded once to their dtype."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, chunks, deliver, result
from ..math import gamma
from ..math import incomplete_gamma as incomplete
from ..runtime.jit import jit_parallel


def _binary(loop: Callable[..., None], a: Array, b: Array, out: Array | None, *attributes: float) -> Array:
    """Apply a loop over the flat arrays `(a, b, y)`, broadcast together."""
    a, b = np.broadcast_arrays(a, b)
    y = result(out, a.shape, a.dtype)
    loop(a.ravel(), b.ravel(), y.ravel(), *attributes)
    return deliver(out, y)


@jit_parallel
def _zeta(x: Any, q: Any, y: Any) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = gamma.zeta(np.float64(x[j]), np.float64(q[j]))


@upcast_half
def zeta(x: Array, q: Array, *, out: Array | None = None) -> Array:
    """The Hurwitz zeta function, the sum of (k + q)^-x over k >= 0."""
    return _binary(_zeta, x, q, out)


_TOLERANCE = {"d": 1.1e-16, "f": 1e-10}  # relative, of the series and fractions


@jit_parallel
def _gammainc(a: Any, x: Any, y: Any, tolerance: float) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = incomplete.gammainc(np.float64(a[j]), np.float64(x[j]), tolerance)


@upcast_half
def gammainc(a: Array, x: Array, *, out: Array | None = None) -> Array:
    """The lower regularised incomplete gamma function P(a, x)."""
    return _binary(_gammainc, a, x, out, _TOLERANCE[a.dtype.char])


@jit_parallel
def _gammaincc(a: Any, x: Any, y: Any, tolerance: float) -> None:
    for i in numba.prange(chunks(y.shape[0])):
        for j in range(i * GRAIN, min(y.shape[0], (i + 1) * GRAIN)):
            y[j] = incomplete.gammaincc(np.float64(a[j]), np.float64(x[j]), tolerance)


@upcast_half
def gammaincc(a: Array, x: Array, *, out: Array | None = None) -> Array:
    """The upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _binary(_gammaincc, a, x, out, _TOLERANCE[a.dtype.char])
