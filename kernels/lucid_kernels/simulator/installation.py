"""Putting the stand-in in the place of CuPy, and taking it out again."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_ROOTS = ("cupy", "cupyx", "cupy_backends")
#: The modules that `install` has displaced: the real CuPy, when it had been imported.
_displaced: dict[str, ModuleType] = {}


def _cupy_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in _ROOTS}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-in, which is imported only then, for the names of CuPy's modules."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for one of CuPy's names. Raises ModuleNotFoundError for a module that the stand-in lacks."""
        if fullname.split(".")[0] not in _ROOTS:
            return None
        from .cupy_stand_in import lacking, modules

        if fullname not in modules():
            raise ModuleNotFoundError(lacking.message(fullname), name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put the stand-in in the place of the empty module."""
        from .cupy_stand_in import modules

        sys.modules.update(modules())


_finder = _Finder()


def installed() -> bool:
    """Whether ``import cupy`` gives the stand-in."""
    return _finder in sys.meta_path


def install_lazily() -> None:
    """Make the next ``import cupy`` (or cupyx, cupy_backends), of any module, give the stand-in."""
    if installed():
        return
    _displaced.clear()
    _displaced.update(_cupy_modules())
    for name in _displaced:
        del sys.modules[name]
    sys.meta_path.insert(0, _finder)


def install() -> ModuleType:
    """Make ``import cupy`` (and cupyx, cupy_backends) give the stand-in, and return it. A second call changes nothing.

    Modules that have imported the real CuPy before keep it.
    """
    install_lazily()
    return importlib.import_module("cupy")


def uninstall() -> None:
    """Undo `install`: give the name `cupy` back to what it was before."""
    if installed():
        sys.meta_path.remove(_finder)
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
        install_lazily()
