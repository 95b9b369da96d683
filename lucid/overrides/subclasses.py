"""What functions do with tensors of a class derived from Tensor that does not say so itself."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..tensor import Tensor
from .functions import get_default_nowrap_functions
from .state import DisableTorchFunctionSubclass


def in_subclass(cls: type, func: Callable[..., Any], types: Iterable[type], args: Any, kwargs: dict[str, Any] | None) -> Any:
    """The default `__torch_function__`: `func` with plain tensors, and its results as tensors of class `cls`.

    NotImplemented if one of `types` is no base of `cls`: that class has to answer.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if cls is Tensor or func in get_default_nowrap_functions() else _converted(result, cls)


def _converted(result: Any, cls: type) -> Any:
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_converted(part, cls) for part in result]
        kind = type(result)
        return kind(*parts) if hasattr(result, "_fields") else kind(parts)
    return result
