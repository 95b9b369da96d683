"""Sums and maxima of bags of embeddings, for NumPy and CuPy: `table(xp, scatter_add)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import wide

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, scatter_add: Kernel) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy); `scatter_add(array, index, values)` adds in place with repeated indices."""

    def bag_indices(offsets: Array, *, count: int) -> Array:
        """The bag that each of `count` elements is in; bag b begins at offsets[b] and ends before offsets[b + 1]."""
        return xp.cumsum(xp.bincount(offsets[1:-1], minlength=count + 1)[:count])

    def bag_edges(offsets: Array, *, count: int, include_last: bool) -> Array:
        """The int64 edges (B + 1,) of bags of `count` elements."""
        if not include_last:
            offsets = xp.concatenate([offsets, xp.full(1, count, offsets.dtype)])
        elif not offsets.size:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        return offsets.astype(np.int64, copy=False)

    def bag_lengths(offsets: Array, *, dtype: Any) -> Array:
        """What the sums (B, D) of bags are divided by to be means: a column; 1 for empty bags."""
        return xp.maximum(offsets[1:] - offsets[:-1], 1)[:, None].astype(dtype)

    def bag_sums(weight: Array, indices: Array, offsets: Array, factors: Array | None, scale: Array | None) -> Array:
        """The sums (B, D) of the rows of `weight` in each bag, times their `factors`; `scale` matters to the gradient only."""
        rows = wide(weight.take(indices, axis=0))
        total = xp.zeros((offsets.size - 1, weight.shape[1]), rows.dtype)
        scatter_add(total, bag_indices(offsets, count=indices.size), rows if factors is None else rows * wide(factors)[:, None])
        return total.astype(weight.dtype, copy=False)

    def bag_maxima(weight: Array, indices: Array, offsets: Array) -> Array:
        """The rows (B, D) of `weight` in which the maxima of bags stand, -1 for those of empty bags.

        The first of equal ones; NaN is larger than nothing, but stays where it comes first, as in PyTorch.
        """
        lengths, shape = offsets[1:] - offsets[:-1], (offsets.size - 1, weight.shape[1])
        if 0 in (*shape, indices.size):
            return xp.full(shape, -1, np.int64)
        positions = offsets[:-1, None] + xp.arange(int(lengths.max()))
        looked_up = indices[xp.minimum(positions, indices.size - 1)]
        values = wide(weight.take(looked_up.reshape(-1), axis=0)).reshape(*looked_up.shape, -1)
        values = xp.where(xp.isnan(values) | (positions >= offsets[1:, None])[..., None], values.dtype.type(-np.inf), values)
        values[:, 0] = xp.where(xp.isnan(wide(weight.take(looked_up[:, 0], axis=0))), values.dtype.type(np.inf), values[:, 0])
        best = xp.take_along_axis(looked_up, values.argmax(axis=1), 1)
        return xp.where((lengths > 0)[:, None], best, -1)

    functions: tuple[Kernel, ...] = (bag_edges, bag_lengths, bag_maxima, bag_indices, bag_sums)
    return {function.__name__: function for function in functions}
