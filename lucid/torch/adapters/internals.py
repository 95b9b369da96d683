"""Private modules of PyTorch: `torch._C`, `torch._utils`."""
from __future__ import annotations

import enum
from typing import Any

import lucid

from .library import excluding

__all__ = [
    "DispatchKey",
    "DispatchKeySet",
    "_ExcludeDispatchKeyGuard",
    "_TensorMeta",
    "_VariableFunctions",
    "_VariableFunctionsClass",
    "_flatten_dense_tensors",
    "_get_default_device",
    "_get_privateuse1_backend_name",
    "_infer_size",
    "_unflatten_dense_tensors",
]

DEFAULT_PROTOCOL = 2
_Number = (bool, int, float)
_TensorMeta = type(lucid.Tensor)
_ExcludeDispatchKeyGuard = excluding


class _Functions:
    """Where PyTorch's own functions of `torch` are, and pickles look for them."""

    def __getattr__(self, name: str) -> Any:
        return getattr(lucid, name)


_VariableFunctions = _VariableFunctionsClass = _Functions()


class DispatchKey(enum.Enum):
    """The keys of PyTorch's dispatcher that Python programs name."""

    CPU = enum.auto()
    CUDA = enum.auto()
    XPU = enum.auto()
    Meta = enum.auto()
    Autograd = enum.auto()
    AutogradCPU = enum.auto()
    AutogradCUDA = enum.auto()
    AutocastCPU = enum.auto()
    AutocastCUDA = enum.auto()
    AutocastXPU = enum.auto()
    CompositeImplicitAutograd = enum.auto()
    CompositeExplicitAutograd = enum.auto()
    FuncTorchBatched = enum.auto()
    Functionalize = enum.auto()


class DispatchKeySet(frozenset[DispatchKey]):
    """A set of keys: ``DispatchKeySet(key) | DispatchKeySet(other)``."""

    def __new__(cls, keys: Any = ()) -> DispatchKeySet:
        """The set of one key, or of several."""
        return super().__new__(cls, (keys,) if isinstance(keys, DispatchKey) else keys)


def _get_privateuse1_backend_name() -> str:
    """The name of the device that extensions may bring."""
    return "privateuseone"


def _get_default_device() -> str:
    """The kind of device that tensors are made on when none is named."""
    return lucid.get_default_device().type


def _infer_size(a: Any, b: Any) -> Any:
    """The shape that two shapes broadcast to."""
    return lucid.broadcast_shapes(a, b)


def _flatten_dense_tensors(tensors: Any) -> lucid.Tensor:
    """All elements of tensors after each other."""
    return lucid.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: lucid.Tensor, tensors: Any) -> tuple[lucid.Tensor, ...]:
    """Views of `flat` in the shapes of `tensors`."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True))
