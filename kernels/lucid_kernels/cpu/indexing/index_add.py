"""Slices added up by their indices along one dimension: gradients of selected and of repeated slices.

A slice is a row or a single element here, in any case read and written in order; NumPy's `add.at` looks up each element.
Threads share the other dimensions, so slices with the same index are added in their order.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array
from ..runtime.jit import jit, jit_parallel

# Columns of slices that a task adds, where it has one of the outer dimensions only.
_COLUMNS = 256


@jit
def _add(values, indices, target, left, right):
    """target[indices[i], left:right] += values[i, left:right], in the order of i."""
    if right - left == 1:
        for i in range(indices.shape[0]):
            target[indices[i], left] += values[i, left]
        return
    for i in range(indices.shape[0]):
        row, source = target[indices[i], left:right], values[i, left:right]
        for j in range(row.shape[0]):
            row[j] += source[j]


@jit_parallel
def _add_parallel(values, indices, target, parts, each):
    outer, width = values.shape[0], values.shape[2]
    for task in numba.prange((outer + each - 1) // each * parts):
        first, part = task // parts * each, task % parts
        for n in range(first, min(outer, first + each)):
            _add(values[n], indices, target[n], part * width // parts, (part + 1) * width // parts)


def scatter_add(target: Array, indices: Array, values: Array, axis: int) -> None:
    """Add values (*a, n, *b) to the slices indices (n,) along `axis` of target (*a, length, *b), in place.

    All of one floating dtype; `target` and `values` are contiguous, the indices in range and not negative.
    """
    outer = int(np.prod(values.shape[:axis], dtype=np.int64))
    slices, added = target.reshape(outer, target.shape[axis], -1), values.reshape(outer, indices.size, -1)
    size = added.shape[1] * added.shape[2]
    each = max(1, GRAIN // size)
    parts = max(1, added.shape[2] // _COLUMNS) if outer < 8 and each == 1 else 1
    _add_parallel(added, np.ascontiguousarray(indices), slices, parts, each)
