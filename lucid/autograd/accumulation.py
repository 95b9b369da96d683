"""How the engine adds up gradients when it records nothing: in place where nobody can see it, and parts in one go.

The gradient of a part of a tensor (`x[...]`, `select`, `narrow`) is zero elsewhere. Adding up such arrays costs, for each part,
the zeros and a sum of the whole size; so the engine collects the parts, and writes them into one array when the gradient is
needed.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from ..backends import run
from ..backends.memory_format import memory_axes
from ..tensor import Tensor, wrap


class SlicePull:
    """The pull of a view by a basic index: as a function it returns the whole gradient, zero outside of the view, by `place`."""

    __slots__ = ("axes", "index", "place", "shape")
    __closure__ = __defaults__ = None  # it saves no tensors, and has no gradients to leave out

    def __init__(self, x: Tensor, index: tuple[Any, ...], place: Callable[..., Tensor]) -> None:
        array = x._array
        self.shape = array.shape
        self.axes = None if array.flags.c_contiguous else memory_axes(array)
        self.index = index
        self.place = place

    def __call__(self, g: Tensor, y: Any) -> tuple[Tensor]:
        return (self.place(g, shape=self.shape, index=self.index, unique=True),)


class Pieces:
    """The gradient of a tensor, as far as it is known: parts of it by their indices."""

    __slots__ = ("axes", "gradients", "indices", "room", "shape")

    def __init__(self, pull: SlicePull) -> None:
        self.shape = pull.shape
        self.axes = pull.axes  # as the tensor lies in memory: gradients through the views that made it then need no copies
        self.indices: list[tuple[Any, ...]] = []
        self.gradients: list[Tensor] = []
        self.room = math.prod(pull.shape)

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


def add_piece(grads: dict[Any, Any], sums: set[Any], node: Any, total: Any, pull: SlicePull, g: Tensor) -> None:
    """Add the gradient `g` of a part to the gradient `total` of `node` in `grads`, which is None if there is none yet."""
    if total is None:
        total = grads[node] = Pieces(pull)
    if total.__class__ is Pieces:
        if not total.add(pull.index, g):
            grads[node] = total.whole()
            sums.add(node)
        return
    if node not in sums:
        sums.add(node)
        if not _is_ours(grads, node):
            total = grads[node] = total.clone()
    run("add_at", (total._array, g._array), {"index": pull.index})


def add_second(grads: dict[Any, Any], node: Any, gradient: Tensor) -> None:
    """Add another gradient to that of `node`, which the caller has in a variable; their sum is in memory of the engine's own."""
    if grads[node].__class__ is Pieces:
        grads[node] = grads[node].whole()
    elif not _is_ours(grads, node):
        grads[node] = grads[node] + gradient
        return
    array, other = grads[node]._array, gradient._array
    if array.shape == other.shape and array.dtype is other.dtype:
        run("add", (array, other), {"out": array})
    else:
        grads[node] = grads[node] + gradient


def _references(grads: dict[Any, Any], node: Any) -> tuple[int, int, int]:
    """How many references there are to the gradient of `node`, to its array, and to the array that this is a view of."""
    gradient = grads[node]
    array = gradient._array
    base = array.base
    return sys.getrefcount(gradient), sys.getrefcount(array), sys.getrefcount(base)


def _references_of_one() -> tuple[int, int, int]:
    """What `_references` finds for a view of new memory, if only `grads` and one variable of the caller hold the gradient."""
    total = wrap(Tensor([[0.0]], device="cpu")._array.reshape(1))
    return _references({None: total}, None)


_OURS = _references_of_one()  # with those that the interpreter itself holds meanwhile


def _is_ours(grads: dict[Any, Any], node: Any) -> bool:
    """Whether nobody but the engine can see the memory of the gradient of `node`, which the caller has in a variable."""
    gradient, array, base = _references(grads, node)
    if gradient > _OURS[0] or array > _OURS[1]:
        return False
    memory = grads[node]._array
    if not memory.flags.c_contiguous or not getattr(memory.flags, "writeable", True):  # CuPy has no others
        return False
    return memory.base is None or (base <= _OURS[2] and memory.base.__class__ is memory.__class__)
