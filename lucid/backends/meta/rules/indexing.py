"""Rules of elements by index."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..array import MetaArray, blank
from ..probe import Probe, delivered, probed
from .manipulation import broadcast_to
from .new_rules import data_dependent, new_rules

RULES, rule = new_rules()


@rule
def getitem(x: MetaArray, *, index: tuple[Any, ...]) -> MetaArray:
    arrays = [item for item in index if hasattr(item, "dtype")]
    if not arrays:
        return x[index]
    if any(array.dtype.kind == "b" for array in arrays):
        data_dependent("nonzero")(*arrays)
    return probed("getitem")(x, index=index)


@rule
def index_put(x: MetaArray, values: Any, *, index: Any, accumulate: bool = False, out: MetaArray | None = None) -> MetaArray:
    if isinstance(values, MetaArray) and not any(hasattr(item, "dtype") and item.dtype.kind == "b" for item in index):
        broadcast_to(values, shape=getitem(x, index=index).shape)
    return x.copy() if out is None else out


@rule
def scatter_new(values: MetaArray, *, shape: tuple[int, ...], index: Any, unique: bool) -> MetaArray:
    return blank(shape, values.dtype)


@rule
def gather_grad(g: MetaArray, indices: MetaArray, *, shape: tuple[int, ...], axis: int, unique: bool = False) -> MetaArray:
    return blank(shape, g.dtype)


RULES["index_select_grad"] = gather_grad


@rule
def topk(x: MetaArray, *, k: int, axis: int, largest: bool) -> tuple[MetaArray, MetaArray]:
    result: tuple[MetaArray, MetaArray] = Probe("topk", (x,))((x,), {"k": min(k, 1), "axis": axis, "largest": largest}, axis, k)
    return result


@rule
def check_bounds(indices: MetaArray, *, low: int, high: int, message: str) -> None:
    return None


@rule
def check_nonzero(numbers: MetaArray, *, message: str) -> None:
    return None


@rule
def bag_indices(offsets: MetaArray, *, count: int) -> MetaArray:
    return blank((count,), np.int64)


@rule
def bag_edges(offsets: MetaArray, *, count: int, include_last: bool) -> MetaArray:
    if include_last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    return blank((offsets.size + (not include_last),), np.int64)


@rule
def bag_lengths(offsets: MetaArray, *, dtype: Any) -> MetaArray:
    return blank((offsets.size - 1, 1), dtype)


@rule
def bag_sums(weight: MetaArray, indices: MetaArray, offsets: MetaArray, *others: MetaArray | None) -> MetaArray:
    return blank((offsets.size - 1, weight.shape[1]), weight.dtype)


@rule
def bag_maxima(weight: MetaArray, indices: MetaArray, offsets: MetaArray) -> MetaArray:
    return blank((offsets.size - 1, weight.shape[1]), np.int64)


@rule
def count_bins(x: MetaArray, edges: MetaArray | None, *, low: float, high: float, bins: int) -> MetaArray:
    return blank((bins,), np.dtype(np.int64))


@rule
def embedding(weight: MetaArray, indices: MetaArray, *, padding_idx: int | None) -> MetaArray:
    return blank((*indices.shape, *weight.shape[1:]), weight.dtype)


@rule
def embedding_grad(g: MetaArray, indices: MetaArray, *, rows: int, padding_idx: int | None, out: MetaArray | None = None
                   ) -> MetaArray:
    return delivered(blank((rows, *g.shape[1:]), g.dtype), out)
