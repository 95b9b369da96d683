"""Hooks common to all modules of the process, for profilers, debuggers and tracers.

Those around a call run before the module's own; those of a registration run before the module takes what is registered.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...._hooks import RemovableHandle

Hook = Callable[..., Any]

buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
forward_hooks: OrderedDict[int, Hook] = OrderedDict()
forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
backward_hooks: OrderedDict[int, Hook] = OrderedDict()
around_calls: OrderedDict[int, bool] = OrderedDict()  # the numbers of all hooks around a call: one look says if there are any
is_full: bool | None = None  # the kind of `backward_hooks`, once it is chosen


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before `forward` of every module; what it returns, unless None, replaces `args`."""
    return RemovableHandle.add(forward_pre_hooks, hook, flags=[around_calls])


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, output)``, or ``hook(module, args, kwargs, output)``, after `forward` of every module.

    What it returns, unless None, replaces the output. With `always_call` it runs even if `forward` raised.
    """
    flags = [around_calls]
    if with_kwargs:
        flags.append(forward_hooks_with_kwargs)
    if always_call:
        flags.append(forward_hooks_always_called)
    return RemovableHandle.add(forward_hooks, hook, flags=flags)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the gradient passes any module; a returned tuple replaces it."""
    return RemovableHandle.add(backward_pre_hooks, hook, flags=[around_calls])


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradient has passed any module; a returned tuple replaces
    `grad_input`. Raises RuntimeError once `register_module_backward_hook` has been used.
    """
    return _register_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Deprecated: `Module.register_backward_hook` for every module. Raises RuntimeError once
    `register_module_full_backward_hook` has been used.
    """
    return _register_backward_hook(hook, full=False)


def _register_backward_hook(hook: Hook, full: bool) -> RemovableHandle:
    global is_full
    if is_full is not None and is_full != full:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please "
                           "use only one of them.")
    is_full = full
    return RemovableHandle.add(backward_hooks, hook, flags=[around_calls])


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` before any module takes a buffer; what it returns, unless None, is taken instead.

    Assigning to the name of a buffer counts as well; `buffer` may be None.
    """
    return RemovableHandle.add(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` before any module takes a submodule, or None; what the hook returns, unless
    None, is taken instead.
    """
    return RemovableHandle.add(module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` before any module takes a parameter; what it returns, unless None, is taken
    instead. A slot that is set to None does not count.
    """
    return RemovableHandle.add(parameter_registration_hooks, hook)


def registered(hooks: OrderedDict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """What the registration `hooks` make of `value`."""
    for hook in list(hooks.values()):
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value
