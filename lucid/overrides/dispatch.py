"""Who answers for a call: the innermost mode, then the classes of the arguments, derived classes before their bases."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..tensor import Tensor
from .arguments import handed_on
from .state import EVERYTHING, NOTHING, WithoutMode, implementation, overriding, state

_PLAIN = frozenset((Tensor, int, float, bool, complex, str, type(None), slice, type(Ellipsis)))


def relevant(values: Iterable[Any]) -> list[Any]:
    """The arguments, also those in sequences, whose classes override functions."""
    found: list[Any] = []
    for value in values:
        cls = value.__class__
        if cls in _PLAIN:
            continue
        if cls is list or cls is tuple:
            found += relevant(value)
        elif overriding(cls):
            found.append(value)
    return found


def overloaded(values: Iterable[Any]) -> list[Any]:
    """One of `values` for each class that overrides, in the order in which they are asked."""
    if state.get().disabled != NOTHING:
        return []
    found: list[Any] = []
    for value in values:
        cls = type(value)
        if any(cls is type(other) for other in found) or not overriding(cls):
            continue
        place = next((index for index, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(place, value)
    return found


def answer(public: Callable[..., Any], values: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the mode, or the first class that does not say NotImplemented, makes of a call. Raises TypeError if none does."""
    args, kwargs = handed_on(public, args, kwargs)
    types = tuple(map(type, values))
    now = state.get()
    mode = now.modes[-1] if now.modes and now.disabled != EVERYTHING else None
    if mode is not None:
        with WithoutMode():
            result = mode.__torch_function__(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in values:
        method = implementation(value)
        if getattr(method, "__self__", None) is value:
            warnings.warn("Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, "
                          "please define it as a classmethod.", DeprecationWarning, stacklevel=3)
        result = method(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    from .functions import resolve_name

    name = resolve_name(public) or f"{getattr(public, '__module__', '')}.{getattr(public, '__name__', public)}"
    message = f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}"
    raise TypeError(message if mode is None else f"{message} nor was it found on the currently active mode {mode}")


def call(public: Callable[..., Any], original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`original`, the function behind a public one, unless a mode or an argument overrides it."""
    now = state.get()
    if now.disabled == EVERYTHING or not (now.modes or now.disabled == NOTHING):
        return original(*args, **kwargs)
    found = relevant(args)
    if kwargs:
        found += relevant(kwargs.values())
    if not (found and now.disabled == NOTHING) and not now.modes:
        return original(*args, **kwargs)
    return answer(public, overloaded(found), args, kwargs)
