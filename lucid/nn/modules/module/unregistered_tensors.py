"""The warning about tensors that are ordinary attributes of a module, which `to(device)` leaves where they are."""
from __future__ import annotations

import dataclasses
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from ....backends import Device
from ....tensor import Tensor
from .registry import Registry

_REGISTERED = frozenset({"_parameters", "_buffers", "_modules"})
_NAMED = 3  # locations that a warning spells out


def warn_unregistered(root: Registry, device: Device, stacklevel: int) -> None:
    """Warn, once for each attribute of `root` and the modules below, about tensors in it that are not on `device`.

    An attribute that a forward pre-hook computes before every call, and says so by its `computes`, needs no moving.
    """
    for path, module in root.named_modules():
        owner = type(root).__name__ + (f".{path}" if path else "")
        computed = {name for hook in module.__dict__["_forward_pre_hooks"].values()
                    if isinstance(name := getattr(hook, "computes", None), str)}
        for attribute, value in list(module.__dict__.items()):
            if attribute in _REGISTERED or attribute in computed:
                continue
            left = {location: tensor.device for location, tensor in _tensors_in(value, f"{owner}.{attribute}", set())
                    if tensor.device != device}
            if left:
                warnings.warn(_message(left, device), UserWarning, stacklevel=stacklevel + 1)


def _message(left: dict[str, Device], device: Device) -> str:
    locations = list(left)
    names = ", ".join(locations[:_NAMED]) + (f" and {len(locations) - _NAMED} more" if len(locations) > _NAMED else "")
    what = "is a plain tensor attribute" if len(locations) == 1 else "are plain tensor attributes"
    there = ", ".join(dict.fromkeys(map(str, left.values())))
    return (f"{names} {what}: .to('{device}') leaves {'it' if len(locations) == 1 else 'them'} on {there}. "
            f"Use register_buffer (or nn.Buffer) to make {'it' if len(locations) == 1 else 'them'} move with the module.")


def _tensors_in(value: Any, location: str, seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    """Pairs (location, tensor) of the tensors in `value`: itself, or in lists, tuples, sets, mappings and dataclasses.

    Modules in them are left out: who hides a module in a list wants it to stay where it is.
    """
    if isinstance(value, Tensor):
        yield location, value
        return
    items: Any
    if isinstance(value, Mapping):
        items = ((f"[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, (list, tuple, deque)):
        items = ((f"[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        items = (("{...}", item) for item in value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = ((f".{field.name}", getattr(value, field.name, None)) for field in dataclasses.fields(value))
    else:
        return
    if id(value) in seen:  # a container that holds itself
        return
    seen.add(id(value))
    for suffix, item in items:
        yield from _tensors_in(item, location + suffix, seen)
