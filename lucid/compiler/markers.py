"""What programs tell PyTorch's compilers of a function, by the names of torch.compiler.

`lucid.compile` records what a function runs, so most has nothing to say to it: `disable` is heeded.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _recording
from ..nn.modules.module import Module

__all__ = ["allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_dynamo_compiling",
           "is_exporting", "list_backends", "nested_compile_region", "substitute_in_graph"]

Function = TypeVar("Function", bound=Callable[..., Any])


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Callable[..., Any]:
    """A function, or a module, as a decorator too, that is never replayed: what calls it runs as it is each time, with the
    warning of `lucid.compile`, or its error with ``fullgraph=True``.

    >>> @lucid.compiler.disable
    ... def log(x):
    ...     print(x.shape)
    >>> log(lucid.ones(2))
    lucid.Size([2])
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Module):
        fn.forward = disable(fn.forward, recursive, reason=reason)  # type: ignore[method-assign]
        return fn
    if not callable(fn):
        raise AssertionError(f"expected a callable, got {type(fn)}")
    if isinstance(fn, type):  # its objects, where they can be called
        if inspect.isfunction(inspect.getattr_static(fn, "__call__", None)):
            fn.__call__ = disable(fn.__call__, recursive, reason=reason)  # type: ignore[method-assign]
        return fn

    @functools.wraps(fn)
    def as_it_is(*args: Any, **kwargs: Any) -> Any:
        recording = _recording.current()
        if recording is not None:
            why = "" if reason is None else f": {reason}"
            recording.refuse(f"{getattr(fn, '__qualname__', fn)} is disabled by compiler.disable{why}")
        return fn(*args, **kwargs)

    return as_it_is


def allow_in_graph(fn: Function) -> Function:
    """The function itself, or the list of functions: a recording holds what they run.

    >>> lucid.compiler.allow_in_graph(lucid.relu) is lucid.relu
    True
    """
    for each in fn if isinstance(fn, list | tuple) else [fn]:
        if not callable(each):
            raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Function) -> Function:
    """The function itself: what Python computes while a call is recorded is constant anyway.

    >>> lucid.compiler.assume_constant_result(len) is len
    True
    """
    return fn


def nested_compile_region(fn: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """The function itself, as a decorator: plans have no regions.

    >>> lucid.compiler.nested_compile_region(len) is len
    True
    """
    return fn if fn is not None else nested_compile_region


def substitute_in_graph(original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that changes nothing: calls of `original_fn` are recorded as they run.

    >>> @lucid.compiler.substitute_in_graph(len)
    ... def length(x):
    ...     return x.__len__()
    >>> length([1, 2])
    2
    """
    return lambda fn: fn


def cudagraph_mark_step_begin() -> None:
    """Nothing: results of a plan are the caller's own.

    >>> lucid.compiler.cudagraph_mark_step_begin()
    """


def is_dynamo_compiling() -> bool:
    """False: nothing reads Python's bytecode. `is_compiling` says whether a call is recorded.

    >>> lucid.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting() -> bool:
    """False: there is no torch.export.

    >>> lucid.compiler.is_exporting()
    False
    """
    return False


def list_backends(exclude_tags: Sequence[str] = ("debug", "experimental")) -> list[str]:
    """Empty: `lucid.compile` takes the name of any backend of PyTorch's, and records.

    >>> lucid.compiler.list_backends()
    []
    """
    return []
