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

import traceback
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from .. import _clock as clock
from .. import _dtypes
from .._namespace.foreign import refused
from ..backends import TABLES, as_array
from ..tensor import Leaf, Tensor, Version, mark_inference, register_view, version_box, wrap
from .errors import recover
from .grad_mode import ANOMALY, GRAD, HOOKS, INFERENCE, LEVELS
from .grad_mode import mode as grad_mode
from .graph import pack
from .levels import lifted
from .node import Node, Slot, check_inference
from .overwrite import Overwriting

Vjp = Callable[[Any, Any], Sequence[Any]]
Rule = Callable[..., Vjp]
_new = object.__new__
by_kernel: dict[str, Op] = {}  # an operation with the gradient rule of each kernel that has one: forward mode uses it
_UNUSUAL = ANOMALY | HOOKS
_NEEDED = (True,)  # the `needs` of a rule for one input
_differentiable = frozenset(dtype for dtype in _dtypes.ALL if _dtypes.is_differentiable(dtype))


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
        # What `run` does, without the call, here and in the classes below: a tenth of the time of small arrays.
        try:
            table = TABLES.get(arrays[0].__class__) or TABLES[arrays[1].__class__]
            result = table[self.kernel](*arrays, **attributes)
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
            self._record(out, result, parents, inputs, attributes, flags)
        if self.view:
            self._share(out, inputs[0], attributes)
        elif flags & INFERENCE:
            for tensor in out if out.__class__ is tuple else (out,):
                if tensor is not None:
                    mark_inference(tensor)
        return out

    def _record(self, out: Any, result: Any, parents: list[Any], inputs: Sequence[Any], attributes: dict[str, Any],
                flags: int) -> None:
        many = out.__class__ is tuple
        if not many and result.dtype not in _differentiable:
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
        if not many:
            out._node = node
            if self.saved_outputs:
                node.kept = [(result, version_box(out), -1)]
        else:
            outputs = range(len(out)) if self.outputs is None else self.outputs
            single = len(outputs) == 1
            for index in outputs:
                if out[index] is not None:
                    out[index]._node = node if single else Slot(node, index)
            if self.saved_outputs:
                node.kept = [(result[i], version_box(out[i]), -2 if single else i) if i in outputs else out[i]
                             for i in self.saved_outputs]  # type: ignore[union-attr]
        if flags & _UNUSUAL:
            if flags & ANOMALY:
                node.trace = traceback.format_stack()[:-2]
            if flags & HOOKS:
                pack(node)

    def _share(self, out: Any, base: Tensor, attributes: dict[str, Any]) -> None:
        """Connect a view with the tensor whose memory it shares, so that writes through either are seen by both."""
        if out.__class__ is tuple:
            source, whole, recording = base._array, base._view is None, grad_mode.get() & GRAD or has_history(base)
            box = base._version_box or version_box(base)
            for index, tensor in enumerate(out):
                def replay(t: Tensor, i: int = index) -> Tensor:
                    part: Tensor = self(t, **attributes)[i]
                    return part

                if whole and tensor._array.base is source:  # as in `ViewOp`
                    tensor._version_box = box
                    tensor._view = (base, replay)
                    if recording:
                        register_view(box, tensor)
                else:
                    connect_view(tensor, base, replay)
        else:
            connect_view(out, base, lambda t: self(t, **attributes))


class UnaryOp(Op):
    """`Op` for one input and one output that is not a view: the same, without the loops."""

    __slots__ = ()

    def __call__(self, a: Any, **attributes: Any) -> Any:
        if a.__class__ is Overwriting:
            return a.run(self, (a,), attributes)
        source = a._array
        try:
            array = TABLES[source.__class__][self.kernel](source, **attributes)
        except Exception as error:
            array = recover(self.kernel, (source,), attributes, self.name, (a,), error)
            if isinstance(array, Tensor):
                return array
        if array.__class__ is not source.__class__:
            array = as_array(array)
        out = _new(Tensor)  # as `wrap`, without the call
        out._array = array
        out._node = out._grad = out._version_box = out._view = None
        flags = grad_mode.get()
        if flags != GRAD:
            if flags & INFERENCE:
                mark_inference(out)
            if not flags & GRAD:
                return out
        node = a._node
        if node is not None and self.rule is not None:
            if flags == GRAD and not a._replaceable and array.dtype in _differentiable:
                # What `_record` does, without its checks: a third of the time of recording.
                vjp = self.rule(_NEEDED, a, **attributes)
                if clock.any_inference:
                    check_inference(vjp, self.name)
                out._node = node = Node(self.name, (node,), vjp, self.saves)
                if self.saved_outputs:
                    out._version_box = box = Version()
                    node.kept = [(array, box, -1)]
            else:
                self._record(out, array, [node], (a,), attributes, flags)
        return out


