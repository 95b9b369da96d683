"""Objects that are no tensors, of classes whose `__torch_function__` says what functions do with them.

No call looks for them: a function refuses them as it refuses others, and only then their class is asked.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .lazy import load


def _classes(values: Any) -> set[type]:
    """The classes of `values`, also of those in sequences, that may override functions; those derived from Tensor are known."""
    found = set()
    tensor = load("lucid.tensor:Tensor")
    for value in values:
        if value.__class__ in (tuple, list):
            found |= _classes(value)
        elif not isinstance(value, tensor) and (
                hasattr(type(value), "__torch_function__") or hasattr(type(value), "__lucid_function__")):
            found.add(type(value))
    return found


def refused(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What the classes of the arguments, which `function` has refused, make of the call; NotImplemented if none overrides."""
    classes = _classes((*args, *keywords.values()))
    return load("lucid.overrides.switching:once_more")(function, classes, args, keywords) if classes else NotImplemented


def asking(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which asks with any error; for those that are not called often, as a frame more takes 0.1 us."""
    @functools.wraps(function)
    def asked(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except Exception:
            found = refused(asked, args, keywords)
            if found is NotImplemented:
                raise
            return found

    return asked
