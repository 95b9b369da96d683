"""When calls are looked at: while a mode is on anywhere, and while there is a class that overrides functions.

Without either, functions are what they are, and nobody pays. While calls are looked at, the public functions, which are partial
objects, call a handler, and methods and properties have its code.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .._namespace import interception
from ..tensor import Tensor
from .arguments import parameters
from .dispatch import answer, call, overloaded, relevant
from .functions import STANDS_FOR, methods, properties, spaces, tensor_attributes
from .state import overriding

_users = 0  # modes that are on, and living classes
_on = False
_known: weakref.WeakSet[type] = weakref.WeakSet()


def use(change: int) -> None:
    """Count one user more, or with -1 one less."""
    global _users
    with interception.lock:
        _users += change
        _switch()


def watch_class(cls: type) -> None:
    """Look at calls as long as there is this class, which overrides functions."""
    if cls in _known:
        return
    _known.add(cls)
    if "__lucid_function__" in vars(cls) and "__torch_function__" not in vars(cls):
        cls.__torch_function__ = vars(cls)["__lucid_function__"]  # type: ignore[attr-defined]
    weakref.finalize(cls, _forget_class)
    use(1)


def answer_late(function: Callable[..., Any], classes: set[type], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of `classes`, none of which was known, to a call of a public function, or of what that calls; NotImplemented if
    they do not override it.
    """
    classes = {cls for cls in classes if cls is not Tensor and overriding(cls)}
    public = _public_of(function)
    values = overloaded(relevant((*args, *kwargs.values())))
    if public is None or not values or classes <= set(_known):
        return NotImplemented
    for cls in classes:
        watch_class(cls)
    return answer(public, values, args, kwargs)


def _public_of(function: Any) -> Any:
    """The function or method that users call where `function` runs."""
    owns = {public: own for public, (own, _) in _public_functions().items()}
    for public, own in owns.items():
        if own is function:
            return public
    if any(function is member for members in spaces().values() for member in members.values()):
        return function
    name = next((name for name, method in methods() if method is function), None)
    if name is not None:
        return tensor_attributes()[STANDS_FOR.get(name, name)]
    return next((public for public, own in owns.items() if function in _behind(own)), None)


def _behind(function: Any) -> Iterator[Any]:
    """`function`, and those that it wraps."""
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)


def _forget_class() -> None:
    """A class is gone. The garbage collector may be anywhere: the next call that is looked at switches."""
    global _users
    _users -= 1


def _switch() -> None:
    """Begin to look at calls if there are users, or end to."""
    global _on
    if _on == (_users > 0):
        return
    parameters()  # before the functions have others
    _on = not _on
    for function, (own, handler) in _public_functions().items():
        function.__setstate__((handler if _on else own, (), {}, function.__dict__))
    for entry in _code():
        entry.switch("overrides", _on)


@functools.cache
def _public_functions() -> dict[Any, tuple[Any, Any]]:
    """The functions of the namespaces: what each calls, and what it calls instead."""
    partials = {function for members in spaces().values() for function in members.values()
                if isinstance(function, functools.partial)}
    return {function: (function.func, _handler(function, function.func)) for function in partials}


def _handler(public: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def overriding_function(*args: Any, **keywords: Any) -> Any:
        if not _users:
            use(0)
        return call(public, original, args, keywords)

    return overriding_function


@functools.cache
def _code() -> list[interception.Intercepted]:
    """What has another code: methods, the functions behind properties, and functions that are no partial objects."""
    found: list[interception.Intercepted] = []

    def add(function: FunctionType, public: Any) -> None:
        entry = interception.Intercepted.of(function)
        entry.layer("overrides", functools.partial(_code_handler, public))
        found.append(entry)

    attributes = tensor_attributes()
    for name, method in methods():
        add(method, attributes[STANDS_FOR.get(name, name)])
    for members in spaces().values():
        for function in members.values():
            if isinstance(function, FunctionType):
                add(function, function)
                if "asks_for" in vars(function):  # modules may call what is behind the frame that asks
                    add(vars(function)["asks_for"], function)
    for _, attribute in properties():
        if isinstance(attribute.fget, FunctionType):
            add(attribute.fget, attribute.__get__)
        if isinstance(attribute.fset, FunctionType):
            add(attribute.fset, attribute.__set__)
    return list({id(entry): entry for entry in found}.values())


def _code_handler(public: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    def overriding_code(*args: Any, **keywords: Any) -> Any:
        if not _users:
            use(0)
        return call(public, original, args, keywords)

    return overriding_code
