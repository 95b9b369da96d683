"""Hooks on the gradient that passes a module: two nodes of the graph, one around its inputs and one around its outputs."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .... import backends
from ....autograd.grad_mode import is_grad_enabled
from ....autograd.node import Node, Slot
from ....autograd.views import Unwritable, share_unwritable
from ....tensor import Tensor, wrap

Gradients = tuple[Tensor | None, ...]
Hook = Callable[..., Any]
_WATCHED = Unwritable("The input or output of a module with backward hooks",
                      "The hooks watch it, and its gradient would pass them by. clone() it before the write, or write elsewhere.")


class _HookNode(Node):
    __slots__ = ()
    foreign = True  # a hook may keep the gradients that it returns


class _Meta(NamedTuple):
    """What the gradient of a tensor must be like."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any

    def zeros(self) -> Tensor:
        return wrap(backends.create("full", self.device, {"shape": self.shape, "fill_value": 0, "dtype": self.dtype}))


class BackwardHooks:
    """One call of a module whose gradients are watched.

    The hooks are told of the gradients of the inputs when these are known, if the gradients of the outputs have passed: a
    backward that reaches the inputs past the outputs, through a tensor that the module has kept, calls none.
    """

    def __init__(self, module: Any, pre_hooks: list[Hook], hooks: list[Hook]) -> None:
        self._module = module
        self._pre_hooks = pre_hooks
        self._hooks = hooks
        self._inputs: list[_Meta | None] = []
        self._outputs: list[_Meta | None] = []
        self._watches_inputs = False
        self._grad_output: Gradients | None = None  # from the pass of the outputs to the pass of the inputs

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """`args` behind a node that calls the hooks with the gradients of the inputs."""
        self._inputs = _metas(args)
        watched = _behind_node("BackwardHook", args, self._pass_inputs)
        self._watches_inputs = watched is not None
        return args if watched is None else _like(args, watched)

    def watch_outputs(self, result: Any) -> Any:
        """`result` behind a node that notes the gradients of the outputs and calls the hooks that come before."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                          f"received {type(result)}", stacklevel=4)
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        self._outputs = _metas(outputs)
        watched = _behind_node("BackwardPreHook", outputs, self._pass_outputs)
        if watched is None:
            return result
        return watched[0] if isinstance(result, Tensor) else _like(result, watched)

    def _pass_outputs(self, gradients: Gradients) -> Gradients:
        shown: Sequence[Any] = gradients
        for hook in self._pre_hooks:
            shown = _replaced(shown, hook(self._module, shown), "Backward pre hook", "grad_output")
        if self._watches_inputs:
            self._grad_output = shown  # type: ignore[assignment]
        else:
            self._call_hooks_without_inputs(shown)
        return gradients if shown is gradients else _checked(shown, self._outputs)

    def _call_hooks_without_inputs(self, grad_output: Sequence[Any]) -> None:
        """Call the hooks of a module none of whose inputs requires grad: they can change nothing."""
        if self._hooks:
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no "
                          "inputs require gradients.", stacklevel=2)
        for hook in self._hooks:
            changed = hook(self._module, (None,) * len(self._inputs), grad_output)
            if changed is not None and not (isinstance(changed, tuple) and all(g is None for g in changed)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or "
                                   "None for all gradients.")

    def _pass_inputs(self, gradients: Gradients) -> Gradients:
        gradients = tuple([meta.zeros() if g is None and meta is not None else g
                           for g, meta in zip(gradients, self._inputs, strict=True)])
        grad_output, self._grad_output = self._grad_output, None
        if grad_output is None:
            return gradients
        shown: Sequence[Any] = gradients
        for hook in self._hooks:
            shown = _replaced(shown, hook(self._module, shown, grad_output), "Backward hook", "grad_input")
        return gradients if shown is gradients else _checked(shown, self._inputs)


def hook_last_node(module: Any, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
    """Call the deprecated hooks, those that are not full, when the operation that made `result` has its gradients.

    Of a nested result the first tensor counts. Its operation is only the last one of the module: a warning says so where its
    inputs are not those of the module. Raises as PyTorch does (TypeError, IndexError, StopIteration) if there is no tensor.
    """
    tensor = result
    while not isinstance(tensor, Tensor):
        if isinstance(tensor, dict):
            tensor = next(value for value in tensor.values() if isinstance(value, Tensor))
        elif isinstance(tensor, str):
            raise TypeError("a module with backward hooks must return a tensor, not a str")
        else:
            tensor = tensor[0]
    node = tensor.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output))
    node = node.parents[0] if isinstance(node, Slot) else node
    inputs = {value._node for value in args if isinstance(value, Tensor)}
    if not isinstance(result, Tensor) or not set(node.parents) - {None} <= inputs:
        warnings.warn("A backward hook that is not full sees only the last operation of the module, and misses some of "
                      "grad_input or grad_output. Please use register_full_backward_hook.", FutureWarning, stacklevel=4)


def _metas(values: Sequence[Any]) -> list[_Meta | None]:
    return [_Meta(v._array.shape, v._array.dtype, v.device) if isinstance(v, Tensor) else None for v in values]


def _like(original: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    """`values` as a tuple of the class of `original`."""
    cls = type(original)
    return tuple(values) if cls is tuple else cls(*values)


def _replaced(current: Sequence[Any], changed: Any, who: str, what: str) -> Sequence[Any]:
    """`changed`, which a hook returned, or `current` if it returned None. Raises RuntimeError for another length."""
    if changed is None:
        return current
    if len(changed) != len(current):
        raise RuntimeError(f"{who} returned an invalid number of {what}, got {len(changed)}, but expected {len(current)}")
    replacement: Sequence[Any] = changed
    return replacement


def _checked(gradients: Sequence[Any], metas: Sequence[_Meta | None]) -> Gradients:
    """The gradients that hooks returned, without those where there is no tensor.

    Raises TypeError for one that is not a tensor, RuntimeError for another shape, dtype or device.
    """
    checked: list[Tensor | None] = []
    for gradient, meta in zip(gradients, metas, strict=True):
        if meta is None or gradient is None:
            checked.append(None)
            continue
        if not isinstance(gradient, Tensor):
            raise TypeError(f"a backward hook must return a Tensor or None for each gradient, not '{type(gradient).__name__}'")
        for name, expected in meta._asdict().items():
            found = getattr(gradient, name)
            if found != expected:
                raise RuntimeError(f"a backward hook has changed the {name} of a gradient from {expected} to {found}")
        checked.append(gradient)
    return tuple(checked)


def _behind_node(name: str, values: Sequence[Any], transform: Callable[[Gradients], Gradients]) -> list[Any] | None:
    """`values` with the tensors that require grad behind one node, whose vjp is `transform`; None if there are none."""
    if not is_grad_enabled() or not any(isinstance(v, Tensor) and v.requires_grad for v in values):
        return None
    parents = [v._node if isinstance(v, Tensor) else None for v in values]

    def vjp(gradients: list[Tensor | None], y: Any) -> Gradients:
        # The engine's list ends with the last output that got a gradient.
        return transform((*gradients, *(None,) * (len(parents) - len(gradients))))

    node = _HookNode(name, parents, vjp, kept=False)
    watched = list(values)
    for index, parent in enumerate(parents):
        if parent is not None:
            value = values[index]
            tensor = watched[index] = wrap(value._array, Slot(node, index))
            share_unwritable(tensor, value, _WATCHED)
    return watched
