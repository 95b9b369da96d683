"""From values to a sparse tensor and back, as recorded operations."""
from __future__ import annotations

from ...backends.sparse import SparseArray
from ...tensor import Tensor, version_box
from .coalescing import coalesced, looked_up
from .parts import coordinates, is_sparse, recorded


def assembled(values: Tensor, places: SparseArray) -> Tensor:
    """The sparse tensor that has `values` in the places of `places`."""
    array = places.with_values(values._array)
    return recorded("sparse_of_values", array, (values,), lambda g, y: (values_at(g, array),))


def stored(input: Tensor) -> Tensor:
    """The values of a coalesced or compressed tensor; they share its memory."""
    places = input._array
    result = recorded("values", places.values, (input,), lambda g, y: (assembled(g, places),))
    result._version_box = version_box(input)
    return result


def values_at(g: Tensor, places: SparseArray) -> Tensor:
    """The elements of a dense or sparse tensor at `places`; its dimensions beyond the sparse ones whole."""
    if not is_sparse(g):
        return g[coordinates(places)]
    array = g._array
    same = array.parts()[:-1], places.parts()[:-1]
    if len(same[0]) == len(same[1]) and all(a is b for a, b in zip(*same, strict=True)) and getattr(array, "coalesced", True):
        return stored(g)
    g = coalesced(g)
    positions, found = looked_up(places, g._array)
    values = stored(g)
    if not values._array.shape[0]:
        return values.new_zeros((positions._array.shape[0], *values._array.shape[1:]))
    picked = values[positions]
    return picked * found.reshape(-1, *[1] * (picked.ndim - 1)).to(picked.dtype)
