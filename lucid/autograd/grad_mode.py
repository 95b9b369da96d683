"""Gradient modes: one context-local set of flags, so threads and tasks do not disturb each other."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar, Token
from typing import Any, Self, TypeVar, cast, overload

GRAD, INFERENCE, ANOMALY, CHECK_NAN = 1, 2, 4, 8
#: Inside of function transforms: a node may have to bring gradients down from a level.
LEVELS = 16
#: Gradients are computed by operations that differentiate again, also where nothing is recorded: other levels transform them.
COMPOSED = 32
#: What operations save goes through hooks.
HOOKS = 64
mode: ContextVar[int] = ContextVar("lucid_grad_mode", default=GRAD)


def is_grad_enabled() -> bool:
    """Whether operations are recorded for differentiation in this context.

    >>> with lucid.no_grad():
    ...     print(lucid.is_grad_enabled())
    False
    """
    return bool(mode.get() & GRAD)


def is_composed() -> bool:
    """Whether rules are to use operations that can be differentiated again, and transformed, rather than fused gradients."""
    return bool(mode.get() & (GRAD | COMPOSED))


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is active in this context.

    >>> with lucid.inference_mode():
    ...     print(lucid.is_inference_mode_enabled())
    True
    """
    return bool(mode.get() & INFERENCE)


def is_anomaly_enabled() -> bool:
    """Whether `detect_anomaly` is active in this context.

    >>> with lucid.autograd.detect_anomaly():
    ...     print(lucid.autograd.is_anomaly_enabled())
    True
    """
    return bool(mode.get() & ANOMALY)


_F = TypeVar("_F", bound=Callable[..., Any])


class DecoratingContext:
    """A context manager and decorator that sets and clears flags; usable many times and nested.

    In a decorated generator the flags are set during each of its steps, and only then.
    """

    on = off = 0

    def __init__(self) -> None:
        self._tokens: list[Token[int]] = []

    def __enter__(self) -> None:
        self._tokens.append(mode.set(mode.get() & ~self.off | self.on))

    def __exit__(self, *exception: Any) -> None:
        mode.reset(self._tokens.pop())

    def __call__(self, function: _F) -> _F:
        if inspect.isgeneratorfunction(function):
            return cast(_F, self._stepwise(function))

        @functools.wraps(function)
        def decorated(*args: Any, **keywords: Any) -> Any:
            with self._fresh():
                return function(*args, **keywords)

        return cast(_F, decorated)

    def _stepwise(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any, **keywords: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **keywords)
            try:
                with self._fresh():
                    result = next(generator)
                while True:
                    try:
                        sent = yield result
                    except GeneratorExit:
                        with self._fresh():
                            generator.close()
                        raise
                    except BaseException as thrown:
                        with self._fresh():
                            result = generator.throw(thrown)
                    else:
                        with self._fresh():
                            result = generator.send(sent)
            except StopIteration as stop:
                return stop.value

        return decorated

    def _fresh(self) -> DecoratingContext:
        return self.__class__()


class _PlainMode(DecoratingContext):
    """A mode without arguments: ``@mode`` decorates as ``@mode()`` does."""

    @overload
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return object.__new__(cls) if function is None else cls()(function)


class no_grad(_PlainMode):
    """Do not record operations: ``with lucid.no_grad(): ...`` or ``@lucid.no_grad()``.

    >>> x = lucid.ones(1, requires_grad=True)
    >>> with lucid.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    off = GRAD


class enable_grad(_PlainMode):
    """Record operations again inside `no_grad`.

    >>> x = lucid.ones(1, requires_grad=True)
    >>> with lucid.no_grad(), lucid.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    on, off = GRAD, INFERENCE


class inference_mode(DecoratingContext):
    """`no_grad`, and the tensors made inside may never be saved for a gradient.

    >>> x = lucid.ones(1, requires_grad=True)
    >>> with lucid.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        return cls()(mode) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._enabled = mode
        self.on, self.off = (INFERENCE, GRAD) if mode else (GRAD, INFERENCE)

    def _fresh(self) -> inference_mode:
        fresh: inference_mode = inference_mode(self._enabled)
        return fresh


class set_grad_enabled(DecoratingContext):
    """Record operations or not, at once; as a context manager, until its end.

    >>> with lucid.set_grad_enabled(False):
    ...     y = lucid.ones(1, requires_grad=True) * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._enabled = bool(mode)
        self.on, self.off = (GRAD, 0) if mode else (0, GRAD)
        self.__enter__()
        self._entered = False

    def __enter__(self) -> None:
        if getattr(self, "_entered", True):
            super().__enter__()
        self._entered = True

    def __call__(self, function: _F) -> _F:
        if self._tokens:
            self.__exit__()  # as a decorator it changes the mode inside the function only
        return super().__call__(function)

    def _fresh(self) -> set_grad_enabled:
        return set_grad_enabled(self._enabled)


class set_multithreading_enabled(DecoratingContext):
    """A context for PyTorch programs: whether a backward pass may use several threads. Here it runs on the caller's, and its
    kernels on theirs.

    >>> with lucid.autograd.set_multithreading_enabled(False):
    ...     lucid.ones(1, requires_grad=True).sum().backward()
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            raise TypeError(f"set_multithreading_enabled(): argument 'mode' must be bool, not {type(mode).__name__}")
        self.mode = mode


class detect_anomaly(DecoratingContext):
    """Remember where each operation was called, and raise when a gradient becomes NaN, naming the operation.

    With `check_nan=False` only the errors raised inside `backward` are explained.

    >>> x = lucid.tensor([-1.0], requires_grad=True)
    >>> with lucid.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except RuntimeError as error:
    ...         print("sqrt" in str(error).lower())
    True
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self._check_nan = check_nan
        self.on, self.off = ANOMALY | (CHECK_NAN if check_nan else 0), CHECK_NAN

    def _fresh(self) -> detect_anomaly:
        return detect_anomaly(self._check_nan)


class set_detect_anomaly(detect_anomaly):
    """Turn anomaly detection on or off, at once; as a context manager, until its end.

    >>> with lucid.autograd.set_detect_anomaly(True):
    ...     print(lucid.autograd.is_anomaly_enabled())
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        if not mode:
            self.on, self.off = 0, ANOMALY | CHECK_NAN
        super().__enter__()

    def __enter__(self) -> None:
        pass
