"""Op: a named operation and its gradient rule; calling it runs the kernel and records a graph node.

A rule is staged: ``rule(needs, *inputs, **attributes)`` runs when the operation is recorded and returns
``vjp(g, y) -> tuple of gradients``, one for each input. The closure of `vjp` keeps only what it needs: the tensors found
in it are the saved tensors, whose versions are checked before it runs. `y` is the output, rebuilt for the call, so that no
closure ever holds its own output. Rules are written with operations, so gradients differentiate again.

`grad(outputs, inputs)` and `backward(inputs=...)` compute no gradients that lead to none of the inputs: the gradient for the
input of a network, as for a gradient penalty or an adversarial image, takes 0.7 of the time without those of its weights. A vjp
whose gradients are products or convolutions leaves out those that are not needed. It has a third parameter, whose default is
the rule's: ``vjp(g, y, needs=needs)``. Others compute all of their gradients.
"""
from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from .. import _clock as clock
from .. import _dtypes
from ..backends import TABLES, as_array, storage
from ..tensor import Tensor, mark_inference, register_view, version_box, wrap
from ..tensor.nodes import Leaf
from .errors import recover
from .grad_mode import ANOMALY, GRAD, HOOKS, INFERENCE, LEVELS
from .grad_mode import mode as grad_mode
from .levels import lifted
from .node import Node, Slot, check_inference
from .overwrite import Overwriting
from .saving import pack

Vjp = Callable[[Any, Any], Sequence[Any]]
Rule = Callable[..., Vjp]
_new = object.__new__
_REPLAYS = (FunctionType, functools.partial)
by_kernel: dict[str, Op] = {}  # an operation with the gradient rule of each kernel that has one: forward mode uses it
_UNUSUAL = ANOMALY | HOOKS
_FIRST = (0,)
differentiable = frozenset(dtype for dtype in _dtypes.EVERY if _dtypes.is_differentiable(dtype))


