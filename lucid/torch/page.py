"""The names of a module by groups: ``python -m lucid.torch --names torch.nn``. docs/torch.md has them all."""
from __future__ import annotations

from . import inert
from .adapters import MODULES
from .names import modules
from .resolve import adapter, find

GROUPS = ("lucid", "adapter", "inert", "refused", "absent")


def grouped(module: str) -> dict[str, list[str]]:
    """The names of a module of PyTorch by groups; `*` for an object of an adapter, which decides itself."""
    if module in MODULES:
        return {"adapter": ["*"]}
    own = adapter(module)
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    known = {*modules().get(module, {}), *(own.__all__ if own else ()), *inert.of(module)}
    for name in sorted(known, key=lambda name: (name.lower(), name)):
        found[find(module, name).group].append(name)
    return {group: names for group, names in found.items() if names}


def lines(module: str) -> list[str]:
    """The groups for a terminal, a line each."""
    return [f"{group}: {' '.join(names)}" for group, names in grouped(module).items()]
