"""Numba kernels. Importing a module of this package imports numba; importing the package itself does not.

It has malloc keep freed memory: operations on arrays of 10,000 floats, which NumPy computes, took 2.4 times as long without.
"""
from __future__ import annotations

import importlib
from types import ModuleType

from . import _signals
from .runtime.malloc import keep_freed_memory

keep_freed_memory()


def __getattr__(name: str) -> ModuleType:
    """A module of this package, imported when ``from lucid_kernels.cpu import name`` first asks for it.

    Ctrl-C has to wait meanwhile: Numba of which half was imported cannot be imported again.
    """
    module = f"{__name__}.{name}"
    try:
        with _signals.deferred():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
