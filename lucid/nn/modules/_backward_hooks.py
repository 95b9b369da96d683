"""Hooks on the gradient that passes a module: two nodes of the graph, one around its inputs and one around its outputs."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.grad_mode import is_grad_enabled
from ...autograd.op import Node, Slot
from ...tensor import Tensor, version_box, wrap

Gradients = tuple[Tensor | None, ...]


class _HookNode(Node):
    __slots__ = ()
    foreign = True  # a hook may keep the gradients that it returns


class BackwardHooks:
    """One call of a module whose gradients are watched."""

    def __init__(self, module: Any, pre_hooks: list[Callable[..., Any]], hooks: list[Callable[..., Any]]) -> None:
        self._module = module
        self._pre_hooks = pre_hooks
        self._hooks = hooks
        self._inputs = 0
        self._watches_inputs = False
        self._grad_output: Gradients | None = None  # from the pass of the outputs to the pass of the inputs

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """`args` behind a node that calls the hooks with the gradients of the inputs."""
        watched = _behind_node("BackwardHook", args, self._pass_inputs)
        self._inputs = len(args)
        self._watches_inputs = watched is not None
        return args if watched is None else watched

    def watch_outputs(self, result: Any) -> Any:
        """`result` behind a node that notes the gradients of the outputs and calls the hooks that come before."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                          f"received {type(result)}", stacklevel=4)
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        watched = _behind_node("BackwardPreHook", outputs, self._pass_outputs)
        if watched is None:
            return result
        if isinstance(result, Tensor):
            return watched[0]
        return type(result)(*watched) if hasattr(result, "_fields") else watched

    def _pass_outputs(self, gradients: Gradients) -> Gradients:
        for hook in self._pre_hooks:
            changed = hook(self._module, gradients)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(gradients):
                    raise RuntimeError("Backward pre hook returned an invalid number of grad_output, got "
                                       f"{len(changed)}, but expected {len(gradients)}")
                gradients = changed
        if self._watches_inputs:
            self._grad_output = gradients
            return gradients
        if self._hooks:
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no "
                          "inputs require gradients.", stacklevel=2)
        for hook in self._hooks:
            changed = hook(self._module, (None,) * self._inputs, gradients)
            if changed is not None and not (isinstance(changed, tuple) and all(g is None for g in changed)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or "
                                   "None for all gradients.")
        return gradients

    def _pass_inputs(self, gradients: Gradients) -> Gradients:
        grad_output, self._grad_output = self._grad_output, None
        if grad_output is None:  # the inputs were reached past the outputs: nothing to report
            return gradients
        for hook in self._hooks:
            changed = hook(self._module, gradients, grad_output)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(gradients):
                    raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but "
                                       f"expected {len(gradients)}")
                gradients = changed
        return gradients


def _behind_node(name: str, values: Sequence[Any], transform: Callable[[Gradients], Gradients]) -> tuple[Any, ...] | None:
    """`values` with the tensors that require grad behind one node, whose pull is `transform`; None if there are none."""
    if not is_grad_enabled() or not any(isinstance(v, Tensor) and v.requires_grad for v in values):
        return None
    parents = [v._node if isinstance(v, Tensor) else None for v in values]

    def pull(gradients: list[Tensor | None], y: Any) -> Gradients:
        # The engine's list ends with the last output that got a gradient.
        return transform((*gradients, *(None,) * (len(parents) - len(gradients))))

    node = _HookNode(name, parents, pull)
    watched = list(values)
    for index, parent in enumerate(parents):
        if parent is not None:
            value = values[index]
            watched[index] = wrap(value._array, Slot(node, index))
            watched[index]._version_box = version_box(value)
    return tuple(watched)
