"""Putting the stand-in in the place of CuPy, and taking it out again."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_ROOTS = ("cupy", "cupyx", "cupy_backends")
#: The modules that `install` has displaced: the real CuPy, when it had been imported.
_displaced: dict[str, ModuleType] = {}


def _cupy_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in _ROOTS}


def installed() -> bool:
    """Whether ``import cupy`` gives the stand-in."""
    return getattr(sys.modules.get("cupy"), "__simulated__", False)


def install() -> ModuleType:
    """Make ``import cupy`` (and cupyx, cupy_backends) give the stand-in, and return it. A second call changes nothing.

    Modules that have imported the real CuPy before keep it.
    """
    from . import cupy_stand_in

    if not installed():
        _displaced.clear()
        _displaced.update(_cupy_modules())
        for name in _displaced:
            del sys.modules[name]
        sys.modules.update(cupy_stand_in.modules())
    return cupy_stand_in


def uninstall() -> None:
    """Undo `install`: give the name `cupy` back to what it was before."""
    if installed():
        for name in _cupy_modules():
            del sys.modules[name]
        sys.modules.update(_displaced)
        _displaced.clear()


@contextmanager
def real_cupy() -> Iterator[ModuleType | None]:
    """The installed CuPy, or None, also while the stand-in is in its place; without a GPU good for its names only."""
    if not installed():
        with contextlib.suppress(ImportError):
            importlib.import_module("cupy")
        yield sys.modules.get("cupy")
        return
    uninstall()
    try:
        with contextlib.suppress(ImportError):
            importlib.import_module("cupy")
        yield sys.modules.get("cupy")
    finally:
        install()
