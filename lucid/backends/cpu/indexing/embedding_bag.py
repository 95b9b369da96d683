"""Bags of embeddings on the CPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...half_precision import HALVES, wide
from ...sizes import EMBEDDING_BAG_FROM
from .scatter import scatter_add

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]


def bag_edges(offsets: Array, *, count: int, include_last: bool) -> Array:
    """The int64 edges (B + 1,) of bags of `count` elements. Raises RuntimeError for offsets that are none."""
    if offsets.size:
        if offsets[0] != 0:
            raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                               f"position 0. However, got {offsets[0]}")
        if offsets[-1] > count:
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
                               f"{offsets[-1]}")
        if (offsets[1:] < offsets[:-1]).any():
            raise RuntimeError("embedding_bag: offsets must not decrease")
    if not include_last:
        offsets = np.concatenate([offsets, np.full(1, count, offsets.dtype)])
    elif not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    return offsets.astype(np.int64, copy=False)


def bag_indices(offsets: Array, *, count: int) -> Array:
    """The bag that each of `count` elements is in; bag b begins at offsets[b] and ends before offsets[b + 1]."""
    return np.cumsum(np.bincount(offsets[1:-1], minlength=count + 1)[:count])


def bag_lengths(offsets: Array, *, dtype: Any) -> Array:
    """What the sums (B, D) of bags are divided by to be means: a column; 1 for empty bags."""
    lengths: Array = np.maximum(offsets[1:] - offsets[:-1], 1)[:, None].astype(dtype)
    return lengths


def bag_sums(weight: Array, indices: Array, offsets: Array, factors: Array | None, scale: Array | None) -> Array:
    """The sums (B, D) of the rows of `weight` in each bag, times their `factors`; `scale` matters to the gradient only."""
    if indices.size * weight.shape[1] < EMBEDDING_BAG_FROM or weight.dtype in HALVES:
        rows = wide(weight.take(indices, axis=0))
        total = np.zeros((offsets.size - 1, weight.shape[1]), rows.dtype)
        scatter_add(total, bag_indices(offsets, count=indices.size), rows if factors is None else rows * wide(factors)[:, None])
        return total.astype(weight.dtype, copy=False)
    from lucid_kernels.cpu.indexing import embedding_bag as kernels

    return kernels.sum_bags(weight, indices, offsets, factors)


def bag_maxima(weight: Array, indices: Array, offsets: Array) -> Array:
    """The rows (B, D) of `weight` in which the maxima of bags stand, -1 for those of empty bags.

    The first of equal ones; NaN is larger than nothing, but stays where it comes first, as in PyTorch.
    """
    lengths, shape = offsets[1:] - offsets[:-1], (offsets.size - 1, weight.shape[1])
    if 0 in (*shape, indices.size):
        return np.full(shape, -1, np.int64)
    if indices.size * weight.shape[1] >= EMBEDDING_BAG_FROM and weight.dtype not in HALVES:
        from lucid_kernels.cpu.indexing import embedding_bag as kernels

        return kernels.find_maxima(weight, indices, offsets)
    positions = offsets[:-1, None] + np.arange(int(lengths.max()))
    looked_up = indices[np.minimum(positions, indices.size - 1)]
    values = wide(weight.take(looked_up.reshape(-1), axis=0)).reshape(*looked_up.shape, -1)
    values = np.where(np.isnan(values) | (positions >= offsets[1:, None])[..., None], values.dtype.type(-np.inf), values)
    values[:, 0] = np.where(np.isnan(wide(weight.take(looked_up[:, 0], axis=0))), values.dtype.type(np.inf), values[:, 0])
    best = np.take_along_axis(looked_up, values.argmax(axis=1), 1)
    return np.where((lengths > 0)[:, None], best, -1)


TABLE: dict[str, Kernel] = {
    function.__name__: function for function in (bag_edges, bag_indices, bag_lengths, bag_maxima, bag_sums)}
