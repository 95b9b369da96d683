"""What the graph is made of: a node for each recorded operation, and one for each output where there are several."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from .. import _clock as clock
from .._hooks import RemovableHandle
from ..tensor import Tensor, wrap


class Node:
    """One recorded operation: where its gradient goes (`parents`) and how it is computed (`vjp`)."""

    __slots__ = ("__weakref__", "hooks", "kept", "op", "parents", "post_hooks", "pre_hooks", "seq", "trace", "vjp")
    foreign = False  # user code sees the gradients and may hold on to their arrays
    post_hooks: OrderedDict[int, Callable[..., Any]]  # set by `register_hook`, which makes the node foreign
    pre_hooks: OrderedDict[int, Callable[..., Any]]  # and by `register_prehook`

    def __init__(self, op: str, parents: Sequence[Any], vjp: Callable[[Any, Any], Sequence[Any]], kept: Any = None) -> None:
        self.seq = clock.tick()
        self.op = op
        self.parents = parents
        self.vjp = vjp
        # A list that `output` makes y of: outputs that are not differentiable, and (array, version, number) of the others, which
        # refer to this node themselves. Else y itself: the operands of `elementwise`, or `Op.saves`.
        self.kept = kept
        self.hooks: OrderedDict[int, Callable[..., Any]] | None = None
        self.trace: list[str] | None = None

    def name(self) -> str:
        """The name of the operation, as shown by `repr`."""
        return self.op

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradient goes to next, as in PyTorch: pairs (node or None, output number)."""
        return tuple((p.parents[0], p.index) if p.__class__ is Slot else (p, 0) for p in self.parents)

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` when the gradients of the inputs are known; a returned tuple replaces them."""
        return self._add_hook("post_hooks", fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the operation computes its gradients, after the hooks of its output tensors; a
        returned tuple takes the place of `grad_outputs`.
        """
        return self._add_hook("pre_hooks", fn)

    def _add_hook(self, registry: str, fn: Callable[..., Any]) -> RemovableHandle:
        if not self.foreign:
            self.__class__ = HookedNode
        if not hasattr(self, registry):
            setattr(self, registry, OrderedDict())
        return RemovableHandle.add(getattr(self, registry), fn)

    def __repr__(self) -> str:
        return f"<{self.op} node>"

    def output(self) -> Any:
        """y for `vjp`: the kept outputs as tensors of the graph. A tuple if the operation has several outputs."""
        outputs, number = [], None
        for kept in self.kept:
            if kept.__class__ is tuple:
                array, box, number = kept
                kept = wrap(array, self if number < 0 else Slot(self, number))
                kept._version_box = box
            outputs.append(kept)
        return outputs[0] if number == -1 else tuple(outputs)


class HookedNode(Node):
    """A node with hooks of `register_hook` or `register_prehook`: a class of its own costs the engine nothing for other nodes."""

    __slots__ = ()
    foreign = True


class LevelNode(Node):
    """The move of a tensor into a level of a function transform, or out of it: `backward` then meets lifted arrays."""

    __slots__ = ("level",)
    level: Any


class Slot:
    """The node of one output of an operation with several differentiable outputs."""

    __slots__ = ("__weakref__", "hooks", "index", "parents", "seq")
    vjp: Any = None
    foreign = False

    def __init__(self, node: Node, index: int) -> None:
        self.seq = clock.tick()
        self.parents = (node,)
        self.index = index
        self.hooks = None

    @property
    def op(self) -> str:
        """The name of the operation."""
        return str(self.parents[0].op)

    def name(self) -> str:
        """The name of the operation, as shown by `repr`."""
        return self.op

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` for the operation; see `Node.register_hook`."""
        handle: RemovableHandle = self.parents[0].register_hook(fn)
        return handle

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` for the operation; see `Node.register_prehook`."""
        handle: RemovableHandle = self.parents[0].register_prehook(fn)
        return handle

    @property
    def next_functions(self) -> Any:
        """The next nodes of the operation, as in PyTorch."""
        return self.parents[0].next_functions


def saved_tensors(vjp: Any, kept: Any = None) -> list[Tensor]:
    """The tensors in the closure of `vjp`, also those in a tuple there, and the operands that its node has `kept`."""
    found = [item for item in kept if isinstance(item, Tensor)] if kept.__class__ is tuple else []
    for cell in vjp.__closure__ or ():
        content = cell.cell_contents
        if content.__class__ is tuple:
            found += [item for item in content if isinstance(item, Tensor)]
        elif isinstance(content, Tensor):
            found.append(content)
    return found


def check_inference(vjp: Any, op: str, kept: Any = None) -> None:
    """Raise RuntimeError if a tensor made in inference mode has been saved."""
    for tensor in saved_tensors(vjp, kept):
        box = tensor._version_box
        if box is not None and box.inference:
            raise RuntimeError(f"Inference tensors cannot be saved for backward (by op '{op}'). To work around you can "
                               "make a clone to get a normal tensor and use it in autograd.")
