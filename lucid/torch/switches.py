"""What lucid does in PyTorch's way while `lucid.torch` is installed, where docs/differences.md says that it goes its own way."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid import _dtypes
from lucid._layout import Layout
from lucid.autograd import freeing
from lucid.autograd.errors import type_name
from lucid.backends import device as devices
from lucid.backends.memory_format import MemoryFormat
from lucid.nn.modules.module import Module
from lucid.nn.modules.module.registry import Registry
from lucid.nn.parameter import Buffer, Parameter
from lucid.ops.creation.types import TensorType
from lucid.tensor import Size, Tensor

from . import dtypes, printing
from .names import modules
from .places import places

_originals: list[tuple[Any, str, Any]] = []


class _Cuda(str):
    """The type of a GPU: 'cuda'. It equals lucid's own name for it too, with which lucid compares."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == "gpu"

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


def _set(owner: Any, name: str, value: Any) -> None:
    of_type = name in ("__name__", "__qualname__")  # which stand in no class's dictionary
    _originals.append((owner, name, getattr(owner, name) if of_type else vars(owner).get(name, _originals)))
    setattr(owner, name, value)


def _named(self: Any) -> str:
    return f"torch.{self.name}"


def _type(original: Any) -> Any:
    def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The tensor in another dtype; without one the name of its type, such as 'torch.FloatTensor'."""
        if dtype is not None:
            return original(self, dtype, non_blocking)
        where = "cuda." if self.is_gpu else ""
        return f"torch.{where}{type_name(self.dtype)}Tensor"

    return type


def _dtype(self: Tensor) -> dtypes.dtype:
    """The kind of the elements."""
    return dtypes.of(self._array.dtype)


def _no_lines(self: Module) -> list[str]:
    return []  # PyTorch's `repr` of a module hides buffers


def turn_on() -> None:
    """Go PyTorch's way."""
    devices._type_names["gpu"] = _Cuda("cuda")
    _set(Registry, "_plain_buffers", True)
    _set(Module, "_buffer_lines", _no_lines)
    _set(Tensor, "__repr__", printing.format_tensor)
    _set(Buffer, "__repr__", printing.format_tensor)
    _set(Tensor, "dtype", property(_dtype))
    _set(_dtypes, "CLASSES", _dtypes.CLASSES | {dtypes.dtype})
    _set(freeing, "_PLAIN", freeing._PLAIN | {dtypes.dtype})
    _set(Tensor, "type", _type(vars(Tensor)["type"]))
    _set(Size, "__repr__", lambda self: f"torch.Size([{', '.join(map(str, self))}])")
    _set(Layout, "__repr__", _named)
    _set(MemoryFormat, "__repr__", _named)
    _set(TensorType, "__repr__", lambda cls: f"<class 'torch.{'cuda.' if cls._place == 'gpu' else ''}{cls.__name__}'>")
    _set(Parameter, "__module__", "torch.nn.parameter")
    for module, names in modules().items():
        for name, kind in names.items():
            if kind == "here":
                for place in places_at_hand(module):
                    found = vars(place).get(name)
                    if isinstance(found, type) and found.__module__.startswith("lucid.") and not isinstance(found, np.dtype):
                        _set(found, "__module__", module)
                        if found.__name__ != name:  # pickles name a class by both
                            _set(found, "__name__", name)
                            _set(found, "__qualname__", name)


def places_at_hand(module: str) -> Any:
    """The modules of lucid for a module of PyTorch, but for those that are imported when they are first asked for."""
    return places(module) if module.startswith(("torch.nn.modules", "torch.optim")) or module == "torch" else ()


def turn_off() -> None:
    """Go lucid's own way."""
    devices._type_names.clear()
    while _originals:
        owner, name, value = _originals.pop()
        if value is _originals:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
