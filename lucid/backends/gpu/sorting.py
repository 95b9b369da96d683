"""Sorted arrays and scans on a GPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ..common import scans, sorting
from ..half_precision import wide
from ..merge import merge

Array = Any
Kernel = Callable[..., Any]


def sort(x: Array, *, axis: int, descending: bool) -> tuple[Array, Array]:
    """The elements in order along `axis`, and where they were."""
    indices = sorting.order(cupy.argsort, x, axis, descending)
    return cupy.take_along_axis(x, indices, axis), indices


def topk(x: Array, *, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """The first `k` of `sort`: CuPy partitions by sorting."""
    indices = sorting.order(cupy.argsort, x, axis, largest)[(*(slice(None),) * axis, slice(k))]
    return cupy.take_along_axis(x, indices, axis), indices


def searchsorted(edges: Array, values: Array, *, right: bool) -> Array:
    """For rows of sorted `edges` (rows, m), or one vector (m,), the positions of `values` (rows, n) or (any shape)."""
    edges, values = wide(edges), wide(values)
    if edges.ndim > 1:
        return _bisect(edges, values, right)
    return cupy.searchsorted(edges, values.reshape(-1), "right" if right else "left").reshape(values.shape)


def _bisect(edges: Array, values: Array, right: bool) -> Array:
    """`searchsorted` for all rows at once."""
    low = cupy.zeros(values.shape, np.int64)
    high = cupy.full(values.shape, edges.shape[1], np.int64)
    for _ in range(edges.shape[1].bit_length()):
        middle = (low + high) // 2
        there = cupy.take_along_axis(edges, cupy.minimum(middle, edges.shape[1] - 1), 1)
        beyond = (there <= values) if right else (there < values)
        if edges.dtype.kind == "f":
            beyond |= cupy.isnan(values) & ~cupy.isnan(there)
            if right:
                beyond |= cupy.isnan(values)
        beyond &= low < high
        low, high = cupy.where(beyond, middle + 1, low), cupy.where(beyond, high, middle)
    return low


TABLE: dict[str, Kernel] = merge(
    sorting.table(cupy), scans.table(cupy, scans.accumulate_by_doubling),
    {"argsort": cupy.argsort, "searchsorted": searchsorted, "sort": sort, "topk": topk})
