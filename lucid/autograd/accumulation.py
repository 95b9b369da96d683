"""The upstream gradient 1; how the engine adds up gradients when it records nothing: in memory of its own, parts in one go.

A rule may return a gradient that others have too: what it got, or a view of that. So the first sum of a node's gradients is new
memory, into which the engine adds the others. To find out whether nobody else has the first one saved no time.

The gradient of a part of a tensor (`x[...]`, `select`, `narrow`) is zero elsewhere. Adding up such arrays costs, for each part,
the zeros and a sum of the whole size; so the engine collects the parts, and writes them into one array when the gradient is
needed.
"""
from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

from ..backends import run, versions
from ..backends.memory_format import memory_axes
from ..tensor import Tensor, wrap


class SliceVjp:
    """The vjp of a view by a basic index: as a function it returns the whole gradient, zero outside of the view, by `place`."""

    __slots__ = ("axes", "index", "place", "shape")
    __closure__ = __defaults__ = None  # it saves no tensors, and has no gradients to leave out

    def __init__(self, x: Tensor, index: tuple[Any, ...], place: Callable[..., Tensor]) -> None:
        array: Any = x._array
        self.shape = array.shape
        row_major = array._c_contiguous if array.__class__ in versions.kinds else array.flags.c_contiguous
        self.axes = None if row_major else memory_axes(array)
        self.index = index
        self.place = place

    def __call__(self, g: Tensor, y: Any) -> tuple[Tensor]:
        return (self.place(g, shape=self.shape, index=self.index, unique=True),)


class Pieces:
    """The gradient of a tensor, as far as it is known: parts of it by their indices."""

    __slots__ = ("axes", "gradients", "indices", "room", "shape")

    def __init__(self, vjp: SliceVjp) -> None:
        self.shape = vjp.shape
        self.axes = vjp.axes  # as the tensor lies in memory: gradients through the views that made it then need no copies
        self.indices: list[tuple[Any, ...]] = []
        self.gradients: list[Tensor] = []
        self.room = math.prod(vjp.shape)

    def add(self, index: tuple[Any, ...], gradient: Tensor) -> bool:
        """Note the gradient of one more part. False if more elements than the tensor has are waiting: time for `whole`."""
        self.indices.append(index)
        self.gradients.append(gradient)
        self.room -= gradient._array.size
        return self.room >= 0

    def whole(self) -> Tensor:
        """The gradient of the tensor, in memory of its own."""
        return wrap(run("assemble", [gradient._array for gradient in self.gradients],
                        {"shape": self.shape, "indices": self.indices, "axes": self.axes}))


def add_piece(grads: dict[Any, Any], sums: set[Any], node: Any, total: Any, vjp: SliceVjp, g: Tensor) -> None:
    """Add the gradient `g` of a part to the gradient `total` of `node` in `grads`, which is None if there is none yet."""
    if total is None:
        total = grads[node] = Pieces(vjp)
    if total.__class__ is Pieces:
        if not total.add(vjp.index, g):
            grads[node] = total.whole()
            sums.add(node)
        return
    if node not in sums:
        sums.add(node)
        total = grads[node] = total.clone()
    run("add_at", (total._array, g._array), {"index": vjp.index})


def plus(total: Tensor, gradient: Tensor) -> Tensor:
    """The sum of two gradients, of which a dense one comes first."""
    if hasattr(total._array, "is_sparse") and not hasattr(gradient._array, "is_sparse"):
        return gradient + total
    return total + gradient


def sum_of_two(total: Any, gradient: Tensor) -> Tensor:
    """The sum of the first two gradients of a node, in memory of the engine's own."""
    if total.__class__ is not Pieces:
        return plus(total, gradient)
    whole = total.whole()
    array, other = whole._array, gradient._array
    if array.shape != other.shape or array.dtype is not other.dtype or array.__class__ is not other.__class__:
        return whole + gradient
    run("add", (array, other), {"out": array})
    return whole


# ---- the upstream gradient of a scalar if none is given: rules know it without waiting for a device to look ----------------
_last: weakref.ref[Tensor] | None = None


def one(array: Any) -> Tensor:
    """A tensor like `array`, of one element, that is 1."""
    global _last
    seed = wrap(run("fill", (array,), {"value": 1}))
    _last = weakref.ref(seed)
    return seed


def is_one(gradient: Tensor) -> bool:
    """Whether a gradient is the last `one`, which nobody has written to, as a hook may. False where a thread made one since."""
    if _last is None or _last() is not gradient:
        return False
    box = gradient._version_box
    return box is None or box.count == 0
