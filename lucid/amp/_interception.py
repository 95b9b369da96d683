"""How autocast comes before the operations of its lists, at no cost while it is off (`lucid._namespace.interception`): from the
first autocast that begins to the last that ends, in whatever thread.

Only calls from outside of `lucid.ops` are changed: what an operation calls to do its work, and its gradient rules, are no
operations of the user. PyTorch is alike: an operation that autocast has seen runs with autocast off.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .._namespace import interception
from . import _policies
from ._casts import device_of, tensors_in
from ._lists import COMPOSED, LISTS, WRAPPERS, functions
from ._policies import POLICIES, Policy
from ._state import State, state

_BELOW = ("lucid.ops.", "lucid.autograd.", "lucid.backends.", "lucid.tensor")
_users = {"cpu": 0, "gpu": 0}


class Intercepted:
    """A function of the lists, and what autocast does with it on each device."""

    def __init__(self, function: FunctionType) -> None:
        self.layers = interception.Intercepted.of(function)
        self.layers.layer("autocast", self._handler)
        self.policies: dict[str, Policy] = {}
        self.users = 0

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


_OURS = frozenset((__name__, _policies.__name__))
_PASSED = frozenset(("lucid.overrides.switching", "lucid.overrides.dispatch"))  # what looks at a call before


def _from_outside() -> bool:
    """Whether the intercepted function was called by what is no part of an operation."""
    frame = sys._getframe(2)  # what called the handler: the code of the function, or an override before that
    if frame.f_globals.get("__name__") not in _PASSED:
        frame = frame.f_back  # type: ignore[assignment]
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        if module in _PASSED:
            if code.co_name == "overriding_code":  # and the code that calls it
                frame = frame.f_back  # type: ignore[assignment]
            frame = frame.f_back  # type: ignore[assignment]
            continue
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
    with interception.lock:
        _users[device] += change
        if _users[device] != max(change, 0):  # neither the first nor the last
            return
        for entry in _intercepted()[device]:
            entry.users += change
            if entry.users == max(change, 0):
                entry.layers.switch("autocast", change > 0)
