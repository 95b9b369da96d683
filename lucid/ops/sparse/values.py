"""From values to a sparse tensor and back, as recorded operations."""
from __future__ import annotations

from ...backends.sparse import CooArray, SparseArray
from ...tensor import Tensor, version_box, wrap
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
    if len(same[0]) == len(same[1]) and all(a is b for a, b in zip(*same, strict=True)) and array.coalesced:
        return stored(g)
    g = coalesced(g)
    positions, found = looked_up(places, g._array)
    values = stored(g)
    if not values._array.shape[0]:
        return values.new_zeros((positions._array.shape[0], *values._array.shape[1:]))
    picked = values[positions]
    return picked * found.reshape(-1, *[1] * (picked.ndim - 1)).to(picked.dtype)


def rows_at(rows: Tensor, indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sparse tensor of `shape` that has `rows` (n, ...) at `indices` (n,), which may repeat: the gradient of a table."""
    places = CooArray(indices.long().reshape(1, -1)._array, rows._array[:0], shape)
    return assembled(rows, places)


def add_into(target: Tensor, other: Tensor, alpha: float = 1) -> None:
    """Add a sparse tensor to a dense one in place: only what it keeps is read and written."""
    array = other._array
    values = wrap(array.values)
    values = values if alpha == 1 else values * alpha
    if array.__class__ is CooArray and array.indices.shape[0] == 1:
        target.index_add_(0, wrap(array.indices).reshape(-1), values)
    else:
        target.index_put_(coordinates(array), values, accumulate=True)
