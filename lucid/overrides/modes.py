"""Modes: contexts that see every function that can be overridden."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from .state import State, state
from .switching import use


class TorchFunctionMode:
    """A context in which `__torch_function__` of the mode is called instead of every function that can be overridden.

    ``__torch_function__(self, func, types, args=(), kwargs=None)`` returns what the function shall, mostly
    ``func(*args, **kwargs)``, changed. Inside of it the mode is off. Modes nest: what the inner one calls, the outer one sees.

    >>> class Names(lucid.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(lucid.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> x = lucid.ones(2)
    >>> with Names():
    ...     y = lucid.sin(x) + 1
    lucid.sin
    lucid.Tensor.add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        use(1)
        old = state.get()
        state.set(State((*old.modes, self), old.disabled))
        return self

    def __exit__(self, *error: object) -> None:
        old = state.get()
        state.set(State(old.modes[:-1], old.disabled))
        use(-1)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    >>> with lucid.overrides.BaseTorchFunctionMode():
    ...     print(lucid.ones(2) + 1)
    Tensor([2.0, 2.0], requires_grad=False)
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        return func(*args, **(kwargs or {}))
