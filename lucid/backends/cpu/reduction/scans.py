"""Running sums, products, extrema and log-sums of CPU arrays; sums and products are accumulated in twice the precision.

So does PyTorch. NumPy adds float32 to float32: after a thousand elements the error is ten times PyTorch's.
"""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...common import scans
from ...half_precision import wide
from ...sizes import MANY, SCAN_FROM

Array = Any
Kernel = Callable[..., Any]

_WIDER = {np.dtype("f4"): np.dtype("f8"), np.dtype("c8"): np.dtype("c16")}


def _accumulate(combine: Kernel, x: Array, axis: int) -> Array:
    if isinstance(combine, np.ufunc):
        return combine.accumulate(x, axis)
    return scans.accumulate_by_doubling(combine, x, axis)


_shared = SimpleNamespace(**scans.table(np, _accumulate))


def _in_double(name: str, x: Array, axis: int, target: Any, **options: Any) -> Array:
    if target not in _WIDER:
        return getattr(_shared, name)(x, axis=axis, **options)
    total = getattr(_shared, name)(x.astype(_WIDER[target]), axis=axis)
    return total.astype(target)  # values that are too large are infinite, without a warning


def _scan(name: str, x: Array, axis: int, dtype: Any) -> Array:
    if x.size < SCAN_FROM or x.dtype.char not in "fd" or (dtype is not None and dtype != x.dtype):
        return _in_double(name, x, axis, dtype or x.dtype, dtype=dtype)
    from lucid_kernels.cpu.reduction import cumsum as kernels

    return getattr(kernels, name)(x, axis=axis)


def cumsum(x: Array, *, axis: int, dtype: Any = None) -> Array:
    """The sums so far."""
    return _scan("cumsum", x, axis, dtype)


def cumprod(x: Array, *, axis: int, dtype: Any = None) -> Array:
    """The products so far."""
    return _scan("cumprod", x, axis, dtype)


def logcumsumexp(x: Array, *, axis: int) -> Array:
    """``log(cumsum(exp(x)))``, which does not overflow."""
    return _in_double("logcumsumexp", x, axis, x.dtype)


def _running(name: str, x: Array, axis: int) -> tuple[Array, Array]:
    widened = wide(x) if x.size >= MANY else x
    if x.size < MANY or widened.dtype.char not in "fdlqi":
        values, indices = getattr(_shared, name)(x, axis=axis)
        return values, indices
    from lucid_kernels.cpu.reduction import cummax as kernels

    values, indices = kernels.running_extremes(widened, axis=axis, smallest=name == "cummin")
    return values.astype(x.dtype, copy=False), indices


def cummax(x: Array, *, axis: int) -> tuple[Array, Array]:
    """The largest elements so far and their last indices; the first NaN stays, at the last NaN's place."""
    return _running("cummax", x, axis)


def cummin(x: Array, *, axis: int) -> tuple[Array, Array]:
    """The smallest elements so far, as `cummax`."""
    return _running("cummin", x, axis)


TABLE: dict[str, Kernel] = {
    "cummax": cummax, "cummin": cummin, "cumprod": cumprod, "cumsum": cumsum, "logcumsumexp": logcumsumexp}
