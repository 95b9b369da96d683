"""The graph as programs see it: its nodes and edges, hooks on several gradients, and what operations save.

>>> x = lucid.ones(2, requires_grad=True)
>>> y = (x * 3).sum()
>>> y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()
('sum', 'mul')
"""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from .._hooks import RemovableHandle
from ..tensor import Tensor
from ..tensor.nodes import GraphNode as Node
from .engine import Run, current_run
from .inplace import bump_all
from .node import GradientEdge
from .saving import SavedCopies, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
           "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch"]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of `tensor` is computed. `backward` and `grad` take it for the tensor, which it does not keep alive.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> edge = lucid.autograd.graph.get_gradient_edge(x)
    >>> lucid.autograd.grad((x * 3).sum(), edge)
    (Tensor([3.0, 3.0], requires_grad=False),)
    """
    if tensor._node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = GradientEdge(*tensor._node.edge())
    edge.like = tuple(tensor.shape), tensor.dtype, tensor.device
    return edge


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that the memory of a tensor, or of several, was written by what lucid does not see, such as a kernel of one's own.

    >>> x = lucid.ones(2)
    >>> lucid.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(each, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not each.is_inference():
            bump_all((each,))


class _Handles(RemovableHandle):
    """The handle of several hooks."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: Literal["all", "any"] = "all"
                             ) -> RemovableHandle:
    """Call ``fn(gradients)`` once in a backward pass, when the gradients of all `tensors` that it computes are known, with None
    for the others; in the mode 'any' ``fn(gradient)`` with the first that is known.

    >>> a, b = (lucid.ones(2, requires_grad=True) for _ in range(2))
    >>> handle = lucid.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print([g is not None for g in grads]))
    >>> (a * 2).sum().backward()
    [True, False]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        seen: weakref.WeakSet[Run] = weakref.WeakSet()

        def first(gradient: Tensor) -> None:
            run = _run_of_hook()
            if run not in seen:
                seen.add(run)
                fn(gradient)

        return _Handles([tensor.register_hook(first) for tensor in tensors if tensor.requires_grad])
    if any(tensor._node is None for tensor in tensors):
        raise AssertionError("Expected gradient function to be set")
    nodes = [tensor._node for tensor in tensors]
    found: weakref.WeakKeyDictionary[Run, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def hook_of(place: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            run = _run_of_hook()
            gradients = found.setdefault(run, {})
            gradients[place] = gradient
            if len(gradients) == sum(map(run.visits, nodes)):
                del found[run]
                fn([gradients.get(number) for number in range(len(nodes))])

        return hook

    return _Handles([tensor.register_hook(hook_of(place)) for place, tensor in enumerate(tensors)])


def _run_of_hook() -> Run:
    run = current_run.get()
    if run is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return run


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[SavedCopies]:
    """A context in which tensors may be written after operations have saved them: gradients are those of what was saved.

    The operations inside save copies, one of each tensor and version; PyTorch makes a copy when the tensor is written. The
    backward pass has to run inside too.

    >>> with lucid.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = lucid.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     loss = (y ** 2).sum()
    ...     _ = y.sin_()
    ...     loss.backward()
    >>> x.grad
    Tensor([2.0, 2.0], requires_grad=False)
    """
    copies = SavedCopies()
    with copies.hooks():
        try:
            yield copies
        finally:
            copies.clear()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn where gradients are added up on another stream than they were computed on. That does not happen here: a
    backward pass runs on the stream that is current where it is called.

    >>> lucid.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Whether a backward pass inside of a capture leaves streams that are not captured. It knows none but the current one here.

    >>> lucid.autograd.graph.set_override_stale_capture_stream(True)
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")