class Op:
    """An operation by name, for any number of inputs and outputs.

    `name` picks the kernel, unless `kernel` is another entry of the tables. Without a `rule` the result is a constant.
    `saved_outputs` says which outputs `vjp` gets as `y`: True for the only one, or a tuple of their indices. `outputs` lists the
    differentiable outputs of an operation with several; with exactly one, `vjp` gets its gradient, with more, a list with None
    for those without one. `view` says that the result shares the input's memory. `saves` says whether a second backward needs
    what the rule has saved; None, that the engine has to look. With `inputs_seen` the rule gets only the first so many inputs:
    the others are neither saved nor need a stand-in (`_for_graph`), which takes 2 us for a buffer.
    """

    __slots__ = ("inputs_seen", "kernel", "name", "outputs", "rule", "saved_outputs", "saves", "view")

    def __init__(self, name: str, rule: Rule | None = None, *, saved_outputs: bool | tuple[int, ...] = False,
                 outputs: tuple[int, ...] | None = None, view: bool = False, kernel: str | None = None,
                 inputs_seen: int | None = None, saves: bool | None = None) -> None:
        self.name = name
        self.kernel = kernel or name
        self.rule = rule
        self.saved_outputs = saved_outputs
        self.outputs = outputs
        self.view = view
        self.inputs_seen = inputs_seen
        self.saves = saves
        if rule is not None and name != "fused":  # of formulas each has a rule of its own
            by_kernel.setdefault(self.kernel, self)

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        if inputs[0].__class__ is Overwriting:
            return inputs[0].run(self, inputs, attributes)
        arrays, tracked = [], False
        for t in inputs:
            if isinstance(t, Tensor):
                arrays.append(t._array)
                if t._node is not None:
                    tracked = True
            else:
                arrays.append(t)
        try:
            kernel = (TABLES.get(arrays[0].__class__) or TABLES[arrays[1].__class__])[self.kernel]
            result = kernel(*arrays, **attributes) if attributes else kernel(*arrays)
        except Exception as error:
            result = recover(self.kernel, arrays, attributes, self.name, inputs, error)
            if isinstance(result, Tensor):  # by a rule for sparse tensors, with its history
                return result
        out: Any
        if result.__class__ is tuple:
            out = tuple([None if array is None else wrap(array) for array in result])
        else:
            if result.__class__ not in TABLES:
                result = as_array(result)
            out = wrap(result)
        flags = grad_mode.get()
        if tracked and flags & GRAD and self.rule is not None:
            parents = [t._node if isinstance(t, Tensor) else None for t in inputs]
            self.record(out, result, parents, inputs, attributes, flags)
        if self.view:
            self.share(out, inputs[0], attributes)
        elif flags & INFERENCE:
            for tensor in out if out.__class__ is tuple else (out,):
                if tensor is not None:
                    mark_inference(tensor)
        return out

    def record(self, out: Any, result: Any, parents: list[Any], inputs: Sequence[Any], attributes: dict[str, Any],
                flags: int) -> None:
        many = out.__class__ is tuple
        if not many and result.dtype not in differentiable:
            return
        if self.inputs_seen is not None:
            inputs = inputs[:self.inputs_seen]
        for t in inputs:
            if t.__class__ is not Tensor and isinstance(t, Tensor) and t._replaceable:
                inputs = [t._for_graph() if isinstance(t, Tensor) else t for t in inputs]
                break
        vjp = self.rule([p is not None for p in parents], *inputs, **attributes)  # type: ignore[misc]
        if clock.any_inference:
            check_inference(vjp, self.name)
        if flags & LEVELS:
            parents = lifted(parents, result)
        node = Node(self.name, parents, vjp, self.saves)
        self.attach(node, out, result)
        if flags & _UNUSUAL:
            if flags & ANOMALY:
                node.metadata["traceback_"] = traceback.format_stack()[:-2]
            if flags & HOOKS:
                pack(node)

    def attach(self, node: Node, out: Any, result: Any) -> None:
        """Let `node` be the history of the results, and keep those that `vjp` gets."""
        if out.__class__ is not tuple:
            out._node = node
            if self.saved_outputs:
                node.kept = [(result, version_box(out), -1)]
            return
        outputs = self.outputs
        if outputs == _FIRST:
            out[0]._node = node
            if self.saved_outputs:
                node.kept = [out[i] if i else (result[0], version_box(out[0]), -2)
                             for i in self.saved_outputs]  # type: ignore[union-attr]
            return
        numbers = range(len(out)) if outputs is None else outputs
        single = len(numbers) == 1
        for index in numbers:
            if out[index] is not None:
                out[index]._node = node if single else Slot(node, index)
        if self.saved_outputs:
            node.kept = [(result[i], version_box(out[i]), -2 if single else i) if i in numbers else out[i]
                         for i in self.saved_outputs]  # type: ignore[union-attr]

    def share(self, out: Any, base: Tensor, attributes: dict[str, Any]) -> None:
        """Connect a view with the tensor whose memory it shares, so that writes through either are seen by both."""
        if out.__class__ is tuple:
            source, whole, recording = base._array, base._view is None, grad_mode.get() & GRAD or has_history(base)
            box = base._version_box or version_box(base)
            for index, tensor in enumerate(out):
                def replay(t: Tensor, i: int = index) -> Tensor:
                    part: Tensor = self(t, **attributes)[i]
                    return part

                if whole and tensor._array.base is source:  # as in `view_op`
                    tensor._version_box = box
                    tensor._view = (base, replay)
                    if recording:
                        register_view(box, tensor)
                else:
                    connect_view(tensor, base, replay)
        else:
            connect_view(out, base, lambda t: self(t, **attributes))


def connect_view(view: Tensor, parent: Tensor, replay: Callable[[Tensor], Tensor]) -> None:
    """Make `view` share the version of `parent`, and remember how to compute it from the root of its memory.

    Nothing happens if the array is in fact a copy (a reshape that could not be a view).
    """
    source, memory = parent._array, view._array.base
    if memory is not source and (memory is None or memory is not source.base) and not _shows_bits(view._array, source):
        return
    box = view._version_box = parent._version_box or version_box(parent)
    if parent._view is None:
        view._view = (parent, replay)
    else:
        root, to_parent = parent._view
        if to_parent.__class__ not in _REPLAYS and hasattr(to_parent, "reason"):  # Unwritable, and so is every view of it
            view._view = parent._view
        else:
            view._view = (root, lambda t: replay(to_parent(t)))
    if grad_mode.get() & GRAD or has_history(parent):
        register_view(box, view)


def _shows_bits(view: Any, source: Any) -> bool:
    """Whether one of two arrays holds the other's memory as bits."""
    stored = _dtypes.STORED_CLASSES
    return (view.dtype.__class__ in stored or source.dtype.__class__ in stored) and storage.owner(view) is storage.owner(source)


def has_history(tensor: Tensor) -> bool:
    """Whether a view of `tensor` that is made in `no_grad` gets a history too when its base is written outside."""
    node = tensor._node
    return node is not None and node.__class__ is not Leaf  # to a leaf no such write is possible
