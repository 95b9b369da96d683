"""Modules without their initial values."""
from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ..modules.module import Module

Layer = TypeVar("Layer", bound=Module)


def skip_init(module_cls: type[Layer], *args: Any, **kwargs: Any) -> Layer:
    """``module_cls(*args, **kwargs)`` without the work of computing initial values, which a state dict will replace anyway.

    The module is made on the device 'meta' and gets its memory from `Module.to_empty` on ``kwargs["device"]``, 'cpu' by
    default: the elements of parameters and persistent buffers are arbitrary.
    Raises TypeError for something that is no class, RuntimeError for a class that is no module or whose constructor has no
    argument `device`.

    >>> nn.utils.skip_init(nn.Linear, 2, 3).weight.shape
    lucid.Size([3, 2])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization, and "
                           f"{module_cls.__name__} does not")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
