"""Calling a module, and the hooks around a call."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..._hooks import RemovableHandle
from ._backward_hooks import BackwardHooks
from ._registry import Registry

Hook = Callable[..., Any]


class Call(Registry):
    """The part of Module that runs `forward` and the hooks around it."""

    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes: every module defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``forward(*args, **kwargs)``, with the hooks around it."""
        state = self.__dict__  # three times as fast as attributes, which a class with __getattr__ looks up slowly
        if (state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
                or state["_backward_pre_hooks"]):
            return _call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, args)``, or ``hook(module, args, kwargs)``, before `forward`.

        What it returns, unless None, replaces the positional arguments, or the pair (args, kwargs) with `with_kwargs`.
        """
        return _register(hook, prepend, self._forward_pre_hooks,
                         self._forward_pre_hooks_with_kwargs if with_kwargs else None)

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Call ``hook(module, args, output)``, or ``hook(module, args, kwargs, output)``, after `forward`.

        What it returns, unless None, replaces the output. With `always_call` it runs even if `forward` raised.
        """
        return _register(hook, prepend, self._forward_hooks,
                         self._forward_hooks_with_kwargs if with_kwargs else None,
                         self._forward_hooks_always_called if always_call else None)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradient passes the module; a returned tuple replaces it."""
        return _register(hook, prepend, self._backward_pre_hooks)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients with respect to the inputs are known.

        A returned tuple replaces `grad_input`. Inputs and outputs are the tensors among the positional arguments and in a
        returned tuple, None for everything else.
        """
        return _register(hook, prepend, self._backward_hooks)


def _register(hook: Hook, prepend: bool, hooks: OrderedDict[int, Any], *flags: OrderedDict[int, bool] | None
              ) -> RemovableHandle:
    """Add `hook` to `hooks` and its id to `flags`; the handle removes it from all of them."""
    chosen = [flag for flag in flags if flag is not None]
    handle = RemovableHandle(hooks, *chosen)
    hooks[handle.id] = hook
    for flag in chosen:
        flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _call_with_hooks(module: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = None
    called: set[int] = set()
    forward = module.forward  # as it was: a pre-hook may change the class of the module, as that of lazy modules does
    try:
        args, kwargs = _run_pre_hooks(module, args, kwargs)
        backward = None
        if module._backward_hooks or module._backward_pre_hooks:
            backward = BackwardHooks(module, list(module._backward_pre_hooks.values()),
                                     list(module._backward_hooks.values()))
            args = backward.watch_inputs(args)
        result = forward(*args, **kwargs)
        for number, hook in list(module._forward_hooks.items()):
            called.add(number)
            replacement = _run_forward_hook(module, number, hook, args, kwargs, result)
            if replacement is not None:
                result = replacement
        return result if backward is None else backward.watch_outputs(result)
    except Exception:
        for number, hook in list(module._forward_hooks.items()):
            if number in module._forward_hooks_always_called and number not in called:
                try:
                    _run_forward_hook(module, number, hook, args, kwargs, result)
                except Exception as error:  # the first error matters more
                    warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as "
                                  f"another error was raised in forward: {error}", stacklevel=3)
        raise


def _run_pre_hooks(module: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for number, hook in list(module._forward_pre_hooks.items()):
        if number in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                       f"{changed}.")
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _run_forward_hook(module: Call, number: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
                      ) -> Any:
    if number in module._forward_hooks_with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)
