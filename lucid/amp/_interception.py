"""How autocast comes before the operations of its lists, at no cost while it is off.

A check in each of them would be paid by every call. Instead the first autocast that begins gives the functions of the lists
another code, which calls the policy, and the last that ends, in whatever thread, gives them back their own. So every call of such
a function is seen, under whatever name, and nobody pays for it afterwards.

Only calls from outside of `lucid.ops` are changed: what an operation calls to do its work, and its gradient rules, are no
operations of the user. PyTorch is alike: an operation that autocast has seen runs with autocast off.
"""
from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from . import _policies
from ._casts import device_of, tensors_in
from ._lists import COMPOSED, LISTS, WRAPPERS, functions
from ._policies import POLICIES, Policy
from ._state import State, state

_BELOW = ("lucid.ops.", "lucid.autograd.", "lucid.backends.", "lucid.tensor")
_lock = threading.Lock()
_users = {"cpu": 0, "gpu": 0}


def _template(*args: Any, **keywords: Any) -> Any:
    handler: Any = "handler"
    return handler(*args, **keywords)


class Intercepted:
    """A function of the lists: its own code and the one while autocast is on."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.own = function.__code__
        self.policies: dict[str, Policy] = {}
        self.users = 0
        original = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                                function.__closure__)
        original.__kwdefaults__ = function.__kwdefaults__
        original.__dict__.update(function.__dict__)
        self.instead = _code(self._handler(original), function.__code__)

    def _handler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        policies = self.policies

        def autocast_handler(*args: Any, **keywords: Any) -> Any:
            now = state.get()
            if not (now.cpu or now.gpu) or not _from_outside():
                return original(*args, **keywords)
            device = _device(now, args, keywords)
            policy = policies.get(device)
            if policy is None:
                return original(*args, **keywords)
            return policy(original, device, now.cpu_dtype if device == "cpu" else now.gpu_dtype, args, keywords)

        return autocast_handler


def _code(handler: Callable[..., Any], own: CodeType) -> CodeType:
    """Code that calls `handler`, for a function whose own code is `own`: with as many variables of outer functions."""
    template = _template.__code__
    constants = tuple(handler if constant == "handler" else constant for constant in template.co_consts)
    return template.replace(co_consts=constants, co_freevars=own.co_freevars, co_name=own.co_name, co_qualname=own.co_qualname)


_OURS = frozenset((__name__, _policies.__name__))


def _from_outside() -> bool:
    """Whether the intercepted function was called by what is no part of an operation."""
    frame = sys._getframe(3)  # beyond the handler and the code that calls it
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        if module in _OURS:  # an operation that is composed of others, and in the lists itself
            return False
        if module in WRAPPERS:
            if module == "lucid.ops._out" and frame.f_locals.get("out") is not None:
                return False  # as in PyTorch, what writes into a given tensor
        elif module in COMPOSED:
            names = COMPOSED[module]
            if names is not None and code.co_name not in names:
                return False
        else:
            return not module.startswith(_BELOW)
        frame = frame.f_back  # type: ignore[assignment]
    return True


def _device(now: State, args: Any, keywords: dict[str, Any]) -> str:
    """The first device with autocast on which an argument is, or ''."""
    for value in (*args, *keywords.values()):
        for tensor in tensors_in(value):
            device = device_of(tensor)
            if (device == "cpu" and now.cpu) or (device == "gpu" and now.gpu):
                return device
    return ""


def _unwrapped(function: Any) -> FunctionType:
    """The function behind a public one: the same for the function and the method, for its operator and with `out`."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif function.__globals__["__name__"] in WRAPPERS and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            found: FunctionType = function
            return found


@functools.cache
def _intercepted() -> dict[str, list[Intercepted]]:
    """The functions of the lists, by devices."""
    found: dict[int, Intercepted] = {}
    for device, lists in LISTS.items():
        for policy, names in lists.items():
            for name in names.split():
                for function in functions(name):
                    inner = _unwrapped(function)
                    if id(inner) not in found:
                        found[id(inner)] = Intercepted(inner)
                    found[id(inner)].policies.setdefault(device, POLICIES[policy])
    return {device: [entry for entry in found.values() if device in entry.policies] for device in LISTS}


def use(device: str, change: int) -> None:
    """Count one user of autocast on `device` more, or with -1 one less."""
    with _lock:
        _users[device] += change
        if _users[device] != max(change, 0):  # neither the first nor the last
            return
        for entry in _intercepted()[device]:
            entry.users += change
            if entry.users == max(change, 0):
                entry.function.__code__ = entry.instead if change > 0 else entry.own
