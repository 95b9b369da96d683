"""Modules of PyTorch that lucid has under another name, or has not split off: imports find them.

``import lucid.cuda.amp`` gives `lucid.gpu.amp` itself; ``from lucid.nn.modules.pixelshuffle import PixelShuffle`` finds the class
in `lucid.nn.modules`.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

#: Another name of a package, and of all below it.
_RENAMED = ("lucid.cuda", "lucid.gpu")
#: A module of PyTorch, and where lucid has what stands in it.
SPLIT = dict(line.split() for line in """
lucid.autograd.anomaly_mode lucid.autograd
lucid.autograd.profiler lucid.profiler
lucid.cpu.amp.autocast_mode lucid.cpu.amp
lucid.cpu.amp.grad_scaler lucid.cpu.amp
lucid.data.graph_settings lucid.data.datapipes.graph
lucid.functional lucid
lucid.gpu.amp.autocast_mode lucid.gpu.amp
lucid.gpu.amp.common lucid.gpu.amp
lucid.gpu.amp.grad_scaler lucid.gpu.amp
lucid.nn.modules.channelshuffle lucid.nn.modules
lucid.nn.modules.linear_cross_entropy lucid.nn.modules
lucid.nn.modules.linear_cross_entropy_options lucid.nn.modules
lucid.nn.modules.pixelshuffle lucid.nn.modules
lucid.nn.parallel.distributed lucid.nn.parallel
lucid.profiler.profiler lucid.profiler
lucid.quasirandom lucid.ops.random.quasirandom
lucid.signal.windows.windows lucid.signal.windows
lucid.storage lucid.ops.manipulation.storage
lucid.version lucid._helpers.version
""".strip().splitlines())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked first: below a package of another name Python would find the files, and run them a second time."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for a module of the tables."""
        known = fullname in SPLIT or _renamed(fullname) is not None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """The module of another name itself; None for a new one."""
        own = _renamed(spec.name)
        if own is None:
            return None
        module = importlib.import_module(own)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Let a new module look elsewhere; another keeps the name that it has."""
        spec = module.__spec__
        assert spec is not None
        if spec.loader_state is not None:
            module.__spec__ = spec.loader_state
        else:
            place = SPLIT[module.__name__]
            vars(module)["__getattr__"] = lambda name: _from(place, module.__name__, name)


def _renamed(name: str) -> str | None:
    """The own name of a module that `name` is another one of."""
    other, own = _RENAMED
    return own + name[len(other):] if name.startswith(other) and name[len(other):len(other) + 1] in ("", ".") else None


def _from(place: str, module: str, name: str) -> Any:
    if not name.startswith("__") or name == "__version__":
        found = getattr(importlib.import_module(place), name, place)
        if found is not place and not isinstance(found, ModuleType):
            return found
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def install() -> None:
    """Let them be found."""
    sys.meta_path.insert(0, _Finder())
