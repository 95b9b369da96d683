"""Views: how they are computed from the tensor whose memory they show, so that a write to one of them reaches the others.

Complex conjugates are views, as in PyTorch. There a conjugate is the same memory, with a bit that says so. Here it has memory of
its own, and a write to one of the two is repeated in the other: so no kernel needs to know of conjugates, and only programs that
write to one pay for it.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _clock as clock
from .. import _dtypes
from ..backends import run, storage
from ..tensor import Tensor, Version, register_view, version_box
from ..tensor.nodes import Leaf
from .grad_mode import GRAD, LEVELS
from .grad_mode import mode as grad_mode
from .node import Node


class Unwritable:
    """In place of the replay of a view that cannot be computed from its base again.

    A recorded write to it is refused. After one to its base, or to another view of that, its gradient is.
    """

    __slots__ = ("kept", "name", "reason")

    def __init__(self, name: str, reason: str, kept: Any = None) -> None:
        self.name = name
        self.reason = reason
        self.kept = kept  # lives as long as the views that this stands for

    def __call__(self, base: Tensor) -> Tensor:
        raise RuntimeError(f"{self.name} is a view and is being modified inplace. {self.reason}")

    def lost(self, base: Tensor) -> Node:
        """The history of the view after a write to its base: a node that raises RuntimeError when a gradient gets there."""
        def vjp(g: Tensor, y: Any) -> Any:
            raise RuntimeError(f"{self.name} is a view and its base or another view of its base has been modified inplace. "
                               f"{self.reason}")

        return Node("lost_view", (base._node,), vjp)


def share_unwritable(view: Tensor, source: Tensor, refusal: Unwritable) -> None:
    """Make `view`, whose array is over the memory of `source`, a view of that, for which `refusal` stands."""
    box = view._version_box = version_box(source)
    view._view = (source if source._view is None else source._view[0], refusal)
    register_once(box, view)


def register_once(box: Version, view: Tensor) -> None:
    """Register `view` if it is not, as one made in `no_grad`."""
    if not any(reference() is view for reference in box.views or ()):
        register_view(box, view)


def connect_view(view: Tensor, parent: Tensor, replay: Callable[[Tensor], Tensor]) -> None:
    """Make `view` share the version of `parent`, and remember how to compute it from the root of its memory.

    Nothing happens if the array is in fact a copy (a reshape that could not be a view).
    """
    source, memory = parent._array, view._array.base
    if memory is not source and (memory is None or memory is not source.base) and not _shows_bits(view._array, source):
        return
    box = view._version_box = parent._version_box or version_box(parent)
    if parent._view is None:
        view._view = (parent, replay)
    else:
        root, to_parent = parent._view
        if to_parent.__class__ is Unwritable:  # and so is every view of it
            view._view = parent._view
        else:
            view._view = (root, lambda t: replay(to_parent(t)))
    if grad_mode.get() & GRAD or has_history(parent):
        register_view(box, view)


def _shows_bits(view: Any, source: Any) -> bool:
    """Whether one of two arrays holds the other's memory as bits."""
    stored = _dtypes.STORED_CLASSES
    return (view.dtype.__class__ in stored or source.dtype.__class__ in stored) and storage.owner(view) is storage.owner(source)


def has_history(tensor: Tensor) -> bool:
    """Whether a view of `tensor` that is made in `no_grad` gets a history too when its base is written outside."""
    node = tensor._node
    return node is not None and node.__class__ is not Leaf  # to a leaf no such write is possible


# ---- complex conjugates ----------------------------------------------------------------------------------------------
class Conjugate:
    """How a conjugate is computed from the root of its memory. It and all views of it keep this object, and so both arrays."""

    __slots__ = ("__weakref__", "array", "inner", "lifted", "of", "time")

    def __init__(self, of: Any, array: Any, inner: Any) -> None:
        self.of = of
        self.array = array
        self.inner = inner  # how what it is the conjugate of is computed from the root; None if that is the root
        self.lifted = bool(grad_mode.get() & LEVELS)
        self.time = clock.tick()

    def __call__(self, root: Tensor) -> Tensor:
        return (root if self.inner is None else self.inner(root)).conj()

    def holds(self, array: Any) -> bool:
        """Whether `array` lies in the memory of the conjugate; where there is none to look at, whether it is its array."""
        if self.lifted or not storage.has_memory(array):
            return array is self.array
        return bool(0 <= storage.address(array) - storage.address(self.array) < self.array.nbytes)


def connect_conjugate(result: Tensor, source: Tensor) -> Tensor:
    """`result`, the complex conjugate of `source`, as a view of it, unless it is sparse."""
    if hasattr(result._array, "is_sparse"):
        return result
    box = result._version_box = version_box(source)
    root, inner = source._view or (source, None)
    link = Conjugate(source._array, result._array, inner)
    result._view = (root, Unwritable(inner.name, inner.reason, link) if inner.__class__ is Unwritable else link)
    if grad_mode.get() & GRAD or has_history(source):
        register_view(box, result)
    if box.conjugates is None:
        box.conjugates = set()
    box.conjugates.add(weakref.ref(link, box.conjugates.discard))
    clock.any_guarded = True
    return result


def _links(tensor: Tensor) -> list[Conjugate]:
    """The conjugates that share memory with `tensor`, older ones first: what they are of comes before them."""
    box = tensor._version_box
    if box is None or box.conjugates is None:
        return []
    found = [link for reference in list(box.conjugates) if (link := reference()) is not None]
    return sorted(found, key=lambda link: link.time)


def _above(array: Any, links: list[Conjugate]) -> Iterator[Conjugate]:
    """The conjugate that `array` is a part of, the one that that is the conjugate of a part of, and so on."""
    for link in reversed(links):
        if link.holds(array):
            yield link
            array = link.of


def arrays_of_conjugates(tensor: Tensor) -> list[Any]:
    """Those of all conjugates that share memory with `tensor`, and of what they are of."""
    return [array for link in _links(tensor) for array in (link.of, link.array)]


def is_conjugate(tensor: Tensor) -> bool:
    """Whether a tensor is a conjugate or a part of one, and not the conjugate of a conjugate."""
    return len(list(_above(tensor._array, _links(tensor)))) % 2 == 1


def written_with(tensor: Tensor) -> list[Any]:
    """The arrays that `follow` writes when `tensor` is written. Raises RuntimeError inside of function transforms."""
    links = _links(tensor)
    if any(link.lifted for link in links):
        raise RuntimeError("Inplace update to a complex conjugate, or to a tensor whose conjugate is there, inside of vmap, grad "
                           "and other transforms: it would not reach the other. Take resolve_conj() of the conjugate, a copy.")
    above = list(_above(tensor._array, links))
    return [link.of for link in above] + [link.array for link in links if link not in above]


def follow(tensor: Tensor) -> None:
    """Repeat a write to `tensor`, which is done, in what it is the conjugate of, and in what is the conjugate of that."""
    links = _links(tensor)
    above = list(_above(tensor._array, links))
    for link in above:
        run("conj", (link.array,), {"out": link.of})
    for link in links:
        if link not in above:
            run("conj", (link.of,), {"out": link.array})


def _share_conjugates(tensor: Tensor, other: Tensor) -> None:
    """Let what follows `tensor` follow `other`, too, which shows its memory without its graph, and `other` keep its conjugate."""
    version_box(other).conjugates = version_box(tensor).conjugates
    if tensor._view is not None:
        root, replay = tensor._view
        other._view = (root, Unwritable("A detached view of a conjugate", "clone() it first.", replay))


Tensor._share_conjugates = _share_conjugates  # type: ignore[assignment]
