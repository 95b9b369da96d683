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
    """Whether a mode is on, or one of the arguments is of a class that overrides functions; False where that is disabled.

    >>> lucid.overrides.has_torch_function((lucid.ones(1), 3))
    False
    """
    now = state.get()
    if now.modes and now.disabled != EVERYTHING:
        return True
    return now.disabled == NOTHING and any(type(value) is not Tensor and overriding(type(value)) for value in relevant_args)


def has_torch_function_unary(a: Any) -> bool:
    """`has_torch_function` of one argument.

    >>> lucid.overrides.has_torch_function_unary(lucid.ones(1))
    False
    """
    return has_torch_function((a,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments.

    >>> lucid.overrides.has_torch_function_variadic(lucid.ones(1), 3)
    False
    """
    return has_torch_function(args)


def handle_torch_function(public_api: Function, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the mode or the arguments make of a call of `public_api`. Raises TypeError if none of them knows it.

    >>> class Angle:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "an angle"
    >>> lucid.overrides.handle_torch_function(lucid.sin, (Angle(),), Angle())
    'an angle'
    """
    return answer(public_api, overloaded(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Function], Function]:
    """Let a function be overridden by those of its arguments that ``dispatcher(*args, **kwargs)`` returns.

    >>> @lucid.overrides.wrap_torch_function(lambda x: (x,))
    ... def half(x):
    ...     return x / 2
    >>> half(lucid.tensor([3.0]))
    Tensor([1.5], requires_grad=False)
    """
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
    """Whether `inp` is a tensor, or of a class that overrides functions.

    >>> lucid.overrides.is_tensor_like(lucid.ones(1)), lucid.overrides.is_tensor_like(3)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__") or hasattr(inp, "__lucid_function__")


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which a `__torch_dispatch__` may call itself; lucid has no such level below `__torch_function__`.

    >>> with lucid.overrides.enable_reentrant_dispatch():
    ...     print(lucid.ones(1).item())
    1.0
    """
    yield


def register_class(cls: type) -> type:
    """Let the methods of a class that is not derived from Tensor override functions, as a decorator.

    Functions ask such a class too when they first refuse one of its objects, and from then on before anything else. So this is of
    use for objects that they do not refuse, such as those that NumPy takes for arrays.

    >>> @lucid.overrides.register_class
    ... class Angle:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "an angle"
    >>> lucid.sin(Angle())
    'an angle'
    """
    if not overriding(cls):
        raise TypeError(f"{cls.__name__} has no __torch_function__")
    watch_class(cls)
    return cls
