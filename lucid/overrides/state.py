"""What is on in this context: the stack of modes, and whether overriding is disabled."""
from __future__ import annotations

from contextvars import ContextVar
from typing import Any, NamedTuple, Self

from ..tensor import disabled_torch_function

NOTHING, SUBCLASSES, EVERYTHING = 0, 1, 2  # what is disabled


class State(NamedTuple):
    """The modes, the innermost last, and what is disabled."""

    modes: tuple[Any, ...] = ()
    disabled: int = NOTHING


_NONE = State()
state: ContextVar[State] = ContextVar("lucid_overrides", default=_NONE)


class _Scope:
    """A context in which another state holds, as a decorator too."""

    __slots__ = ("_tokens",)

    def __init__(self) -> None:
        self._tokens: list[Any] = []

    def _changed(self, old: State) -> State:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._tokens.append(state.set(self._changed(state.get())))
        return self

    def __exit__(self, *error: object) -> None:
        state.reset(self._tokens.pop())


class DisableTorchFunctionSubclass(_Scope):
    """A context in which tensors of derived classes count as plain ones; modes stay on.

    >>> with lucid.overrides.DisableTorchFunctionSubclass():
    ...     print(lucid.overrides.has_torch_function((lucid.ones(1),)))
    False
    """

    __slots__ = ()

    def _changed(self, old: State) -> State:
        return State(old.modes, max(old.disabled, SUBCLASSES))


class DisableTorchFunction(_Scope):
    """A context in which nothing is overridden, by modes neither.

    >>> with lucid.overrides.DisableTorchFunction():
    ...     print(lucid.overrides.has_torch_function((lucid.ones(1),)))
    False
    """

    __slots__ = ()

    def _changed(self, old: State) -> State:
        return State(old.modes, EVERYTHING)


class WithoutMode(_Scope):
    """A context without the innermost mode, in which that does its work."""

    __slots__ = ()

    def _changed(self, old: State) -> State:
        return State(old.modes[:-1], old.disabled)


def overriding(cls: type) -> bool:
    """Whether a class, which is not Tensor, says what functions do with its objects."""
    found = getattr(cls, "__torch_function__", None)
    if found is None:
        return hasattr(cls, "__lucid_function__")
    return found is not disabled_torch_function


def implementation(value: Any) -> Any:
    """The `__torch_function__` of an object, which may be called `__lucid_function__`."""
    found = getattr(value, "__torch_function__", None)
    return value.__lucid_function__ if found is None else found
