"""Bags of rows of a lookup table, added up or with their maxima: see `embedding_bag.cu`. One launch each."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, rows

_NOT_ZERO = launch.error_code("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                              "However, got {value}", RuntimeError)
_TOO_LARGE = launch.error_code("offsets[-1] can not be greater than input's length {limit} but got offsets[-1] of {value}",
                               RuntimeError)
_DECREASING = launch.error_code("embedding_bag: offsets must not decrease", RuntimeError)
_LONG = np.dtype(np.int64)


def bag_edges(offsets: Any, *, count: int, include_last: bool) -> Any:
    """The int64 edges (B + 1,) of bags of `count` elements. Offsets that are none leave a RuntimeError for `raise_pending`."""
    if include_last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    edges = launch.empty((offsets.size + (not include_last),), _LONG)
    offsets = copies.contiguous(offsets)
    launch.kernel("embedding_bag", f"bag_edges<{launch.ctype(offsets.dtype)}>")(
        *launch.grid_1d(edges.size),
        (offsets, np.int64(offsets.size), edges, *map(np.int64, (edges.size, count)), launch.error_flag(), _NOT_ZERO, _TOO_LARGE,
         _DECREASING))  # fmt: skip
    return edges


def bag_indices(offsets: Any, *, count: int) -> Any:
    """The bag that each of `count` elements is in; bag b begins at offsets[b] and ends before offsets[b + 1]."""
    bags = launch.empty((count,), _LONG)
    if count:
        launch.kernel("embedding_bag", "bag_indices")(
            *launch.grid_1d(count), (_as_long(offsets), bags, np.int64(count), np.int64(max(0, offsets.size - 2))))
    return bags


def bag_lengths(offsets: Any, *, dtype: Any) -> Any:
    """What the sums (B, D) of bags are divided by to be means: a column; 1 for empty bags."""
    lengths = launch.empty((offsets.size - 1, 1), dtype)
    if lengths.size:
        launch.kernel("embedding_bag", f"bag_lengths<{launch.ctype(lengths.dtype)}>")(
            *launch.grid_1d(lengths.size), (_as_long(offsets), lengths, np.int64(lengths.size)))
    return lengths


def bag_sums(weight: Any, indices: Any, offsets: Any, factors: Any, scale: Any) -> Any:
    """The sums (B, D) of the rows of `weight` in each bag, times their `factors`; `scale` matters to the gradient only."""
    y = launch.empty((offsets.size - 1, weight.shape[1]), weight.dtype)
    if y.size:
        weight = copies.contiguous(weight)
        pack = rows.pack(y.shape[1], weight, y)
        launch.kernel("embedding_bag", f"bag_sums<{launch.ctype(y.dtype)}, {pack}>")(
            *launch.grid_1d(y.size // pack),
            (weight, _as_long(indices), _as_long(offsets), *launch.optional(factors, weight), y,
             *map(np.int64, (len(y), y.shape[1] // pack, len(weight)))))  # fmt: skip
    return y


def bag_maxima(weight: Any, indices: Any, offsets: Any) -> Any:
    """The rows (B, D) of `weight` in which the maxima of bags stand, -1 for those of empty bags.

    The first of equal ones; NaN is larger than nothing, but stays where it comes first, as in PyTorch.
    """
    y = launch.empty((offsets.size - 1, weight.shape[1]), _LONG)
    if y.size:
        weight = copies.contiguous(weight)
        launch.kernel("embedding_bag", f"bag_maxima<{launch.ctype(weight.dtype)}>")(
            *launch.grid_1d(y.size),
            (weight, _as_long(indices), _as_long(offsets), y, *map(np.int64, (*y.shape, len(weight)))))  # fmt: skip
    return y


def _as_long(numbers: Any) -> Any:
    return copies.contiguous(numbers) if numbers.dtype == _LONG else copies.copied(numbers, _LONG)
