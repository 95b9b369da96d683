"""PyTorch programs on lucid: in a process where this is installed, `import torch` gives lucid.

``python -m lucid.torch train.py`` runs a script so, ``-m package`` and ``-c code`` as Python does; `pytest -p lucid.torch` runs
tests so; `install` does it in a program of yours. docs/torch.md lists the names.

`finder`: what `import` finds, and its modules.
`resolve`: what a name of PyTorch is here: lucid's, an adapter, inert, refused or absent.
`names`: the names of PyTorch.
`places`: where in lucid the names of a module are.
`inert`: names without effect on any number.
`refused`: names that raise when they are used.
`adapters`: what is written here on top of lucid, a file for each module of PyTorch.
`dtypes`: dtypes that print as PyTorch's.
`switches`: what lucid does in PyTorch's way while this is installed.
`state`: how modules are converted, loaded and copied in PyTorch.
`hooks`: what deprecated backward hooks see.
`printing`: tensors as PyTorch prints them.
`distribution`: the installed version, for packages that ask.
`processes`: new processes of Python's, which begin so too.
`trace`: who asked for what.
`command`, `__main__`: the command line.
`page`: the names by groups.
"""
from __future__ import annotations

import sys
from typing import Any

from . import finder, processes, switches

__all__ = ["install", "installed", "uninstall"]


def install() -> Any:
    """Let `import torch` give lucid from now on, and switch lucid to PyTorch's ways. Returns the module `torch`.

    Raises RuntimeError where the real PyTorch has been imported.
    """
    if not installed():
        finder.add()
        switches.turn_on()
        processes.begin_alike()
    import torch  # type: ignore[import-not-found, unused-ignore]

    return torch


def uninstall() -> None:
    """Undo `install`: `import torch` gives what it gave, and lucid goes its own ways. Objects that exist stay as they are."""
    if installed():
        processes.begin_as_before()
        switches.turn_off()
        finder.remove()


def installed() -> bool:
    """Whether `import torch` gives lucid."""
    return any(isinstance(each, finder.Finder) for each in sys.meta_path)


def pytest_load_initial_conftests() -> None:
    """With ``pytest -p lucid.torch``: before the first test module is imported."""
    install()
