"""What a name of PyTorch is here."""
from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any, NamedTuple

from . import dtypes, inert
from .adapters import ADAPTERS, OBJECTS
from .names import modules
from .places import places
from .refused import refused

ABSENT: Any = object()
#: Libraries ask for these by importing them, and have another way where they are missing.
_PROBED = frozenset("""torch.nn.functional.grouped_mm torch.nn.functional.scaled_grouped_mm torch.nn.functional.scaled_mm
    torch._grouped_mm torch._scaled_grouped_mm torch._scaled_mm""".split())


class Found(NamedTuple):
    """A name, with the group that it belongs to."""

    group: str  # lucid, adapter, inert, refused or absent
    value: Any = ABSENT


@functools.cache
def adapter(module: str) -> ModuleType | None:
    """What is written here for a module of PyTorch."""
    return importlib.import_module(f"{__package__}.adapters.{ADAPTERS[module]}") if module in ADAPTERS else None


def find(module: str, name: str) -> Found:
    """What the name `name` of the module `module` of PyTorch is here."""
    full = f"{module}.{name}"
    if full in OBJECTS:
        where, _, what = OBJECTS[full].partition(":")
        return Found("adapter", getattr(importlib.import_module(f"{__package__}.adapters.{where}"), what))
    if module == "torch" and name in dtypes.NAMED:
        return Found("adapter", dtypes.NAMED[name])
    own = adapter(module)
    if own is not None and name in own.__all__:
        return Found("adapter", getattr(own, name))
    kind = modules().get(module, {}).get(name)
    if kind is not None and full not in _PROBED:
        for place in places(module):
            value = getattr(place, name, ABSENT)
            if value is not ABSENT and not isinstance(value, ModuleType):
                return Found("lucid", value)
    value = inert.value(module, name)
    if value is not inert.NONE:
        return Found("inert", value)
    return Found("absent") if kind is None or full in _PROBED else Found("refused", refused(full))


def listed(module: str) -> list[str]:
    """The names of a module that can be used here, without those with an underscore."""
    own = adapter(module)
    known = {*modules().get(module, {}), *(own.__all__ if own else ()), *inert.of(module)}
    return sorted(name for name in known if not name.startswith("_") and find(module, name).group not in ("refused", "absent"))
