"""One value for each place, in order; and where the places of one tensor are among those of another."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...backends.sparse import CooArray, SparseArray
from ...tensor import Tensor, wrap
from ..manipulation.joining import stack
from ..sorting.search import searchsorted
from ..sorting.unique import unique
from .parts import coordinates, replaced


def numbered(coordinates: Sequence[Tensor], shape: Sequence[int]) -> Tensor:
    """The number of each place, counted row by row."""
    number = coordinates[0]
    for index, length in zip(coordinates[1:], shape[1:], strict=False):
        number = number * length + index
    return number


def places_of(numbers: Tensor, shape: Sequence[int]) -> Tensor:
    """The indices (d, n) of the places with `numbers`."""
    found = []
    for length in reversed(shape):
        found.append(numbers % max(length, 1))
        numbers = numbers.div(max(length, 1), rounding_mode="floor")
    return stack(found[::-1])


def added_up(numbers: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct `numbers` in order, and the sums of the `values` of each; of bools, whether one is True."""
    distinct, groups = unique(numbers, return_inverse=True)
    shape = (distinct._array.shape[0], *values._array.shape[1:])
    if values.dtype == _dtypes.bool_:
        return distinct, values.new_zeros(shape, dtype=_dtypes.int32).index_add(0, groups, values.int()) > 0
    return distinct, values.new_zeros(shape).index_add(0, groups, values)


def coalesced(input: Tensor) -> Tensor:
    """The tensor itself if it is coalesced or compressed, else a coalesced one; gradients pass through."""
    array = input._array
    if array.coalesced:
        return input
    sparse = array.indices.shape[0]
    lengths = array.shape[:sparse]
    with no_grad():
        if array.values.shape[0] < 2 or not sparse:
            total = wrap(array.values) if array.values.shape[0] < 2 else wrap(array.values).sum(0, keepdim=True)
            found = CooArray(array.indices[:, :1], total._array, array.shape, True)
        elif math.prod(lengths) > np.iinfo(np.int64).max:
            raise RuntimeError(f"coalesce: the places of a sparse tensor of shape {list(array.shape)} cannot be counted by int64")
        else:
            distinct, values = added_up(numbered(coordinates(array), lengths), wrap(array.values))
            found = CooArray(places_of(distinct, lengths)._array, values._array, array.shape, True)
    return replaced("coalesce", input, found)


def numbers_of(places: Any) -> Tensor:
    """The numbers of the places, in whatever order they stand."""
    found: Tensor | None = places.cache.get("numbers")
    if found is None:
        found = places.cache["numbers"] = numbered(coordinates(places), places.shape)
    return found


def looked_up(places: SparseArray, others: SparseArray) -> tuple[Tensor, Tensor]:
    """For each of the `places` where it stands among `others`, which are coalesced, and whether it does at all."""
    known, wanted = numbers_of(others), numbers_of(places)
    order = None
    if getattr(others, "sparse_layout", None) is not None and others.__class__ is not CooArray:
        order = known.argsort()  # by columns, or with unsorted columns
        known = known[order]
    count = known._array.shape[0]
    if not count:
        return wanted * 0, wanted != wanted
    positions = searchsorted(known, wanted).clamp(max=count - 1)
    found = known[positions] == wanted
    return (positions if order is None else order[positions]), found
