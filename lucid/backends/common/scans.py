"""Running sums, products, extrema and log-sums, for NumPy and CuPy: `table(xp, accumulate)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import HALVES, in_float32, wide

Array = Any
Kernel = Callable[..., Any]


def accumulate_by_doubling(combine: Kernel, x: Array, axis: int) -> Array:
    """The scan of `x` along `axis` with an associative function of two arrays, in log2(n) steps over the whole array."""
    result, step, length, lead = x.copy(), 1, x.shape[axis], (slice(None),) * axis
    while step < length:
        late, early = (*lead, slice(step, None)), (*lead, slice(length - step))
        result[late] = combine(result[early], result[late])
        step *= 2
    return result


def table(xp: Any, accumulate: Callable[[Kernel, Array, int], Array]) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy) with its `accumulate`, as `accumulate_by_doubling` is one."""

    def cumsum(x: Array, *, axis: int, dtype: Any = None) -> Array:
        """The sums so far; those of half-precision elements are accumulated in float32."""
        if (dtype or x.dtype) in HALVES:
            return in_float32(x).cumsum(axis=axis).astype(dtype or x.dtype)
        return x.cumsum(axis=axis, dtype=dtype)

    def cumprod(x: Array, *, axis: int, dtype: Any = None) -> Array:
        """The products so far; those of half-precision elements are accumulated in float32."""
        if (dtype or x.dtype) in HALVES:
            return in_float32(x).cumprod(axis=axis).astype(dtype or x.dtype)
        return x.cumprod(axis=axis, dtype=dtype)

    def running(combine: Kernel, x: Array, axis: int) -> tuple[Array, Array]:
        keys = wide(x)
        best = accumulate(combine, keys, axis)
        here = keys == best
        if keys.dtype.kind in "fc":
            here |= xp.isnan(keys)
        positions = xp.arange(x.shape[axis]).reshape([-1 if dim == axis else 1 for dim in range(x.ndim)])
        return best.astype(x.dtype, copy=False), accumulate(xp.maximum, xp.where(here, positions, 0), axis)

    def cummax(x: Array, *, axis: int) -> tuple[Array, Array]:
        """The largest elements so far and their last indices; the first NaN stays, at the last NaN's place."""
        return running(xp.maximum, x, axis)

    def cummin(x: Array, *, axis: int) -> tuple[Array, Array]:
        """The smallest elements so far, as `cummax`."""
        return running(xp.minimum, x, axis)

    def add_exponents(a: Array, b: Array) -> Array:
        """``log(exp(a) + exp(b))`` of complex numbers."""
        peak = xp.maximum(a.real, b.real)
        peak = xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))
        with np.errstate(divide="ignore"):
            return xp.log(xp.exp(a - peak) + xp.exp(b - peak)) + peak

    def logcumsumexp(x: Array, *, axis: int) -> Array:
        """``log(cumsum(exp(x)))``, which does not overflow."""
        combine = add_exponents if x.dtype.kind == "c" else xp.logaddexp
        return accumulate(combine, wide(x), axis).astype(x.dtype, copy=False)

    return {"cummax": cummax, "cummin": cummin, "cumprod": cumprod, "cumsum": cumsum, "logcumsumexp": logcumsumexp}
