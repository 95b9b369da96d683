"""Operations as functions that know their operands and attributes: `single_op` for those with one result, `view_op` for views of
their only operand, `elementwise` for arithmetic, and `operation` for all others.

To call an object that is no function, and to hand on arguments that it does not know, takes half of the time of an operation of
a few elements. So the usual call is a function of its own, made of a template: what it does not do, it leaves to its `Op`.
"""
from __future__ import annotations

import functools
import textwrap
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from .. import _clock as clock
from .._namespace.foreign import answer, defer
from .._namespace.forwarding import renamed
from ..backends import TABLES, as_array
from ..tensor import Tensor, Version, version_box, wrap
from .errors import recover
from .grad_mode import GRAD
from .grad_mode import mode as grad_mode
from .node import Node, check_inference
from .op import Op, Rule, Vjp, differentiable
from .overwrite import Overwriting
from .views import connect_view, has_history

new = object.__new__
_ANY_OPERANDS, _ANY_ATTRIBUTES = 0x04, 0x08  # of `co_flags`: *args, **keywords

_BEGIN = """
    flags = modes()
    if flags > GRAD or (t0.__class__ is not Tensor and (t0.__class__ is Overwriting or not isinstance(t0, Tensor))):
        return op({passed})
    x0, n0 = t0._array, t0._node
{others}
    try:
        array = TABLES[x0.__class__][kernel]({arrays})
    except Exception as error:
        array = recover(kernel, ({operands},), dict({keywords}), name, ({tensors},), error)
        if isinstance(array, Tensor):
            return array
"""
_OTHER = """
    if isinstance({t}, Tensor):
        {x}, {n} = {t}._array, {t}._node
    else:
        {x}, {n} = {t}, None
"""
_ANY = """
    arrays = [t._array if isinstance(t, Tensor) else t for t in tensors]
"""
_ANY_NEEDED = "any(nodes := [t._node if isinstance(t, Tensor) else None for t in tensors])"
# Of `Node` without the call: a fifth of the time of recording.
_RECORD = """
        vjp = rule(({needs},), {passed})
        if clock.any_inference:
            check_inference(vjp, name)
        out._node = node = new(Node)
        node.seq = tick()
        node.op = name
        node.parents = ({nodes},)
        node.vjp = vjp
        node.kept = saves
        node.hooks = node.graph_info = None
"""
_SINGLE = """
    if array.__class__ is not x0.__class__:
        array = as_array(array)
    out = new(Tensor)
    out._array = array
    out._node = out._grad = out._version_box = out._view = None
    if flags and ({needed}) and array.dtype in differentiable:
{saved}
{record}
        if saved_outputs:
            out._version_box = box = Version()
            node.kept = [(array, box, -1)]
    return out
"""
# Results are a tuple, or one.
_RESULTS = """
    if array.__class__ is tuple:
        out = tuple([None if part is None else wrap(part) for part in array])
    else:
        if array.__class__ not in TABLES:
            array = as_array(array)
        out = new(Tensor)  # as `wrap`, without the call
        out._array = array
        out._node = out._grad = out._version_box = out._view = None
    if flags and rule is not None and ({needed}):
{recorded}
    if is_view:
        op.share(out, t0, dict({keywords}))
    return out
"""
_RECORD_ANY = """
        op.record(out, array, [{nodes}], ({tensors},), dict({keywords}), flags)
"""
# The same without the call, where the operands are known: the rule gets those that it sees.
_RECORD_RESULTS = """
        if array.__class__ is tuple or array.dtype in differentiable:
{saved}
            vjp = rule(({needs},), {passed})
            if clock.any_inference:
                check_inference(vjp, name)
            node = new(Node)
            node.seq = tick()
            node.op = name
            node.parents = ({nodes},)
            node.vjp = vjp
            node.kept = saves
            node.hooks = node.graph_info = None
            attach(node, out, array)
"""
_VIEW = """
    out = new(Tensor)
    out._array = array
    out._node = out._grad = out._version_box = out._view = None
    base = t0
    if flags and ({needed}):
{saved}
{record}
    if base._view is None and array.base is x0:
        out._version_box = box = base._version_box or version_box(base)
        out._view = (base, again(op, {keywords}))
        if flags or has_history(base):  # `register_view`, without the call
            views = box.views
            if views is None:
                views = box.views = set()
            views.add(reference(out, views.discard))
    else:
        connect_view(out, base, again(op, {keywords}))
    return out
"""