class BinaryOp(Op):
    """`Op` for two tensors and one output that is not a view: the same, without the loops."""

    __slots__ = ()

    def __call__(self, a: Any, b: Any, **attributes: Any) -> Any:
        if a.__class__ is Overwriting:
            return a.run(self, (a, b), attributes)
        x, y = a._array, b._array
        try:
            table = TABLES.get(x.__class__) or TABLES[y.__class__]
            array = table[self.kernel](x, y, **attributes)
        except Exception as error:
            array = recover(self.kernel, (x, y), attributes, self.name, (a, b), error)
            if isinstance(array, Tensor):
                return array
        if array.__class__ not in TABLES:
            array = as_array(array)
        out = _new(Tensor)  # as `wrap`, without the call
        out._array = array
        out._node = out._grad = out._version_box = out._view = None
        flags = grad_mode.get()
        if flags != GRAD:
            if flags & INFERENCE:
                mark_inference(out)
            if not flags & GRAD:
                return out
        first, second = a._node, b._node
        if (first is not None or second is not None) and self.rule is not None:
            if flags == GRAD and array.dtype in _differentiable:
                # What `_record` does, without its checks.
                vjp = self.rule((first is not None, second is not None), a._for_graph(), b._for_graph(), **attributes)
                if clock.any_inference:
                    check_inference(vjp, self.name)
                out._node = node = Node(self.name, (first, second), vjp, self.saves)
                if self.saved_outputs:
                    out._version_box = box = Version()
                    node.kept = [(array, box, -1)]
            else:
                self._record(out, array, [first, second], (a, b), attributes, flags)
        return out


class ViewOp(Op):
    """`Op` for one input and one output that shares its memory: the same, without the loops."""

    __slots__ = ()

    def __init__(self, name: str, rule: Rule | None = None) -> None:
        super().__init__(name, rule, view=True, saves=False)

    def __call__(self, a: Any, **attributes: Any) -> Any:
        source = a._array
        try:
            array = TABLES[source.__class__][self.kernel](source, **attributes)
        except Exception as error:
            array = recover(self.kernel, (source,), attributes, self.name, (a,), error)
            if isinstance(array, Tensor):
                return array
        out = _new(Tensor)
        out._array = array
        out._node = out._grad = out._version_box = out._view = None
        node, flags = a._node, grad_mode.get()
        if node is not None and flags & GRAD and self.rule is not None:
            if flags == GRAD and not a._replaceable:
                vjp = self.rule(_NEEDED, a, **attributes)
                if clock.any_inference:
                    check_inference(vjp, self.name)
                out._node = Node(self.name, (node,), vjp, False)
            else:
                self._record(out, array, [node], (a,), attributes, flags)
        if a._view is None and array.base is source:
            # What `connect_view` does for a view of a whole tensor, without the call.
            out._version_box = box = a._version_box or version_box(a)
            out._view = (a, lambda t: self(t, **attributes))
            if flags & GRAD or has_history(a):
                register_view(box, out)
        else:
            connect_view(out, a, lambda t: self(t, **attributes))
        return out


