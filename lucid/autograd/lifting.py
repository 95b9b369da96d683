"""Operations that take tensors into the levels of function transforms and out again, with their gradients.

The graph is above all levels: what it records of an operation inside of a transform is recorded of lifted arrays. The gradient of
a tensor from outside of `vmap` has to be summed over the batch: `lifted_parents` puts a node between what was recorded outside
and inside that does so. A tensor from outside of a level of tangents gets a node too. A cotangent that comes from outside
of that level is marked (`Dual.swapped`): its derivative by a value is then what stands beside the tangent.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..levels import conversion
from ..levels.lifted import Level, active, levels_of
from ..tensor import Tensor, wrap
from .grad_mode import GRAD
from .grad_mode import mode as grad_mode
from .node import LevelNode, Node


def lifted_parents(parents: Sequence[Any], result: Any, but: Level | None = None) -> list[Any]:
    """The `parents` of an operation inside of levels, with a node for each level before those that were made outside of it.

    The levels are those that are active, and those of the array `result`; of `but` the operation takes care itself.
    """
    levels = sorted({*active.get(), *levels_of(result)} - {but}, key=lambda level: level.number)
    found = []
    for parent in parents:
        if parent is not None:
            made = parent.seq
            for level in levels:
                if made < level.start:
                    parent = Node("lift", (parent,), _down(level), False)
        found.append(parent)
    return found


def _down(level: Level) -> Any:
    """The gradient of a tensor from outside of `level`. One that is not of that level has come from outside, too."""
    if level.size is not None:
        return lambda g, y: (sum_of_batch(g, level),)
    return lambda g, y: (tangent_of(g, level) if conversion.is_swapped(g._array, level) else g,)


def _recorded(name: str, array: Any, sources: Sequence[Any], level: Level, vjp: Any) -> Tensor:
    """A tensor of `array`, whose gradient goes to `sources` by `vjp`, which sees to `level`."""
    parents = [source._node for source in sources]
    if grad_mode.get() & GRAD and any(parent is not None for parent in parents) and array.dtype.kind in "fcV":
        node = LevelNode(name, lifted_parents(parents, array, level), vjp, False)
        node.level = level
        return wrap(array, node)
    return wrap(array)


def into_batch(x: Tensor, dim: int, level: Level) -> Tensor:
    """`x` with dimension `dim` hidden: the batch of `level`."""
    array = conversion.into_batch(x._array, dim, level)
    return _recorded("into_batch", array, (x,), level, lambda g, y: (out_of_batch(g, dim, level),))


def out_of_batch(x: Tensor, dim: int, level: Level) -> Tensor:
    """`x` with the batch of `level` as dimension `dim`."""
    array = conversion.out_of_batch(x._array, dim, level)
    return _recorded("out_of_batch", array, (x,), level, lambda g, y: (into_batch(g, dim, level),))


def sum_of_batch(x: Tensor, level: Level) -> Tensor:
    """The sum over the batch of `level`."""
    return _recorded("sum_of_batch", conversion.sum_of_batch(x._array, level), (x,), level, lambda g, y: (g,))


def with_tangent(x: Tensor, tangent: Tensor, level: Level, swapped: bool = False) -> Tensor:
    """The dual tensor of both. Raises NotImplementedError for sparse ones, whose values may have a tangent."""
    for part in (x, tangent):
        if getattr(part._array, "is_sparse", False):
            raise NotImplementedError("forward mode: a sparse tensor has no tangent; give its values one, and make it of them")

    def vjp(g: Tensor, y: Any) -> Any:
        if not conversion.is_swapped(g._array, level):
            return g, None
        return tangent_of(g, level), value_of(g, level)

    return _recorded("with_tangent", conversion.with_tangent(x._array, tangent._array, level, swapped), (x, tangent), level, vjp)


def value_of(x: Tensor, level: Level) -> Tensor:
    """A dual tensor without its tangent."""
    def vjp(g: Tensor, y: Any) -> Any:
        return (with_tangent(wrap(conversion.zeros(g._array)), g, level, swapped=True),)

    return _recorded("value_of", conversion.value_of(x._array, level), (x,), level, vjp)


def tangent_of(x: Tensor, level: Level) -> Tensor | None:
    """The tangent of a dual tensor, None for others."""
    tangent = conversion.tangent_of(x._array, level)
    if tangent is None:
        return None

    def vjp(g: Tensor, y: Any) -> Any:
        return (with_tangent(g, wrap(conversion.zeros(g._array)), level, swapped=True),)

    return _recorded("tangent_of", tangent, (x,), level, vjp)


def gradient_of(g: Tensor) -> Tensor:
    """The gradient by a value, of the cotangent `g` that has come to a tensor; see `Dual.swapped`."""
    for level in sorted(levels_of(g._array), key=lambda level: -level.number):
        if level.size is None and conversion.is_swapped(g._array, level):
            found = tangent_of(g, level)
            g = g if found is None else found
    return g


def with_levels_of(x: Tensor, others: Sequence[Tensor]) -> Tensor:
    """`x` with all levels of `others`, to be written into."""
    levels = set().union(*[levels_of(other._array) for other in others]) - levels_of(x._array)
    if not levels:
        return x
    array = conversion.with_levels(x._array, levels)
    if not grad_mode.get() & GRAD or x._node is None:
        return wrap(array)
    return wrap(array, Node("lift", lifted_parents([x._node], array), lambda g, y: (g,), False))


def add_tangents(target: Tensor, others: Sequence[Any]) -> None:
    """Give `target`, which is about to be written in place, the tangents that it will need.

    Where other tensors see its memory nothing is done, and the write will be refused; so it is for the batch of `vmap`.
    """
    arrays = [other._array if isinstance(other, Tensor) else other for other in others]
    levels = set().union(*map(levels_of, arrays))
    if not any(level.size is None for level in levels) or target._view is not None:
        return
    views = () if target._version_box is None else target._version_box.views or ()
    if any(reference() is not None for reference in views):
        return
    target._array = conversion.with_room(target._array, levels)