def single_op(name: str, rule: Rule | None = None, *, operands: int = 1, attributes: tuple[str, ...] = (), **options: Any) -> Any:
    """`Op` with one result, and a tensor as its first operand, as a function.

    Without a rule it has so many `operands`, and these `attributes`.
    """
    return _function(Op(name, rule, **options), _SINGLE, *(_signature(rule) if rule else (operands, attributes)))


def view_op(name: str, rule: Rule) -> Any:
    """`Op` whose result shares the memory of its only operand, as a function."""
    return _function(Op(name, rule, view=True, saves=False), _VIEW, *_signature(rule))


def operation(name: str, rule: Rule | None = None, *, operands: int | None = None, attributes: tuple[str, ...] | None = None,
              **options: Any) -> Any:
    """`Op` with any results, as a function of so many `operands`, which may be None, and of `attributes` with these names.

    By default they are those of the rule; any, where that takes any, or there is none.
    """
    known = _signature(rule)
    return _function(Op(name, rule, **options), _RESULTS, operands or known[0], attributes or known[1])


def elementwise(name: str, rule: Rule, prepare: Callable[..., Any], *, floating: bool = False,
                same_shape_vjp: Vjp | None = None, saves_inputs: bool = False) -> Callable[[Any, Any], Tensor]:
    """A binary operation as a function: the hot path of arithmetic.

    Two tensors of one dtype on one device go straight to the kernel and the graph, in one Python frame: a chain of them on
    tiny arrays costs half of what it costs through `Op`. So do a tensor and a Python scalar, in two. Everything else (promotion,
    anomaly mode) comes after `prepare(name, a, b)`, which returns operands that the kernel can take; with `floating`, integers do
    too. For an operator it may return NotImplemented, which is the result then.

    `same_shape_vjp` is the vjp for two real operands of one shape that both need their gradients. If it `saves_inputs`, the node
    keeps them, and it gets both as `y`: a closure for each call, and the checks of `rule`, take a third of the time of recording.
    Whether a node of `rule` then saves something is known too; without `same_shape_vjp` only if all of them do.
    """
    known = saves_inputs or (None if same_shape_vjp is None else False)
    op = Op(name, rule, saves=known)
    general = _function(op, _SINGLE, 2, ())
    modes, tick = grad_mode.get, clock.tick

    def apply(input: Any, other: Any) -> Tensor:
        kept: Any
        plain = other.__class__ is Tensor and input.__class__ is Tensor  # neither is a parameter, or another subclass
        if plain or (isinstance(other, Tensor) and isinstance(input, Tensor)):
            x, y = input._array, other._array
            kind = x.__class__
            if x.dtype is y.dtype and kind is y.__class__ and (not floating or x.dtype.kind == "f"):
                if not plain and input.__class__ is Overwriting:
                    return input.run(op, (input, other), {})
                flags = modes()
                if flags <= GRAD:
                    try:
                        array = TABLES[kind][name](x, y)
                    except Exception as error:
                        array = recover(name, (x, y), {}, name, (input, other), error)
                        if isinstance(array, Tensor):
                            return array
                    out = new(Tensor)
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
                        out._node = node = new(Node)
                        node.seq = tick()
                        node.op = name
                        node.parents = parents
                        node.vjp = vjp
                        node.kept = kept
                        node.hooks = node.graph_info = None
                    else:
                        out._node = None
                    return out
        elif other.__class__ in (float, int) and isinstance(input, Tensor) and input._array.dtype.kind == "f":
            return general(input, other)
        elif input.__class__ in (float, int) and isinstance(other, Tensor) and other._array.dtype.kind == "f":
            return op(input, other)
        try:
            operands = prepare(name, input, other)
        except TypeError:
            return defer(name, input, other)
        if operands is NotImplemented:
            return answer(apply, (input, other), {})
        return general(*operands)

    apply.__name__ = name
    return apply