def elementwise(name: str, rule: Rule, prepare: Callable[..., Any], *, floating: bool = False,
                same_shape_vjp: Vjp | None = None, saves_inputs: bool = False) -> Callable[[Any, Any], Tensor]:
    """A binary operation as a function: the hot path of arithmetic.

    Two tensors of one dtype on one device go straight to the kernel and the graph, in one Python frame: a chain of them on
    tiny arrays costs half of what it costs through `Op`. Everything else (Python scalars, promotion, anomaly mode) takes
    `Op` after `prepare(name, a, b)`, which returns operands that the kernel can take; with `floating`, integers do too. For an
    operator it may return NotImplemented, which is the result then.

    `same_shape_vjp` is the vjp for two real operands of one shape that both need their gradients. If it `saves_inputs`, the node
    keeps them, and it gets both as `y`: a closure for each call, and the checks of `rule`, take a third of the time of recording.
    Whether a node of `rule` then saves something is known too; without `same_shape_vjp` only if all of them do.
    """
    known = saves_inputs or (None if same_shape_vjp is None else False)
    general = Op(name, rule, saves=known)
    modes, tick = grad_mode.get, clock.tick

    def apply(input: Any, other: Any) -> Tensor:
        kept: Any
        plain = other.__class__ is Tensor and input.__class__ is Tensor  # neither is a parameter, or another subclass
        if plain or (isinstance(other, Tensor) and isinstance(input, Tensor)):
            x, y = input._array, other._array
            kind = x.__class__
            if x.dtype is y.dtype and kind is y.__class__ and (not floating or x.dtype.kind == "f"):
                if not plain and input.__class__ is Overwriting:
                    return input.run(general, (input, other), {})
                flags = modes()
                if flags <= GRAD:
                    try:
                        array = TABLES[kind][name](x, y)
                    except Exception as error:
                        array = recover(name, (x, y), {}, name, (input, other), error)
                        if isinstance(array, Tensor):
                            return array
                    out = _new(Tensor)
                    out._array = array if array.__class__ is kind else as_array(array)
                    out._grad = out._version_box = out._view = None
                    a, b = input._node, other._node
                    if flags and (a is not None or b is not None):
                        if not plain:
                            input, other = input._for_graph(), other._for_graph()
                        parents, kept = (a, b), known
                        if same_shape_vjp is None or a is None or b is None or x.shape != y.shape or x.dtype.kind != "f":
                            vjp = rule(parents, input, other)
                        else:
                            vjp = same_shape_vjp
                            if saves_inputs:
                                kept = input, other
                        if clock.any_inference:
                            check_inference(vjp, name, kept)
                        # What `Node` does, without the call: a fifth of the time of recording.
                        out._node = node = _new(Node)
                        node.seq = tick()
                        node.op = name
                        node.parents = parents
                        node.vjp = vjp
                        node.kept = kept
                        node.hooks = node.trace = None
                    else:
                        out._node = None
                    return out
        elif other.__class__ in (float, int) and isinstance(input, Tensor) and input._array.dtype.kind == "f":
            return general(input, other)
        operands = prepare(name, input, other)
        if operands is NotImplemented:
            return refused(apply, (input, other), {})
        return general(*operands)

    apply.__name__ = name
    return apply


def connect_view(view: Tensor, parent: Tensor, replay: Callable[[Tensor], Tensor]) -> None:
    """Make `view` share the version of `parent`, and remember how to compute it from the root of its memory.

    Nothing happens if the array is in fact a copy (a reshape that could not be a view).
    """
    source, memory = parent._array, view._array.base
    if memory is not source and (memory is None or memory is not source.base):
        return
    box = view._version_box = parent._version_box or version_box(parent)
    if parent._view is None:
        view._view = (parent, replay)
    else:
        root, to_parent = parent._view
        if to_parent.__class__ is not FunctionType and hasattr(to_parent, "reason"):  # Unwritable, and so is every view of it
            view._view = parent._view
        else:
            view._view = (root, lambda t: replay(to_parent(t)))
    if grad_mode.get() & GRAD or has_history(parent):
        register_view(box, view)


def has_history(tensor: Tensor) -> bool:
    """Whether a view of `tensor` that is made in `no_grad` gets a history too when its base is written outside."""
    node = tensor._node
    return node is not None and node.__class__ is not Leaf  # to a leaf no such write is possible
