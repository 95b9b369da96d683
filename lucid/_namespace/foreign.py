"""Deferring to the classes of arguments that are no tensors, whose `__torch_function__` says what functions do with them.

No call looks for them: a function refuses them as it refuses others, with any error, and only then their class is asked. So the
usual call pays for no check. Public functions, and methods of several tensors, have a `try` in a frame before them, that with the
other keywords (`forwarding`); the methods that are called most have it in their own body.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from .lazy import load

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Modules with what public functions are made of: the function that their caller has called answers, and not they.
_INSIDE = ("lucid.ops.", "lucid.autograd.", "lucid._namespace.", "lucid.nn.functional", "lucid.nn.init", "lucid.special",
           "lucid.linalg", "lucid.fft")


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


def answer(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What the classes of the arguments, which `function` has refused, make of the call; NotImplemented if none overrides."""
    classes = _classes((*args, *keywords.values()))
    return load("lucid.overrides.switching:answer_late")(function, classes, args, keywords) if classes else NotImplemented


def is_inside(frame: FrameType) -> bool:
    """Whether `frame`, which has called a function, is part of another public function: then that one has to ask."""
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith(_INSIDE)


def defer(name: str, *args: Any, **keywords: Any) -> Any:
    """In an `except` block of the method `name` of Tensor, with its arguments: what their classes make of the call, or the error
    again.
    """
    return defer_from(sys._getframe(2), name, args, keywords)


def defer_from(frame: FrameType, name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`defer` of a method that `frame` has called."""
    method = getattr(load("lucid.tensor:Tensor"), name)
    found = NotImplemented if is_inside(frame) else answer(method, args, keywords)
    if found is NotImplemented:
        raise  # the error that the caller handles
    return found


def defers(function: _Function) -> _Function:
    """Mark a function that sees to what it refuses itself, and so needs no frame for that."""
    function.defers = True  # type: ignore[attr-defined]
    return function
