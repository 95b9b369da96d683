"""What `Tensor` knows of the graph: the base of its nodes, leaves, where gradients end, and hooks of its own.

Operations that were recorded are `lucid.autograd.node`.
"""
from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _clock as clock
from .._hooks import RemovableHandle

if TYPE_CHECKING:
    from . import Tensor  # which puts itself here, so that the annotations can be read while the program runs


class NodeHooks:
    """The hooks of a node itself, beside those of tensors: `before` and `after` it does its work."""

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.after: OrderedDict[int, Callable[..., Any]] = OrderedDict()


class GraphNode:
    """A node of the graph: an operation that was recorded, or a leaf, where gradients end.

    >>> x = lucid.ones(1, requires_grad=True)
    >>> node = (x * 2).grad_fn
    >>> isinstance(node, lucid.autograd.graph.Node), node.name()
    (True, 'mul')
    """

    __slots__ = ()
    op: str
    parents: Sequence[Any]
    seq: int
    graph_info: dict[str, Any] | None
    node_hooks: NodeHooks  # set with the first hook

    def name(self) -> str:
        """The name of the operation, as shown by `repr`."""
        return self.op

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradient goes to next, as in PyTorch: pairs (node or None, output number)."""
        return tuple((None, 0) if parent is None else parent.edge() for parent in self.parents)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dict for anything that belongs to the node; 'traceback_' is where it was recorded while anomalies are detected."""
        if self.graph_info is None:
            self.graph_info = {}  # type: ignore[misc]  # a slot of the class of the node
        return self.graph_info

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` when the gradients of the inputs are known; a returned tuple replaces them.

        A leaf has no inputs: its hook is called when its gradient has been accumulated.
        """
        return RemovableHandle.add(self._own_hooks().after, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the operation computes its gradients, or before that of a leaf is accumulated, after
        the hooks of its output tensors; a returned tuple takes the place of `grad_outputs`.
        """
        return RemovableHandle.add(self._own_hooks().before, fn)

    def edge(self) -> tuple[Any, int]:
        """What stands for this node in `next_functions`."""
        return self, 0

    def _own_hooks(self) -> NodeHooks:
        if not hasattr(self, "node_hooks"):
            self.node_hooks = NodeHooks()  # type: ignore[misc]
            self._expect_hooks()
        return self.node_hooks

    def _expect_hooks(self) -> None:
        """Let the engine look at `node_hooks`, which it does for no other node."""
        raise NotImplementedError

    def _sequence_nr(self) -> int:
        return self.seq

    def __repr__(self) -> str:
        return f"<{self.op} node>"


class Leaf(GraphNode):
    """Where gradients end: the node of a tensor that requires grad and was not computed."""

    __slots__ = ("__weakref__", "graph_info", "hooks", "node_hooks", "post_accumulate_hooks", "seq", "tensor")
    op = "leaf"
    parents: tuple[Any, ...] = ()
    vjp = None

    def __init__(self, tensor: Any) -> None:
        self.seq = clock.tick()
        self.tensor = weakref.ref(tensor)  # a strong reference would be a cycle
        self.graph_info = None
        self.hooks: OrderedDict[int, Callable[..., Any]] | None = None
        self.post_accumulate_hooks: OrderedDict[int, Callable[..., Any]] | None = None

    @property
    def variable(self) -> Tensor | None:
        """The tensor; None if it is gone."""
        return self.tensor()

    def _expect_hooks(self) -> None:
        for registry in ("hooks", "post_accumulate_hooks"):
            if getattr(self, registry) is None:
                setattr(self, registry, OrderedDict())
            RemovableHandle.add(getattr(self, registry), _nothing)


Leaf.__name__ = "AccumulateGrad"  # programs that walk a graph look for it by the name of its class


def _nothing(tensor: Tensor) -> None:
    """The hook of a leaf that has hooks of another kind."""


class Retainer:
    """The hook of `retain_grad`. Wherever it stands among the hooks of a node, it is called last."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient: Tensor) -> None:
        tensor = self.tensor()
        if tensor is not None:
            tensor._grad = gradient.clone() if tensor._grad is None else tensor._grad + gradient


class Caster:
    """The hook of a leaf with another `grad_dtype` than its own."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient: Tensor) -> Tensor | None:
        tensor = self.tensor()
        wanted = None if tensor is None else tensor.__dict__.get("_grad_dtype")
        return None if wanted is None or wanted == gradient.dtype else gradient.to(wanted)
