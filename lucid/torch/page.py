"""docs/torch.md, and the names of a module by groups: ``python -m lucid.torch --names torch.nn``."""
from __future__ import annotations

from . import inert
from .adapters import MODULES
from .names import modules
from .resolve import adapter, find

GROUPS = ("lucid", "adapter", "inert", "refused", "absent")


def grouped(module: str) -> dict[str, list[str]]:
    """The names of a module of PyTorch by groups."""
    own = adapter(module)
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    if module in MODULES:
        return {"adapter": ["all of it"]}
    known = {*modules().get(module, {}), *(own.__all__ if own else ()), *inert.of(module)}
    for name in sorted(known, key=lambda name: (name.lower(), name)):
        found[find(module, name).group].append(name)
    return found


def names(module: str) -> list[str]:
    """Lines for a terminal."""
    return [f"{group}: {' '.join(listed)}" for group, listed in grouped(module).items() if listed]
