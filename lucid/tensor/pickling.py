"""Pickling: deep copies and pickles of tensors."""
from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..backends import pickling, storage
from .base import TensorBase
from .version import Version

if TYPE_CHECKING:
    from . import Tensor

_new: Callable[..., Any] = object.__new__


def unpickle_sparse(cls: type[Tensor], kind: Any, parts: list[Tensor], facts: tuple[Any, ...], requires_grad: bool,
                    grad: Tensor | None, attributes: dict[str, Any]) -> Tensor:
    """What the pickle of a sparse tensor holds, as a tensor."""
    tensor = cls.__new__(cls)
    tensor._array = kind(*[part._array for part in parts], *facts)
    tensor._version_box = tensor._node = tensor._view = None
    tensor._grad = grad
    tensor.requires_grad = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


def unpickle(cls: type[Tensor], memory: pickling.Shared, place: storage.Part | None, requires_grad: bool,
             grad: Tensor | None, state: Any) -> Tensor:
    """What a pickle holds, as a tensor, at its `place` in memory that it may share with others."""
    tensor = _new(cls)
    tensor._array = storage.take(memory.array, place)
    if memory.version is None:
        memory.version = Version()
    tensor._version_box = memory.version
    tensor._node = tensor._view = None
    tensor._grad = grad
    tensor.requires_grad = requires_grad
    restore(tensor, state)
    return tensor


def state_of(tensor: Tensor) -> Any:
    """The attributes of a tensor, and with them those in slots of its class; what its own `__getstate__` says."""
    cls = tensor.__class__
    own = getattr(cls, "__getstate__", None)
    if own is not getattr(object, "__getstate__", None) and own is not None:
        return own(tensor)
    slots = {name: getattr(tensor, name) for name in _slots_of(cls) if hasattr(tensor, name)}
    return (tensor.__dict__, slots) if slots else tensor.__dict__


def _slots_of(cls: type) -> list[str]:
    """The slots that classes derived from Tensor have beside its own."""
    return [name for name in copyreg._slotnames(cls) if name not in TensorBase.__slots__]  # type: ignore[attr-defined]


def restore(tensor: Tensor, state: Any) -> None:
    """Give a tensor what `state_of` another was."""
    own = getattr(tensor.__class__, "__setstate__", None)
    if own is not None:
        own(tensor, state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    tensor.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(tensor, name, value)
