"""Putting the stand-in in the place of CuPy, and taking it out again."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType

from . import cupy_names


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-in, which is imported only then, for the names of CuPy's modules."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for one of CuPy's names. Raises ModuleNotFoundError for a module that the stand-in lacks."""
        if fullname.split(".")[0] not in cupy_names.ROOTS:
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
    return cupy_names.is_claimed()


def install_lazily() -> None:
    """Make the next ``import cupy`` (or cupyx, cupy_backends), of any module, give the stand-in."""
    cupy_names.claim(_finder)


def install() -> ModuleType:
    """Make ``import cupy`` (and cupyx, cupy_backends) give the stand-in, and return it. A second call changes nothing.

    Modules that have imported the real CuPy before keep it.
    """
    install_lazily()
    return importlib.import_module("cupy")


def uninstall() -> None:
    """Undo `install`: give the name `cupy` back to what it was before."""
    cupy_names.release()
