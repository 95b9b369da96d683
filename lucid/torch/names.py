"""The names of PyTorch 2.13, module by module. `python -m tests.parity.torch_names` writes the file."""
from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def modules() -> dict[str, dict[str, str]]:
    """The modules of PyTorch, with the kind of each name: `here` (a class that it defines), `class`, `function`, `value`."""
    found: dict[str, dict[str, str]] = {}
    for line in (Path(__file__).parent / "names.txt").read_text(encoding="utf-8").splitlines():
        module, kind, *names = line.split(" ")
        found.setdefault(module, {}).update(dict.fromkeys(names, kind))
    return found


@functools.cache
def packages() -> frozenset[str]:
    """The modules that others stand under."""
    return frozenset(name.rpartition(".")[0] for name in modules())
