"""What `import torch` finds while this is installed: modules that pass on the names of lucid, and of the tables here."""
from __future__ import annotations

import dis
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

from . import dtypes, trace
from .adapters import ADAPTERS, MODULES, OBJECTS
from .distribution import Distribution
from .names import modules, packages
from .places import places
from .resolve import ABSENT, adapter, find, listed

_OF_ADAPTERS = frozenset(name.rpartition(".")[0] for name in ADAPTERS)  # packages
_WRITTEN = frozenset(dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") if name in dis.opmap)


def _is_written(frame: FrameType) -> bool:
    """Whether a program asks for the name by writing it, ``torch.name`` or ``from torch import name``, and not by `hasattr` or
    `getattr`, with which it finds out whether there is something that it can use.
    """
    return frame.f_code.co_code[frame.f_lasti] in _WRITTEN or frame.f_code.co_filename.startswith("<frozen")


class Served(ModuleType):
    """A module of PyTorch."""

    def __getattr__(self, name: str) -> Any:
        module = self.__name__
        if name == "__all__":
            return listed(module)
        full = f"{module}.{name}"
        if _is_module(full):
            return importlib.import_module(full)
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=self)
        frame = sys._getframe(1)
        found = find(module, name)
        if trace.is_on():
            trace.write(full, found.group, frame)
        if found.group == "absent" or (found.group == "refused" and not _is_written(frame)):
            known = "lucid has no" if name in modules().get(module, {}) else "PyTorch 2.13 has no"
            raise AttributeError(f"{known} {full} (asked for at {trace.caller(frame)})", name=name, obj=self)
        if found.group != "refused" and not trace.is_on():
            self.__dict__[name] = found.value
        return found.value

    def __setattr__(self, name: str, value: Any) -> None:
        # As in PyTorch, `torch.nn.utils.weight_norm` is the function also when the module of this name has been imported.
        if not isinstance(value, Served) or find(self.__name__, name).group not in ("lucid", "adapter"):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *listed(self.__name__)})


def _fill(module: ModuleType, traced: bool) -> None:
    """Put in the names that are at hand: programs look into ``torch.optim.__dict__``. The rest is found when it is asked for;
    what is traced is, each time.
    """
    name = module.__name__
    own = adapter(name)
    if own is not None:
        there = [each for each in own.__all__ if each in vars(own) and (not traced or each.startswith("__"))]
        module.__dict__.update({each: vars(own)[each] for each in there})
    if traced:
        return
    if name == "torch":
        module.__dict__.update(dtypes.NAMED)
    for each in modules().get(name, ()):
        if each not in module.__dict__ and f"{name}.{each}" not in OBJECTS:
            value = next((vars(place)[each] for place in places(name) if each in vars(place)), ABSENT)
            if value is not ABSENT and not isinstance(value, ModuleType):
                module.__dict__[each] = value


def _is_module(name: str) -> bool:
    return name in modules() or name in packages() or name in ADAPTERS or name in _OF_ADAPTERS or name in MODULES


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch` and its modules."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for a module of PyTorch."""
        if fullname.partition(".")[0] != "torch" or not _is_module(fullname):
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=f"lucid as {fullname}", is_package=True)
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module, which may be an object of an adapter."""
        if spec.name in MODULES:
            where, _, name = MODULES[spec.name].partition(":")
            made: ModuleType = getattr(importlib.import_module(f"{__package__}.adapters.{where}"), name)
            return made
        return Served(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module."""
        if isinstance(module, Served):
            _fill(module, trace.is_on())

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """The distribution `torch`, for `importlib.metadata`."""
        if getattr(context, "name", None) in ("torch", None):
            yield Distribution()


def add() -> None:
    """Let `import torch` find lucid. Raises RuntimeError where the real PyTorch has been imported."""
    if "torch" in sys.modules:
        raise RuntimeError("the real PyTorch has been imported in this process: `lucid.torch.install()` must come before the "
                           "first `import torch`; or start the program with `python -m lucid.torch`")
    sys.meta_path.insert(0, Finder())
    importlib.import_module("torch")
    for name in _ALWAYS:
        importlib.import_module(name)


def remove() -> None:
    """Let `import torch` find what it found before."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, Finder)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]


#: What is there after `import torch`.
_ALWAYS = [f"torch.{name}" for name in """nn nn.functional nn.init nn.parameter optim utils utils.data autograd linalg fft
    special cuda random backends""".split()]
