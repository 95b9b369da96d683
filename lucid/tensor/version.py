"""Version: counts the in-place writes to a piece of memory, so that what was saved for a gradient is known to be stale."""
from __future__ import annotations

import weakref
from sys import getrefcount
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .. import _clock as clock

if TYPE_CHECKING:
    from . import Tensor


class Version:
    """The in-place writes to one piece of memory, shared by every tensor that views it."""

    __slots__ = ("__weakref__", "conjugates", "count", "inference", "stamp", "views")

    def __init__(self) -> None:
        self.count: int = 0  # writes so far
        self.stamp: int = 0  # the clock at the last write
        self.inference: bool = False  # made in inference_mode: must not be saved for a gradient
        self.views: set[weakref.ref[Tensor]] | None = None  # live differentiable views, to rebase after a write
        self.conjugates: set[weakref.ref[Any]] | None = None  # of the views that have memory of their own

    def __reduce__(self) -> tuple[Any, ...]:
        return Version, ()  # a copy of the memory has a history of its own

    def bump(self) -> None:
        """Record a write."""
        self.count += 1
        self.stamp = clock.last_write = clock.tick()


def write_count(tensor: Any) -> int:
    """How often the memory of a tensor has been written."""
    return 0 if tensor._version_box is None else tensor._version_box.count


def version_box(tensor: Tensor) -> Version:
    """The version shared by all tensors on this memory, made when first needed."""
    box = tensor._version_box
    if box is None:
        box = tensor._version_box = Version()
    return box


def register_view(box: Version, view: Tensor) -> None:
    """Remember a live differentiable view, so that a write can give it its new history."""
    if box.views is None:
        box.views = set()
    box.views.add(weakref.ref(view, box.views.discard))


def _references() -> int:
    """How many references there are to a version that a tensor alone has, while a function looks at it."""
    tensor: Any = SimpleNamespace(_version_box=None)
    box = version_box(tensor)
    return getrefcount(box)


_ALONE = _references()


def record_update(state: Tensor) -> None:
    """Record a write to the state of a module that every step updates, such as running statistics.

    A recorded operation saves an alias of a buffer, which shares its version. Where nothing shares that, no saved tensor is
    stale, and the clock of writes stands still: else each backward would look at the saved tensors of all nodes before the last
    batch norm, a fifth of what the engine takes for a small network.
    """
    box = version_box(state)
    if state._replaceable and box.views is None and not box.inference:
        if getrefcount(box) == _ALONE:
            box.count += 1
            box.stamp = clock.tick()
            return
        successor = Version()
        successor.count, successor.stamp = box.count + 1, clock.tick()
        reference, state._version_box = weakref.ref(box), successor
        del box
        shared = reference()
        if shared is None:  # nobody else had it
            return
        state._version_box = box = shared
    box.bump()


def mark_inference(tensor: Tensor) -> None:
    """Note that `tensor` was made in inference_mode, and must not be saved for a gradient."""
    clock.any_inference = clock.any_guarded = True
    version_box(tensor).inference = True
