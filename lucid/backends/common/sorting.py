"""Scans other than sums, order statistics and searches, written once: `table(xp)` binds them to numpy or cupy.

CuPy has no `ufunc.accumulate` and no `ufunc.at` for most functions. There scans and segmented reductions double the distance
that they look back: log2(n) steps over the whole array.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

    def accumulate(x: Array, axis: int, combine: Kernel) -> Array:
        """The scan of `x` along `axis` with an associative function of two arrays."""
        if xp is np and isinstance(combine, np.ufunc):
            return combine.accumulate(x, axis)
        result, step, length = x.copy(), 1, x.shape[axis]
        while step < length:
            late, early = _along(axis, slice(step, None)), _along(axis, slice(None, length - step))
            result[late] = combine(result[early], result[late])
            step *= 2
        return result

    def cumprod(x: Array, *, axis: int, dtype: Any = None) -> Array:
        if (dtype or x.dtype) in HALVES:
            return x.astype(np.float32).cumprod(axis=axis).astype(dtype or x.dtype)
        return x.cumprod(axis=axis, dtype=dtype)

    def running(combine: Kernel, x: Array, axis: int) -> tuple[Array, Array]:
        keys = wide(x)
        best = accumulate(keys, axis, combine)
        here = keys == best
        if keys.dtype.kind in "fc":
            here |= xp.isnan(keys)
        positions = xp.arange(x.shape[axis]).reshape([-1 if dim == axis else 1 for dim in range(x.ndim)])
        return best.astype(x.dtype, copy=False), accumulate(xp.where(here, positions, 0), axis, xp.maximum)

    def cummax(x: Array, *, axis: int) -> tuple[Array, Array]:
        """The largest elements so far and the last places where they were; the first NaN stays, at the last NaN's place."""
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
        combine = add_exponents if x.dtype.kind == "c" else xp.logaddexp
        return accumulate(wide(x), axis, combine).astype(x.dtype, copy=False)

    def median(x: Array, *, ignore_nan: bool) -> Array:
        """The lower of the middle elements of all; NaN if there is one, unless they are ignored, or if there are no others."""
        keys = wide(x).reshape(-1)
        count = keys.size
        if keys.dtype.kind == "f":
            missing = int(xp.isnan(keys).sum())
            count = count - missing if ignore_nan or not missing else 0
            if count == 0:
                return xp.full((), np.nan, x.dtype)
        middle = (count - 1) // 2
        return xp.partition(keys, middle)[middle].astype(x.dtype).reshape(())

    def lexsort(rows: Array) -> Array:
        """The stable permutation that sorts the rows of a matrix; the first column counts most."""
        keys = wide(rows)
        if keys.dtype.kind == "b":
            keys = keys.astype(np.uint8)
        return xp.lexsort(xp.ascontiguousarray(keys.T[::-1]))

    def searchsorted(edges: Array, values: Array, *, right: bool) -> Array:
        """For rows of sorted `edges` (rows, m), or one vector (m,), the places of `values` (rows, n) or (any shape)."""
        edges, values = wide(edges), wide(values)
        side: Any = "right" if right else "left"
        if edges.ndim == 1:
            return xp.asarray(xp.searchsorted(edges, values.reshape(-1), side)).reshape(values.shape)
        if xp is np:
            found = np.empty(values.shape, np.int64)
            for places, row, wanted in zip(found, edges, values, strict=True):
                places[:] = row.searchsorted(wanted, side)
            return found
        return bisect(edges, values, right)

    def bisect(edges: Array, values: Array, right: bool) -> Array:
        """`searchsorted` for all rows at once."""
        low = xp.zeros(values.shape, np.int64)
        high = xp.full(values.shape, edges.shape[1], np.int64)
        for _ in range(edges.shape[1].bit_length()):
            middle = (low + high) // 2
            there = xp.take_along_axis(edges, xp.minimum(middle, edges.shape[1] - 1), 1)
            beyond = (there <= values) if right else (there < values)
            if edges.dtype.kind == "f":
                beyond |= xp.isnan(values) & ~xp.isnan(there)
                if right:
                    beyond |= xp.isnan(values)
            beyond &= low < high
            low, high = xp.where(beyond, middle + 1, low), xp.where(beyond, high, middle)
        return low

    def bincount(x: Array, weights: Array | None, *, minlength: int) -> Array:
        if weights is None:
            return xp.bincount(x, minlength=minlength).astype(np.int64, copy=False)
        total = xp.bincount(x, weights=weights.astype(np.float64, copy=False), minlength=minlength)
        return total.astype(weights.dtype if weights.dtype == np.float32 else np.float64, copy=False)

    def count_bins(x: Array, edges: Array | None, *, low: float, high: float, bins: int) -> Array:
        """How many elements of `x` (n,) are in each of `bins` equal bins between `low` and `high`, the last one with its right
        edge: by their distances from `low`, or between `edges`.
        """
        x = wide(x)
        x = x[(x >= low) & (x <= high)]
        if edges is None:
            places = ((x - x.dtype.type(low)) * bins / x.dtype.type(high - low)).astype(np.int64)
        else:
            places = xp.searchsorted(wide(edges), x, "right") - 1
        return xp.bincount(xp.minimum(places, bins - 1), minlength=bins).astype(np.int64, copy=False)

    combining = {"prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}

    def scatter_reduce(x: Array, indices: Array, source: Array, *, axis: int, reduce: str) -> Array:
        """`x` combined with `source` ('prod', 'amax', 'amin') where ``gather(x, indices, axis)`` would read."""
        combine, result = combining[reduce], wide(x).copy()
        places: list[Array] = []
        for dim, length in enumerate(indices.shape):
            steps = xp.arange(length).reshape([-1 if d == dim else 1 for d in range(indices.ndim)])
            places.append(xp.broadcast_to(indices if dim == axis else steps, indices.shape))
        if xp is np:
            combine.at(result, tuple(places), wide(source))
        elif indices.size:
            combine_segments(result, places, wide(source), combine)
        return result.astype(x.dtype, copy=False)

    def combine_segments(result: Array, places: list[Array], source: Array, combine: Kernel) -> None:
        """``combine.at(result, places, source)``: sorted by place, scanned within each place, the last of each written."""
        flat = xp.zeros(source.shape, np.int64)
        for place, length in zip(places, result.shape, strict=True):
            flat = flat * length + place
        flat = flat.reshape(-1)
        order = xp.argsort(flat, kind="stable")
        keys, values = flat[order], source.reshape(-1)[order]
        step = 1
        while step < keys.size:
            same = keys[step:] == keys[:-step]
            values[step:] = xp.where(same, combine(values[:-step], values[step:]), values[step:])
            step *= 2
        last = xp.ones(keys.shape, np.bool_)
        last[:-1] = keys[1:] != keys[:-1]
        spots, found = keys[last], values[last]
        whole = result.reshape(-1)  # a view: `result` is a fresh row-major copy
        whole[spots] = combine(whole[spots], found)

    return {"cumprod": cumprod, "cummax": cummax, "cummin": cummin, "logcumsumexp": logcumsumexp, "median": median,
            "lexsort": lexsort, "searchsorted": searchsorted, "bincount": bincount, "count_bins": count_bins,
            "scatter_reduce": scatter_reduce}
