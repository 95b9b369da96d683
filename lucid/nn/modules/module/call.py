"""Calling a module, and the hooks around a call."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...._hooks import RemovableHandle
from . import global_hooks as everywhere
from .backward_hooks import BackwardHooks, hook_last_node
from .global_hooks import around_calls
from .registry import Registry

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
    _is_full_backward_hook: bool | None  # the kind of `_backward_hooks`, once it is chosen

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes: every module defines it.

        >>> class Double(nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Double()(lucid.tensor([1.0, 2.0]))
        Tensor([2.0, 4.0], requires_grad=False)
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``forward(*args, **kwargs)``, with the hooks around it."""
        state = self.__dict__  # three times as fast as attributes, which a class with __getattr__ looks up slowly
        try:
            hooked = (around_calls or state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
                      or state["_backward_pre_hooks"])
        except KeyError:
            raise AttributeError(f"cannot call a '{type(self).__name__}' object before Module.__init__() call") from None
        if hooked:
            return _call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, args)``, or ``hook(module, args, kwargs)``, before `forward`.

        What it returns, unless None, replaces the positional arguments, or the pair (args, kwargs) with `with_kwargs`.

        >>> layer = nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(lucid.tensor([-1.0, 2.0]))
        Tensor([0.0, 3.0], requires_grad=False)
        """
        return RemovableHandle.add(self._forward_pre_hooks, hook, prepend=prepend,
                                   flags=[self._forward_pre_hooks_with_kwargs] if with_kwargs else [])

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Call ``hook(module, args, output)``, or ``hook(module, args, kwargs, output)``, after `forward`.

        What it returns, unless None, replaces the output. With `always_call` it runs even if `forward` raised.

        >>> layer = nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 10)
        >>> layer(lucid.tensor([-1.0, 2.0]))
        Tensor([ 0.0, 20.0], requires_grad=False)
        >>> handle.remove()
        >>> layer(lucid.tensor([-1.0, 2.0]))
        Tensor([0.0, 2.0], requires_grad=False)
        """
        flags = []
        if with_kwargs:
            flags.append(self._forward_hooks_with_kwargs)
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return RemovableHandle.add(self._forward_hooks, hook, prepend=prepend, flags=flags)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradient passes the module; a returned tuple replaces it.

        >>> layer, x = nn.ReLU(), lucid.ones(2, requires_grad=True)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, gout: (gout[0] * 10,))
        >>> layer(x).sum().backward()
        >>> x.grad
        Tensor([10.0, 10.0], requires_grad=False)
        """
        return RemovableHandle.add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients with respect to the inputs are known.

        A returned tuple replaces `grad_input`; its gradients must have the same shapes, dtypes and devices. Inputs and
        outputs are the tensors among the positional arguments and in a returned tuple, None for everything else. Writing to
        one of them in place raises RuntimeError. So does this call where `register_backward_hook` has been used.

        >>> layer = nn.Linear(2, 1)
        >>> handle = layer.register_full_backward_hook(lambda module, gin, gout: print(gout[0]))
        >>> layer(lucid.ones(1, 2, requires_grad=True)).sum().backward()
        Tensor([[1.0]], requires_grad=False)
        """
        return self._register_backward_hook(hook, prepend, full=True)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated: call ``hook(module, grad_input, grad_output)`` with the gradients of the last operation of `forward`.

        A returned tuple replaces `grad_input`. Use `register_full_backward_hook`: it sees the gradients of the module.
        Raises RuntimeError where that has been used.

        >>> layer = nn.Linear(2, 1)
        >>> handle = layer.register_backward_hook(lambda module, gin, gout: print(gout[0]))
        >>> layer(lucid.ones(1, 2)).sum().backward()
        Tensor([[1.0]], requires_grad=False)
        """
        return self._register_backward_hook(hook, False, full=False)

    def _register_backward_hook(self, hook: Hook, prepend: bool, full: bool) -> RemovableHandle:
        if self._is_full_backward_hook is not None and self._is_full_backward_hook != full:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")
        self._is_full_backward_hook = full
        return RemovableHandle.add(self._backward_hooks, hook, prepend=prepend)


def _call_with_hooks(module: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = None
    called: set[int] = set()
    forward = module.forward  # as it was: a pre-hook may change the class of the module, as that of lazy modules does
    try:
        for number, hook in (*everywhere.forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            args, kwargs = _run_pre_hook(module, number, hook, args, kwargs)
        pre_hooks = [*everywhere.backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        full_hooks = _backward_hooks(module, full=True)
        watch = BackwardHooks(module, pre_hooks, full_hooks) if pre_hooks or full_hooks else None
        if watch is not None:
            args = watch.watch_inputs(args)
        result = forward(*args, **kwargs)
        for number, hook in (*everywhere.forward_hooks.items(), *module._forward_hooks.items()):
            called.add(number)
            replacement = _run_forward_hook(module, number, hook, args, kwargs, result)
            if replacement is not None:
                result = replacement
        if watch is not None:
            result = watch.watch_outputs(result)
        partial_hooks = _backward_hooks(module, full=False)
        if partial_hooks:
            hook_last_node(module, partial_hooks, args, result)
        return result
    except Exception:
        _run_always_called(module, called, args, kwargs, result)
        raise


def _backward_hooks(module: Call, full: bool) -> list[Hook]:
    """The backward hooks of one kind: those of all modules, then those of `module`."""
    hooks: list[Hook] = []
    if everywhere.is_full is full:
        hooks += everywhere.backward_hooks.values()
    if module._is_full_backward_hook is full:
        hooks += module._backward_hooks.values()
    return hooks


def _run_pre_hook(module: Call, number: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any]
                  ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if number not in module._forward_pre_hooks_with_kwargs:
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs
    changed = hook(module, args, kwargs)
    if changed is None:
        return args, kwargs
    if not isinstance(changed, tuple) or len(changed) != 2:
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
    return changed


def _run_forward_hook(module: Call, number: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
                      ) -> Any:
    if number in module._forward_hooks_with_kwargs or number in everywhere.forward_hooks_with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


def _run_always_called(module: Call, called: set[int], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """After an error: run the hooks that are always called and have not been. Their errors matter less, and become warnings."""
    for number, hook in (*everywhere.forward_hooks.items(), *module._forward_hooks.items()):
        if number in called or not (number in everywhere.forward_hooks_always_called
                                    or number in module._forward_hooks_always_called):
            continue
        try:
            replacement = _run_forward_hook(module, number, hook, args, kwargs, result)
        except Exception as error:
            warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                          f"error was raised in forward: {error}", stacklevel=4)
        else:
            result = result if replacement is None else replacement