def _signature(rule: Any) -> tuple[int | None, tuple[str, ...] | None]:
    """How many operands a rule takes, and the names of its attributes; None stands for any."""
    if rule.__class__ is not FunctionType:
        return None, None
    code = rule.__code__
    names = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    return (None if code.co_flags & _ANY_OPERANDS or rule.__defaults__ else code.co_argcount - 1,
            None if code.co_flags & _ANY_ATTRIBUTES else names)


_KNOWN: dict[str, Any] = {
    "__name__": __name__, "modes": grad_mode.get, "GRAD": GRAD, "Tensor": Tensor, "TABLES": TABLES, "new": new,
    "as_array": as_array, "differentiable": differentiable, "clock": clock, "tick": clock.tick,
    "check_inference": check_inference, "recover": recover, "Node": Node, "Version": Version, "version_box": version_box,
    "reference": weakref.ref, "has_history": has_history, "connect_view": connect_view, "again": functools.partial,
    "Overwriting": Overwriting, "wrap": wrap}


def _function(op: Op, end: str, operands: int | None, names: tuple[str, ...] | None) -> Any:
    """The operation as a function of so many operands and of keywords with these `names`; None stands for any."""
    if operands is None or names is None:
        end = _RESULTS
    known = {**_KNOWN, "op": op, "name": op.name, "kernel": op.kernel, "rule": op.rule, "saves": op.saves,
             "saved_outputs": op.saved_outputs, "is_view": op.view, "attach": op.attach}
    if op.rule is None:  # of a constant result
        known["differentiable"] = ()
    template = _template(end, operands, None if names is None else len(names), op.inputs_seen)
    made: Any = FunctionType(renamed(template, op.name, names or ()), known, op.name)
    made.__kwdefaults__ = getattr(op.rule, "__kwdefaults__", None)
    made.name, made.rule = op.name, op.rule
    return made


@functools.cache
def _template(end: str, operands: int | None, count: int | None, seen: int | None) -> CodeType:
    places = range(operands or 0)
    tensors, arrays, nodes = ([f"{kind}{place}" for place in places] for kind in "txn")
    names = [f"_{number}" for number in range(count or 0)]
    keywords = ["**attributes"] if count is None else [f"{name}={name}" for name in names]
    if operands is None:
        tensors, arrays, nodes = ["*tensors"], ["*arrays"], ["*nodes"]
    passed = ", ".join([*tensors, *keywords])
    parts = {
        "others": _ANY if operands is None else "".join(
            _OTHER.format(t=tensors[i], x=arrays[i], n=nodes[i]) for i in places[1:]),
        "arrays": ", ".join([*arrays, *keywords]), "operands": ", ".join(arrays), "tensors": ", ".join(tensors),
        "passed": passed, "keywords": ", ".join(keywords), "nodes": ", ".join(nodes),
        "needed": _ANY_NEEDED if operands is None else " or ".join(f"{node} is not None" for node in nodes),
        "needs": ", ".join(f"{node} is not None" for node in nodes)}
    saved = [f"        if {t}.__class__ is not Tensor{'' if t == 't0' else f' and isinstance({t}, Tensor)'}:\n"
             f"            {t} = {t}._for_graph()" for t in tensors]
    parts["saved"], parts["record"] = "\n".join(saved), _RECORD.format(**parts)
    if operands is None:
        parts["recorded"] = _RECORD_ANY.format(**parts)
    else:
        parts["recorded"] = _RECORD_RESULTS.format(**parts | {
            "saved": textwrap.indent("\n".join(saved[:seen]), "    "), "passed": ", ".join([*tensors[:seen], *keywords])})
    signature = ", ".join([*tensors, *(["*"] if names and operands is not None else []), *names,
                           *(["**attributes"] if count is None else [])])
    first = "    t0 = tensors[0]\n" if operands is None else ""
    module = compile(f"def call({signature}):\n{first}{(_BEGIN + end).format(**parts)}", __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))
