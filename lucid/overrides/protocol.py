"""Functions of users that can be overridden, as those of lucid."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..tensor import Tensor
from .dispatch import answer, overloaded
from .state import EVERYTHING, NOTHING, overriding, state
from .switching import watch_class

Function = Callable[..., Any]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on, or one of the arguments is of a class that overrides functions; False where that is disabled."""
    now = state.get()
    if now.modes and now.disabled != EVERYTHING:
        return True
    return now.disabled == NOTHING and any(type(value) is not Tensor and overriding(type(value)) for value in relevant_args)


def has_torch_function_unary(a: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((a,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api: Function, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the mode or the arguments make of a call of `public_api`. Raises TypeError if none of them knows it."""
    return answer(public_api, overloaded(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Function], Function]:
    """Let a function be overridden by those of its arguments that ``dispatcher(*args, **kwargs)`` returns."""
    def inner(func: Function) -> Function:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Whether `inp` is a tensor, or of a class that overrides functions."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__") or hasattr(inp, "__lucid_function__")


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which a `__torch_dispatch__` may call itself; lucid has no such level below `__torch_function__`."""
    yield


def register_class(cls: type) -> type:
    """Let the methods of a class that is not derived from Tensor override functions, as a decorator.

    Functions notice such a class when they first refuse one of its objects. Those without the keyword `out` raise then, and know
    it from then on.
    """
    if not overriding(cls):
        raise TypeError(f"{cls.__name__} has no __torch_function__")
    watch_class(cls)
    return cls
