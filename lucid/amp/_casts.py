"""Casts of the arguments of an operation. Those of parameters to the lower precision are kept, so that a parameter that is used
several times is cast once, and its gradients are added up in one place.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes
from ..autograd.grad_mode import mode as grad_mode
from ..ops.nn.recurrent import Weights
from ..tensor import Tensor
from ..tensor.nodes import Leaf
from ._state import casts, state

Cast = Callable[[Tensor], Tensor]
_LOWER = (_dtypes.float16, _dtypes.bfloat16)


def device_of(tensor: Tensor) -> str:
    """'cpu', 'gpu' or another kind."""
    array = tensor._array
    if array.__class__ is np.ndarray:
        return "cpu"
    device = getattr(tensor, "device", None)
    kind = getattr(device, "type", "")
    return "gpu" if kind == "gpu" else kind  # a text that is also PyTorch's name equals it, and has another hash


def eligible(value: Any, device: str) -> bool:
    """Whether autocast changes the dtype of `value`: a real floating-point tensor on `device`, but no float64."""
    return (isinstance(value, Tensor) and _dtypes.is_floating(value._array.dtype) and value._array.dtype != _dtypes.float64
            and device_of(value) == device)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in an argument, which may be a sequence or the weights of a recurrent layer."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, Weights):
        return [tensor for name in Weights.__slots__ for tensor in tensors_in(getattr(value, name))]
    return []


def mapped(value: Any, change: Cast) -> Any:
    """An argument with its tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)) and tensors_in(value):
        changed = [mapped(item, change) for item in value]
        return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
    if isinstance(value, Weights):
        return Weights(**{name: mapped(getattr(value, name), change) for name in Weights.__slots__})
    return value


def cast_to(dtype: np.dtype, device: str) -> Cast:
    """The function that casts a tensor to `dtype`, if autocast changes its dtype."""
    def cast(tensor: Tensor) -> Tensor:
        if not eligible(tensor, device) or tensor._array.dtype == dtype:
            return tensor
        if (dtype in _LOWER and tensor._array.dtype == _dtypes.float32 and tensor._node.__class__ is Leaf
                and tensor._view is None and state.get().cache_enabled):
            return _kept(tensor, dtype)
        return tensor.to(dtype)

    return cast


def _kept(tensor: Tensor, dtype: np.dtype) -> Tensor:
    """The cast of a leaf, remade after a write to it: PyTorch's would be out of date then, and without a gradient after
    a first use in `no_grad`.
    """
    box = tensor._version_box
    key = id(tensor), dtype, grad_mode.get()
    origin = id(tensor._array), 0 if box is None else box.count
    found = casts.made.get(key)
    if found is not None and found[0]() is tensor and found[1] == origin:
        kept: Tensor = found[2]
        return kept
    cast: Tensor = tensor.to(dtype)
    casts.made[key] = weakref.ref(tensor), origin, cast
    return cast
