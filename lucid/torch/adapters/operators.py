"""`torch.ops`: operators by their names, `torch.ops.mylib.scale`; those of torchvision are lucid's."""
from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from ..refused import refused
from . import library


class _Namespace(ModuleType):
    """The operators of a namespace. Those of PyTorch, `aten` and others, can be named and compared, not called."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self._space = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = library.OPERATORS.get(f"{self._space}::{name}")
        if found is None:
            if self._space not in ("aten", "prim", "prims"):
                raise AttributeError(f"'_OpNamespace' '{self._space}' object has no attribute '{name}'", name=name, obj=self)
            found = refused(f"torch.ops.{self._space}.{name}")
            self.__dict__[name] = found  # the same each time: they are compared
        return found


class _Operators(ModuleType):
    """`torch.ops`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, _Namespace(name))

    @staticmethod
    def load_library(path: Any) -> None:
        """Bring the operators of torchvision; raises OSError for other C++ extensions."""
        folder, file = os.path.split(os.fspath(path))
        if os.path.basename(folder) == "torchvision" and file.startswith("_C"):
            from . import vision

            vision.register()
            return
        raise OSError(f"{path} is an extension in C++ of PyTorch, which lucid cannot load")

    @staticmethod
    def import_module(module: str) -> None:
        """Import a Python module that defines operators."""
        __import__(module)


ops = _Operators("torch.ops")
ops.__path__ = []
