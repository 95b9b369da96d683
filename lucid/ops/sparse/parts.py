"""What a sparse tensor is made of, and how an operation on its parts is recorded."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._layout import Layout
from ...autograd.grad_mode import GRAD
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.node import Node
from ...backends.sparse import CompressedArray, CooArray, SparseArray
from ...tensor import Tensor, wrap
from ..creation.creation import arange
from ..manipulation.repetition import repeat_interleave


def is_sparse(value: Any) -> bool:
    """Whether `value` is a sparse tensor of any layout."""
    return isinstance(value, Tensor) and isinstance(value._array, SparseArray)


def recorded(name: str, array: Any, parents: Sequence[Tensor], vjp: Callable[[Tensor, Any], Sequence[Any]]) -> Tensor:
    """The tensor of an `array` that was computed of `parents`, with its history."""
    result = wrap(array)
    if grad_mode.get() & GRAD and any(parent._node is not None for parent in parents) and array.dtype.kind in "fcV":
        result._node = Node(name, [parent._node for parent in parents], vjp)
    return result


def replaced(name: str, source: Tensor, array: Any, to_gradient: Callable[[Tensor], Tensor] = lambda g: g) -> Tensor:
    """A tensor of the elements of `source`, kept as `array`; the gradient of it is ``to_gradient(g)``."""
    return recorded(name, array, (source,), lambda g, y: (to_gradient(g),))


def coordinates(places: SparseArray) -> tuple[Tensor, ...]:
    """The indices of the values along each sparse dimension."""
    found: tuple[Tensor, ...] | None = places.cache.get("coordinates")
    if found is None:
        if isinstance(places, CooArray):
            found = tuple(wrap(places.indices).unbind(0))
        else:
            compressed = expanded(wrap(places.compressed))
            plain = wrap(places.plain)
            plain = plain if plain.dtype == compressed.dtype else plain.long()
            found = (compressed, plain) if places.sparse_layout is Layout.sparse_csr else (plain, compressed)
        places.cache["coordinates"] = found
    return found


def expanded(compressed: Tensor) -> Tensor:
    """The row of each element, of where rows begin."""
    counts = (compressed[1:] - compressed[:-1]).long()
    rows: Tensor = repeat_interleave(counts)
    return rows


def compressed_of(places: Any) -> tuple[Any, Any]:
    """Where rows begin, and the columns, as int64 arrays: of a coalesced matrix, or one by rows."""
    found: tuple[Any, Any] | None = places.cache.get("compressed")
    if found is None:
        if isinstance(places, CompressedArray):
            found = wrap(places.compressed).long()._array, wrap(places.plain).long()._array
        else:
            rows, columns = coordinates(places)
            found = starts(rows, places.shape[0])._array, columns.contiguous()._array
        places.cache["compressed"] = found
    return found


def starts(rows: Tensor, count: int) -> Tensor:
    """Where each of `count` rows begins among elements that are in the order of `rows`, and where the last one ends."""
    edges: Tensor = rows.new_zeros(count + 1)
    edges[1:] = rows.bincount(minlength=count).cumsum(0) if rows._array.shape[0] else 0
    return edges


def members(starts: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
    """All elements of each of `groups`, one group after the other, where group r has those from ``starts[r]`` to
    ``starts[r + 1]``: which of `groups` each is of, and where it stands.
    """
    counts = (starts[1:] - starts[:-1])[groups]
    which = repeat_interleave(counts)
    shift = starts[:-1][groups] - (counts.cumsum(0) - counts)
    return which, shift[which] + arange(which._array.shape[0], device=which.device)
