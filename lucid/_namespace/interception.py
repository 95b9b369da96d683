"""Handlers in front of functions, such as those of autocast and overrides, at no cost while they are off.

A check in each function would be paid by every call. Instead the function gets another code, which calls the handler, and later
its own again: so every call is seen, under whatever name. Where several layers are on, the first of `ORDER` is called first.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

Function = Callable[..., Any]
Maker = Callable[[Function], Function]  # makes the handler of a layer around the function
ORDER = ("overrides", "autocast")
lock = threading.RLock()  # held while functions are exchanged
_intercepted: dict[int, Intercepted] = {}


def _template(*args: Any, **keywords: Any) -> Any:
    handler: Any = "handler"
    return handler(*args, **keywords)


class Intercepted:
    """A function, its own code, and the codes with layers before it."""

    __slots__ = ("_codes", "_makers", "_on", "function", "original")

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.original = copied(function)
        self._makers: dict[str, Maker] = {}
        self._on: tuple[str, ...] = ()
        self._codes: dict[tuple[str, ...], CodeType] = {(): function.__code__}

    @classmethod
    def of(cls, function: FunctionType) -> Intercepted:
        """The one of `function`."""
        found = _intercepted.get(id(function))
        if found is None:
            found = _intercepted[id(function)] = cls(function)
        return found

    def layer(self, name: str, maker: Maker) -> None:
        """Say what the layer `name` puts before the function."""
        self._makers[name] = maker

    def switch(self, name: str, on: bool) -> None:
        """Begin or end to call the layer `name`."""
        self._on = key = tuple(layer for layer in ORDER if (on if layer == name else layer in self._on))
        code = self._codes.get(key)
        if code is None:
            call: Function = self.original
            for layer in reversed(key):
                call = self._makers[layer](call)
            code = self._codes[key] = _calling(call, self._codes[()])
        self.function.__code__ = code


def copied(function: FunctionType) -> FunctionType:
    """Another function that does the same."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__doc__, copy.__module__, copy.__qualname__ = function.__doc__, function.__module__, function.__qualname__
    copy.__annotations__ = function.__annotations__
    return copy


def _calling(handler: Function, own: CodeType) -> CodeType:
    """Code that calls `handler`, for a function whose own code is `own`: with as many variables of outer functions."""
    template = _template.__code__
    constants = tuple(handler if constant == "handler" else constant for constant in template.co_consts)
    return template.replace(co_consts=constants, co_freevars=own.co_freevars, co_name=own.co_name, co_qualname=own.co_qualname)


def is_seen(function: Function) -> bool:
    """Whether a layer is called before `function`."""
    found = _intercepted.get(id(function))
    return found is not None and bool(found._on)
