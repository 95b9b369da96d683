"""Bags of embeddings on the CPU."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...common import embedding_bag
from ...half_precision import HALVES
from ...sizes import EMBEDDING_BAG_FROM
from .scatter import scatter_add

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]


_shared = SimpleNamespace(**embedding_bag.table(np, scatter_add))


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
    return _shared.bag_edges(offsets, count=count, include_last=include_last)


def bag_sums(weight: Array, indices: Array, offsets: Array, factors: Array | None, scale: Array | None) -> Array:
    """The sums (B, D) of the rows of `weight` in each bag, times their `factors`; `scale` matters to the gradient only."""
    if indices.size * weight.shape[1] < EMBEDDING_BAG_FROM or weight.dtype in HALVES:
        return _shared.bag_sums(weight, indices, offsets, factors, scale)
    from lucid_kernels.cpu.indexing import embedding_bag as kernels

    return kernels.sum_bags(weight, indices, offsets, factors)


def bag_maxima(weight: Array, indices: Array, offsets: Array) -> Array:
    """The rows (B, D) of `weight` in which the maxima of bags stand, -1 for those of empty bags."""
    if indices.size * weight.shape[1] < EMBEDDING_BAG_FROM or weight.dtype in HALVES:
        return _shared.bag_maxima(weight, indices, offsets)
    from lucid_kernels.cpu.indexing import embedding_bag as kernels

    return kernels.find_maxima(weight, indices, offsets)


TABLE: dict[str, Kernel] = {"bag_edges": bag_edges, "bag_lengths": _shared.bag_lengths, "bag_maxima": bag_maxima,
                            "bag_indices": _shared.bag_indices, "bag_sums": bag_sums}
