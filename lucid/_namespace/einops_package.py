"""The package einops takes tensors of lucid as those of other libraries: `lucid.einops.backend` says what it needs to know.

einops finds libraries as classes derived from one of its own. Ours is made when einops is there: at once if it was imported
before, else as soon as its module of backends is, so that `import lucid` imports neither it nor `lucid.einops`.
"""
from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .lazy import load

_MODULE = "einops._backends"


class _Watch:
    """A finder of modules that waits for einops."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of backends as it is found otherwise, with `_register` after it; nothing else."""
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                _register(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def introduce() -> None:
    """Make einops, imported already or later, know lucid."""
    module = sys.modules.get(_MODULE)
    if module is None:
        sys.meta_path.insert(0, _Watch())
    else:
        _register(module)


def _register(module: ModuleType) -> None:
    if hasattr(module, "AbstractBackend"):
        module.LucidBackend = load("lucid.einops.backend:derived")(module.AbstractBackend)  # type: ignore[attr-defined]  # kept alive
