"""Functions that are replaced while something is traced: calls of modules, and functions that are recorded as a whole."""
from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from . import naming
from .proxy import first_proxy

__all__ = ["Patches", "recorded_if_traced", "wrap", "wrapped_functions"]

_ABSENT: Any = object()
_Wrapped = TypeVar("_Wrapped", bound="str | Callable[..., Any]")
#: By the dictionary of a module, as its identity, and a name: the dictionary.
wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}


def wrap(fn_or_name: _Wrapped) -> _Wrapped:
    """Record calls of a function of the calling module as a whole, instead of looking into it: for a function of which control
    flow depends on values, or a builtin such as `len`. At the top of a module, with its name, or as a decorator.

    >>> lucid.fx.wrap("len")
    'len'
    """
    if not isinstance(fn_or_name, str) and not callable(fn_or_name):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else naming.name_of(fn_or_name)
    wrapped_functions[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def recorded_if_traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose calls with proxies are recorded."""
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = first_proxy(args, kwargs)
        if found is None:
            return function(*args, **kwargs)
        proxy = found.tracer.create_proxy("call_function", function, args, kwargs)
        proxy.node.meta["is_wrapped"] = True
        return proxy

    wrapped._is_recorded = True  # type: ignore[attr-defined]
    return wrapped


class Patches:
    """A context that undoes what was set in it."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []
        self._seen: set[int] = set()

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a class."""
        self._before.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def set_item(self, owner: dict[str, Any], name: str, value: Any) -> None:
        """Set a name of a module, by its dictionary."""
        self._before.append((owner, name, owner.get(name, _ABSENT)))
        owner[name] = value

    def record_wrapped(self) -> None:
        """Record calls of the functions that `wrap` has named."""
        for (_, name), space in wrapped_functions.items():
            function = space.get(name, vars(builtins).get(name, _ABSENT))
            if function is not _ABSENT and not hasattr(function, "_is_recorded"):  # by a trace around this one
                self.set_item(space, name, recorded_if_traced(function))

    def record_named(self, space: dict[str, Any], functions: set[int]) -> None:
        """Record calls of those of `functions`, identities, that a module has a name for."""
        if id(space) in self._seen:
            return
        self._seen.add(id(space))
        for name, value in list(space.items()):
            if not name.startswith("_") and id(value) in functions and callable(value):
                self.set_item(space, name, recorded_if_traced(value))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            if isinstance(owner, dict):
                if value is _ABSENT:
                    del owner[name]
                else:
                    owner[name] = value
            elif value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
