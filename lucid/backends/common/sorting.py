"""Order statistics and counts, for NumPy and CuPy: `table(xp)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import wide

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

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

    def bincount(x: Array, weights: Array | None, *, minlength: int) -> Array:
        """How often each number occurs, or the sums of its weights."""
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
            positions = ((x - x.dtype.type(low)) * bins / x.dtype.type(high - low)).astype(np.int64)
        else:
            positions = xp.searchsorted(wide(edges), x, "right") - 1
        return xp.bincount(xp.minimum(positions, bins - 1), minlength=bins).astype(np.int64, copy=False)

    return {"bincount": bincount, "count_bins": count_bins, "lexsort": lexsort, "median": median}


def order(argsort: Kernel, x: Array, axis: int, descending: bool) -> Array:
    """The stable sorting permutation along `axis` by the `argsort` of NumPy or CuPy; NaN counts as the largest number."""
    keys = wide(x)
    if not descending:
        return argsort(keys, axis=axis, kind="stable")
    reverse = (*(slice(None),) * axis, slice(None, None, -1))
    return x.shape[axis] - 1 - argsort(keys[reverse], axis=axis, kind="stable")[reverse]
