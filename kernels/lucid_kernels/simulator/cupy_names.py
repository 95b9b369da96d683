"""Who answers to the names of CuPy's modules: a finder, or the CuPy that is installed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

ROOTS = ("cupy", "cupyx", "cupy_backends")
#: The finder that has the names, if one has.
_finders: list[importlib.abc.MetaPathFinder] = []
#: The modules that it has displaced: the real CuPy, when it had been imported.
_displaced: dict[str, ModuleType] = {}


def _cupy_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in ROOTS}


def is_claimed() -> bool:
    """Whether a finder has the names."""
    return bool(_finders)


def claim(finder: importlib.abc.MetaPathFinder) -> None:
    """Let `finder` find what is imported by these names from now on. A second call changes nothing."""
    if is_claimed():
        return
    _finders.append(finder)
    _displaced.clear()
    _displaced.update(_cupy_modules())
    for name in _displaced:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)


def release() -> None:
    """Undo `claim`."""
    if is_claimed():
        sys.meta_path.remove(_finders.pop())
        for name in _cupy_modules():
            del sys.modules[name]
        sys.modules.update(_displaced)
        _displaced.clear()


@contextmanager
def real_cupy() -> Iterator[ModuleType | None]:
    """The installed CuPy, or None, also while a finder has its name; without a GPU good for its names only."""
    finders = list(_finders)
    release()
    try:
        with contextlib.suppress(ImportError):
            importlib.import_module("cupy")
        yield sys.modules.get("cupy")
    finally:
        for finder in finders:
            claim(finder)
