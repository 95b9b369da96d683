"""Tensors that stand in the place of a buffer during a functional call."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor, register_view, version_box
from ...tensor.nodes import Leaf
from ..parameter import Buffer, is_lazy


class Borrowed(Buffer):
    """A buffer over the memory and the graph of a given tensor, which it leaves as it is.

    In-place writes reach the given tensor; an assignment to the buffer's name changes this object alone. So a plain tensor
    stays a plain tensor, and the module's own buffers can be given too.
    """

    __slots__ = ()

    def __init__(self, given: Tensor, track_grad: bool) -> None:
        self._array, self._node, self._view, self._grad = given._array, given._node, given._view, None
        self._version_box = box = version_box(given)
        self.track_grad = track_grad
        if self._view is not None and box.views is not None:
            register_view(box, self)


def tracks_graph(given: Tensor, own: Any) -> bool:
    """Whether `given`, in the place of the buffer `own`, keeps the graph of what is assigned.

    If either is a buffer that does, and also if `given` requires grad: then its gradient is what the caller wants.
    """
    return given.requires_grad or getattr(given, "track_grad", False) or getattr(own, "track_grad", False)


def borrow(given: Tensor | None, own: Any) -> Tensor | None:
    """What to put in the place of the buffer `own`; an uninitialized buffer itself, as forward materializes it."""
    return given if given is None or is_lazy(given) else Borrowed(given, tracks_graph(given, own))


def give_back(given: Any, found: Any) -> Any:
    """What the caller gets for `given`, whose stand-in is `found`: `given`, or a new tensor if one was assigned."""
    if not isinstance(found, Borrowed):
        return given
    if found._array is not given._array:
        return plain(found)
    if found._node is not given._node and found._node.__class__ is not Leaf:
        given._node = found._node  # written in place, with a graph
    return given


def plain(buffer: Tensor) -> Tensor:
    """An ordinary tensor over the memory of `buffer`, with its graph if it tracks one."""
    result = buffer.detach()
    if getattr(buffer, "track_grad", False):
        result._node = buffer._node
    return result
