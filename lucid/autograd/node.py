"""What the graph is made of: a node for each recorded operation, and one for each output where there are several."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import _clock as clock
from ..tensor import Tensor, wrap
from ..tensor.nodes import GraphNode


class Node(GraphNode):
    """One recorded operation: where its gradient goes (`parents`) and how it is computed (`vjp`)."""

    __slots__ = ("__weakref__", "graph_info", "has_slots", "hooks", "kept", "node_hooks", "op", "parents", "seq", "vjp")
    foreign = False  # user code sees the gradients and may hold on to their arrays
    has_slots: bool  # set if there is a node for each output

    def __init__(self, op: str, parents: Sequence[Any], vjp: Callable[[Any, Any], Sequence[Any]], kept: Any = None) -> None:
        self.seq = clock.tick()
        self.op = op
        self.parents = parents
        self.vjp = vjp
        # A list that `output` makes y of: outputs that are not differentiable, and (array, version, number) of the others, which
        # refer to this node themselves. Else y itself: the operands of `elementwise`, or `Op.saves`.
        self.kept = kept
        self.hooks: OrderedDict[int, Callable[..., Any]] | None = None
        self.graph_info: dict[str, Any] | None = None

    def _expect_hooks(self) -> None:
        if not self.foreign:
            self.__class__ = HookedNode

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
    """A node with hooks of its own: a class of its own costs the engine nothing for other nodes."""

    __slots__ = ()
    foreign = True


class LevelNode(Node):
    """The move of a tensor into a level of a function transform, or out of it: `backward` then meets lifted arrays."""

    __slots__ = ("level",)
    level: Any


class Saved:
    """What the rule of a `CallNode` gets as y: `values`, and whether the graph is kept for another backward."""

    __slots__ = ("is_kept", "values")

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.is_kept = False


class CallNode(Node):
    """A whole call as one operation; its `kept` is a `Saved`, which its rule may empty if the graph is not kept."""

    __slots__ = ()


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
        node.has_slots = True

    @property
    def op(self) -> str:
        """The name of the operation."""
        return str(self.parents[0].op)

    def edge(self) -> tuple[Node, int]:
        """The operation, and which of its outputs this is."""
        return self.parents[0], self.index


class _Edge(NamedTuple):
    node: Any
    output_nr: int
    ownership_token: Any = None


class GradientEdge(_Edge):
    """Where the gradient of a tensor is computed: the output `output_nr` of `node`. `backward` and `grad` take one in the place
    of a tensor; it does not keep the tensor alive.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> edge = lucid.autograd.graph.GradientEdge(y.grad_fn, 0)
    >>> lucid.autograd.grad((y * y).sum(), edge)
    (Tensor([4.0, 4.0], requires_grad=False),)
    """

    like: tuple[Any, Any, Any] | None = None  # shape, dtype and device of the tensor, where one was given

    def root(self) -> Any:
        """The node to begin with if this is an output."""
        return Slot(self.node, self.output_nr) if hasattr(self.node, "has_slots") else self.node


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
