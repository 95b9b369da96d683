"""Reverse-mode differentiation: `backward` and `grad`.

Nodes are visited in reverse creation order with a heap, so a node is visited once, with its whole gradient. With
`create_graph` the gradient rules are recorded like any other operations; without it nothing is. Begin with `Run`, which makes
one pass over the graph.
"""
from __future__ import annotations

import importlib
import operator
import sys
import warnings
from collections.abc import Sequence
from contextvars import ContextVar
from gc import get_referents
from heapq import heappop, heappush
from typing import Any, Literal, overload

from .. import _clock as clock
from .. import _recording, backends
from .._writers import writes
from ..backends import TABLES, versions
from ..backends.memory_format import inverse, memory_axes
from ..tensor import Tensor, version_box, wrap, write_count
from ..tensor.nodes import GraphNode, Leaf, Retainer
from .accumulation import Pieces, SliceVjp, add_piece, one, plus, sum_of_two
from .errors import describe_one, saved_from
from .freeing import saves
from .grad_mode import CHECK_NAN, GRAD, LEVELS
from .grad_mode import mode as grad_mode
from .levels import Composed
from .node import GradientEdge, LevelNode, Node, Saved, Slot
from .overwrite import refuse_write
from .views import follow

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
_creation = operator.attrgetter("seq")


def backward(tensors: Tensors, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Tensors | None = None) -> None:
    """Accumulate the gradients of `tensors` into `.grad` of the leaves (or only of `inputs`).

    `grad_tensors` are the upstream gradients (`grad_variables` is their old name); scalars need none. The graph is freed unless
    `retain_graph`, whose default is `create_graph`. Raises RuntimeError as PyTorch does: no graph, a missing or misshapen
    upstream gradient, a graph that has been freed, a saved tensor that was written in place.

    >>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
    >>> lucid.autograd.backward(x * x, lucid.ones(2))
    >>> x.grad
    Tensor([2.0, 4.0], requires_grad=False)
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please "
                               "only use `grad_tensors`.")
        grad_tensors = grad_variables
    if _recording.under_way:
        _recording.differentiated()
    roots = _roots(tensors, grad_tensors)
    wanted = None
    if inputs is not None:
        sequence = _listed(inputs)
        if not sequence:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        wanted = {_input_node(t): t for t in sequence}
        for tensor in sequence:
            if tensor.__class__ is not GradientEdge:
                tensor.retain_grad()  # what is not a leaf keeps its gradient from now on, as in PyTorch
    found = _run(roots, create_graph, create_graph if retain_graph is None else retain_graph, wanted)
    if wanted is not None:
        handed_out: dict[int, Any] = {id(_root(seed._array)): seed for _, seed in roots}
        for node, gradient in found.items():
            if node.__class__ is not Leaf:
                continue
            tensor = node.tensor()
            if node.hooks and hasattr(node, "node_hooks"):
                gradient = _call_pre_hooks(node, gradient, handed_out)
            if tensor is not None and gradient is not None:
                _accumulate(tensor, gradient, create_graph, handed_out)


@overload
def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: Literal[False] | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]: ...


@overload
def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor | None, ...]: ...


def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; `.grad` is left alone.

    An input that the outputs do not depend on raises RuntimeError, or gives None with `allow_unused`, or zeros with
    `materialize_grads`. With `is_grads_batched` the first dimension of `grad_outputs` is a batch of upstream gradients, and that
    of the results one of gradients: all are computed in one pass, as by `vmap`.

    >>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
    >>> lucid.autograd.grad((x ** 3).sum(), x)
    (Tensor([ 3.0, 12.0], requires_grad=False),)
    """
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
                      "other parts of the graph, please use torch.autograd.backward.", FutureWarning, stacklevel=2)
    if is_grads_batched:
        # By its name: it stands on this module, and is not needed before.
        transforms = importlib.import_module(".transforms", __package__)
        batch: tuple[Tensor | None, ...] = transforms.batched_gradients(
            outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
        return batch
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    sequence = _listed(inputs)
    roots = _roots(outputs, grad_outputs)
    wanted = {_input_node(t): t for t in sequence}
    found = _run(roots, create_graph, create_graph if retain_graph is None else retain_graph, wanted)
    handed_out: dict[int, Any] = {id(_root(seed._array)): seed for _, seed in roots}
    results: list[Tensor | None] = []
    for tensor in sequence:
        gradient = _found_for(tensor, found)
        if gradient is None:
            if materialize_grads:
                if tensor.__class__ is GradientEdge:
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
                gradient = tensor.new_zeros(tensor.shape)
            elif not allow_unused:
                raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                                   "allow_unused=True if this is the desired behavior.")
        elif not create_graph:
            input_array = None if tensor.__class__ is GradientEdge else tensor._array
            gradient = wrap(_private(gradient._array, handed_out, or_like=input_array))
        elif id(_root(gradient._array)) in handed_out:
            gradient = gradient.clone()
        results.append(gradient)
    return tuple(results)


def between(outputs: Sequence[Tensor], gradients: Sequence[Tensor], wanted: dict[Any, Tensor], create_graph: bool,
            retain_graph: bool) -> dict[Any, Tensor]:
    """The gradients of the `wanted` nodes as the rules give them, for a rule of an operation that is a graph itself."""
    roots = [(output._node, gradient) for output, gradient in zip(outputs, gradients, strict=True)]
    return _run(roots, create_graph, retain_graph, wanted)


def _roots(tensors: Tensors, gradients: Any) -> list[tuple[Any, Tensor]]:
    """Pairs (node, upstream gradient) to start from."""
    if isinstance(tensors, Tensor) and (gradients is None or isinstance(gradients, Tensor)):
        return [(_root_node(tensors, 0), _upstream(tensors, gradients, 0))]
    outputs = _listed(tensors)
    if gradients is None or isinstance(gradients, Tensor):
        gradients = [gradients] * len(outputs) if gradients is None else [gradients]
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    return [(_root_node(tensor, number), _upstream(tensor, gradient, number))
            for number, (tensor, gradient) in enumerate(zip(outputs, gradients, strict=True))]


def _listed(tensors: Tensors) -> list[Any]:
    return [tensors] if isinstance(tensors, (Tensor, GradientEdge)) else list(tensors)


def _root_node(tensor: Tensor | GradientEdge, number: int) -> Any:
    if isinstance(tensor, GradientEdge):
        return tensor.root()
    if tensor._node is None:
        raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
    return tensor._node


def _upstream(tensor: Tensor, gradient: Any, number: int) -> Tensor:
    """The upstream gradient of output `number`: `gradient` in the dtype of the output, or 1 for a scalar without one."""
    if isinstance(tensor, GradientEdge):
        return _upstream_of_edge(tensor, gradient, number)
    array = tensor._array
    if gradient is None:
        if array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if array.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}")
        return one(array)
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    given = gradient._array
    if given.shape != array.shape:
        raise RuntimeError(f"Mismatch in shape: grad_output[{number}] has a shape of {gradient.shape} and "
                           f"output[{number}] has a shape of {tensor.shape}.")
    if given.__class__ is not array.__class__ and gradient.device != tensor.device:
        raise RuntimeError(f"grad_output[{number}] is on {gradient.device} but output[{number}] is on {tensor.device}")
    return gradient if given.dtype is array.dtype else gradient.to(tensor.dtype)


def _upstream_of_edge(edge: GradientEdge, gradient: Any, number: int) -> Tensor:
    """The same for an edge, which knows the tensor only if one was given for it."""
    if edge.like is not None:
        shape, dtype, device = edge.like
        return _upstream(wrap(backends.create("empty", device, {"shape": shape, "dtype": dtype})), gradient, number)
    if gradient is None:
        raise RuntimeError("grad can be implicitly created only for scalar outputs: the shape of a GradientEdge made of a "
                           "node is not known")
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    return gradient


def _found_for(tensor: Tensor | GradientEdge, found: dict[Any, Any]) -> Tensor | None:
    """The gradient of an input."""
    if not isinstance(tensor, GradientEdge):
        return found.get(tensor._node)
    gradient = found.get(tensor.node)
    if gradient.__class__ is list:  # of the outputs of an operation
        return gradient[tensor.output_nr] if tensor.output_nr < len(gradient) else None
    return gradient


def _input_node(tensor: Tensor | GradientEdge) -> Any:
    if isinstance(tensor, GradientEdge):
        return tensor.node
    if tensor._node is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return tensor._node


def _run(roots: list[tuple[Any, Tensor]], create_graph: bool, retain_graph: bool, wanted: dict[Any, Tensor] | None
         ) -> dict[Any, Tensor]:
    """Push gradients from `roots` to the leaves, or to the `wanted` nodes, whose gradients are returned."""
    grads: dict[Any, Any] = {}
    heap: list[tuple[int, Any]] = []
    found: dict[Any, Tensor] = {}
    # Arrays that somebody holds: handing one out again would alias two gradients, or a gradient and the caller's array.
    handed_out: dict[int, Any] = {}
    reached = None if wanted is None else _ancestors_of(wanted, [node for node, _ in roots])
    run: Run | None = None  # for hooks
    flags = grad_mode.get()
    token = grad_mode.set(flags | GRAD if create_graph else flags & ~GRAD)
    find, take = grads.get, grads.pop
    sums: set[Any] = set()  # nodes whose gradient is a sum made here
    # The only node to visit and its gradient, in the place of the heap and `grads`: a chain takes 0.2 us less for each.
    following = carried = None
    check_nan = flags & CHECK_NAN
    careful = create_graph or check_nan  # each gradient as the rule computes it
    apart = create_graph  # sums in new memory
    inside: Any = None  # the context of a graph of lifted arrays
    try:
        if flags & LEVELS:
            inside = Composed()
            careful = apart = True
        for node, seed in roots:
            handed_out[id(_root(seed._array))] = seed
            if reached is None or node in reached:
                _add(grads, heap, node, seed)
        while heap or following is not None:
            if following is None:
                node = heappop(heap)[1]
                g = take(node)
                if g.__class__ is Pieces:
                    g = g.whole()
            else:
                node, g = following, carried
                following = carried = None
            if node.hooks:
                run = run or Run(roots, reached)
                g = _call_hooks(node, g, handed_out, run)
            if wanted is not None and node in wanted:
                found[node] = g if inside is None else _gradients(inside, g)
                if reached is not None and reached.isdisjoint(node.parents):  # nothing beyond it is wanted
                    continue
            foreign = False
            if node.__class__ is not Node:
                if node.__class__ is Slot:
                    parent = node.parents[0]
                    if reached is None or parent in reached:
                        _add_slot(grads, heap, parent, node.index, g)
                    continue
                foreign = node.foreign
                if node.kept.__class__ is Saved:
                    node.kept.is_kept = retain_graph
                if node.__class__ is LevelNode:
                    if inside is None:
                        inside = Composed()
                        careful = apart = True
                    inside.enter(node.level)
            vjp = node.vjp
            if vjp is None:
                raise RuntimeError(
                    f"Trying to backward through the graph a second time (op '{node.op}'). Saved intermediate values of the "
                    "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
                    "backward through the graph a second time.")
            if node.seq < clock.last_write:
                _check_versions(node, vjp)
            if foreign and hasattr(node, "node_hooks"):
                g = _call_pre_hooks(node, g, handed_out)
                if g is None:
                    continue
            if vjp.__class__ is SliceVjp and not careful and not foreign:
                parent = node.parents[0]
                if reached is None or parent in reached:
                    total = find(parent)
                    if total is None and parent.__class__ is not Leaf:
                        heappush(heap, (-parent.seq, parent))
                    add_piece(grads, sums, parent, total, vjp, g)
                continue
            kept = node.kept
            y = node.output() if kept.__class__ is list else kept
            if reached is None or vjp.__defaults__ is None or reached.issuperset(node.parents):
                results = vjp(g, y)
            else:  # it can leave gradients out
                results = vjp(g, y, needs=[parent in reached for parent in node.parents])
            if retain_graph and y is not kept:
                results = _apart(results, kept)
            if check_nan:
                _check_nan(node, results)
            if foreign:
                results = _call_post_hooks(node, results, g, handed_out)
            parents, number = node.parents, -1
            for gradient in results:  # a count of our own takes half of the time of zip
                number += 1
                if gradient is None:
                    continue
                parent = parents[number]
                if parent is None or (reached is not None and parent not in reached):
                    continue
                if following is not None and parent.__class__ is not Leaf:  # more than one path on
                    grads[following] = carried
                    heappush(heap, (-following.seq, following))
                    following = carried = None
                total = find(parent)
                if total is None:
                    if parent.__class__ is Leaf:
                        grads[parent] = gradient
                    elif heap:
                        grads[parent] = gradient
                        heappush(heap, (-parent.seq, parent))
                    else:
                        following, carried = parent, gradient
                elif parent in sums and not apart:
                    array, other = total._array, gradient._array
                    if array.__class__ is other.__class__:
                        TABLES[array.__class__]["add"](array, other, array)
                    else:  # one of them is sparse
                        grads[parent] = plus(total, gradient)
                elif apart:
                    grads[parent] = plus(total, gradient)
                else:
                    sums.add(parent)
                    grads[parent] = sum_of_two(total, gradient)
            if not retain_graph:
                if kept is None:
                    closure = vjp.__closure__
                    if closure is not None and saves(closure):
                        node.vjp = None
                elif kept is not False:
                    node.vjp = node.kept = None
        for leaf, g in grads.items():
            if g.__class__ is Pieces:
                g = g.whole()
            if inside is not None:
                g = inside.gradient(g)
            if leaf.hooks:
                run = run or Run(roots, reached)
                g = _call_hooks(leaf, g, handed_out, run)
                if wanted is None and hasattr(leaf, "node_hooks"):
                    g = _call_pre_hooks(leaf, g, handed_out)
                    if g is None:
                        continue
            if wanted is None:
                tensor = leaf.tensor()
                if tensor is not None:
                    _accumulate(tensor, g, create_graph, handed_out)
            elif leaf in wanted:
                found[leaf] = g
    finally:
        if inside is not None:
            inside.leave()
        grad_mode.reset(token)
    return found


class Run:
    """A backward pass as hooks see it: from its `roots`, on the way to what it has to reach."""

    __slots__ = ("__weakref__", "_reached", "_roots")

    def __init__(self, roots: Sequence[tuple[Any, Tensor]], reached: set[Any] | None) -> None:
        self._roots, self._reached = [node for node, _ in roots], reached

    def visits(self, node: Any) -> bool:
        """Whether the gradient of `node` is computed."""
        if self._reached is None:
            self._reached = _reachable(self._roots)
        return node in self._reached


def is_running() -> bool:
    """Whether the caller is called by a backward pass."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _run.__code__:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


#: The pass that calls hooks at this moment.
current_run: ContextVar[Run | None] = ContextVar("lucid_backward_run", default=None)


def _gradients(inside: Any, g: Any) -> Any:
    if g.__class__ is list:
        return [None if part is None else inside.gradient(part) for part in g]
    return inside.gradient(g)


def _add(grads: dict[Any, Any], heap: list[tuple[int, Any]], node: Any, gradient: Tensor) -> None:
    if node in grads:
        grads[node] = plus(grads[node], gradient)
    else:
        grads[node] = gradient
        if node.__class__ is not Leaf:
            heappush(heap, (-node.seq, node))


def _add_slot(grads: dict[Any, Any], heap: list[tuple[int, Any]], node: Node, index: int, gradient: Tensor) -> None:
    """Collect the gradients of an operation with several outputs in a list, None where there is none."""
    bundle = grads.get(node)
    if bundle is None:
        bundle = grads[node] = []
        heappush(heap, (-node.seq, node))
    bundle.extend([None] * (index + 1 - len(bundle)))
    bundle[index] = gradient if bundle[index] is None else plus(bundle[index], gradient)


def _apart(results: Sequence[Any], kept: Any) -> list[Any]:
    """`results`, with copies of arrays that the graph keeps for the next `backward`, which nobody else may write."""
    arrays = {id(output[0] if output.__class__ is tuple else output._array) for output in kept if output is not None}
    return [r if r is None or id(r._array) not in arrays else r.clone() for r in results]


def _ancestors_of(wanted: dict[Any, Tensor], roots: list[Any]) -> set[Any]:
    """The nodes between `roots` and the `wanted` nodes: gradients of no others need to be computed."""
    seen = _reachable(roots)
    reached = seen & wanted.keys()
    for node in sorted(seen, key=_creation):  # parents come before their consumers
        if not reached.isdisjoint(node.parents):
            reached.add(node)
    return reached


def _reachable(roots: Sequence[Any]) -> set[Any]:
    """The nodes that gradients of `roots` can get to."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return seen


def _call_hooks(node: Any, gradient: Any, handed_out: dict[int, Any], run: Run) -> Any:
    for hook in sorted(node.hooks.values(), key=_is_retainer):
        token = current_run.set(run)
        try:
            replacement = hook(gradient)
        finally:
            current_run.reset(token)
        if replacement is not None:
            if not isinstance(replacement, Tensor) or replacement._array.shape != gradient._array.shape:
                raise RuntimeError(f"a hook on the output of op '{node.op}' must return None or a tensor of shape "
                                   f"{list(gradient._array.shape)}")
            gradient = replacement
        # The hook may have kept what it saw.
        handed_out[id(_root(gradient._array))] = gradient
    return gradient


def _is_retainer(hook: Any) -> bool:
    return hook.__class__ is Retainer


def _call_pre_hooks(node: GraphNode, g: Any, handed_out: dict[int, Any]) -> Any:
    """The gradient `g` of the outputs of `node`, a list if there are several, as the hooks of `Node.register_prehook` leave it;
    None if none is left.
    """
    several = g.__class__ is list
    outputs: tuple[Any, ...] = tuple(g) if several else (g,)
    for hook in list(node.node_hooks.before.values()):
        changed = hook(outputs)
        if changed is not None:
            _check_replacement(changed, outputs)
        for gradient in (*outputs, *(changed or ())):
            if gradient is not None:  # the hook may have kept what it saw
                handed_out[id(_root(gradient._array))] = gradient
        outputs = outputs if changed is None else changed
    if all(gradient is None for gradient in outputs):
        return None
    return list(outputs) if several else outputs[0]


def _call_post_hooks(node: Node, results: Sequence[Any], g: Any, handed_out: dict[int, Any]) -> Sequence[Any]:
    """The `results` of a node whose gradients user code sees, as the hooks of `Node.register_hook` leave them."""
    outputs = tuple(g) if g.__class__ is list else (g,)
    for hook in list(node.node_hooks.after.values()) if hasattr(node, "node_hooks") else ():
        changed = hook(tuple(results), outputs)
        if changed is not None:
            _check_replacement(changed, results)
            results = changed
    for gradient in (*results, *outputs):
        if gradient is not None:
            handed_out[id(_root(gradient._array))] = gradient
    return results


def _check_replacement(changed: Any, results: Sequence[Any]) -> None:
    """Raise TypeError or RuntimeError unless a hook returned gradients that can stand in the place of `results`."""
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(results):
        raise RuntimeError(f"a hook has returned an incorrect number of values (got {len(changed)}, but expected "
                           f"{len(results)})")
    for new, old in zip(changed, results, strict=True):
        if new is None:
            continue
        if not isinstance(new, Tensor):
            raise TypeError(f"expected a Tensor or None, but hook returned '{type(new).__name__}'")
        if old is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        if (new.shape, new.dtype, new.device) != (old.shape, old.dtype, old.device):
            raise RuntimeError(f"a hook has replaced a gradient ({describe_one(old)}) by another kind of tensor "
                               f"({describe_one(new)})")


def _root(array: Any) -> Any:
    """The array that owns the memory."""
    return array if array.base is None else array.base


def _private(array: Any, handed_out: dict[int, Any], like: Any = None, or_like: Any = None) -> Any:
    """`array`, or a copy of it if somebody else holds its memory, or it does not lie as `like` does. That is row-major without
    gaps; what is given may lie in another order without gaps. Instead of row-major it may lie as `or_like` does.
    """
    root = array.base
    if root is None:
        root = array
    key = id(root)
    axes = None
    if array.__class__ in versions.kinds and array._c_contiguous and key not in handed_out and (like is None or (
            like.__class__ is array.__class__ and like._c_contiguous)):  # the flags of CuPy's arrays take five times as long
        handed_out[key] = root
        return array
    if or_like is not None and not array.flags.c_contiguous:
        like = or_like
    if like is not None and not like.flags.c_contiguous and like.shape == array.shape:
        axes = memory_axes(like)
        if not like.transpose(axes).flags.c_contiguous:
            axes = None
    ordered = array if axes is None else backends.run("transpose", (array,), {"axes": axes})
    if key in handed_out or not ordered.flags.c_contiguous:
        array = backends.run("copy", (ordered,))
        if axes is not None:
            array = backends.run("transpose", (array,), {"axes": inverse(axes)})
        root = _root(array)
        key = id(root)
    handed_out[key] = root
    return array


@writes("old")
def _accumulate(tensor: Tensor, gradient: Tensor, create_graph: bool, handed_out: dict[int, Any]) -> None:
    """Add `gradient` to `tensor.grad`, in place if there is one and it is not part of a graph."""
    old, given = tensor._grad, gradient
    if create_graph:
        if old is not None:
            gradient = plus(old, gradient)
        elif id(_root(gradient._array)) in handed_out:
            gradient = gradient.clone()
        handed_out[id(_root(gradient._array))] = gradient
        tensor._grad = gradient
    elif old is None:
        tensor._grad = wrap(_private(gradient._array, handed_out, tensor._array))
    elif old._node is not None:
        tensor._grad = plus(old.detach(), gradient)
    elif old._array.__class__ is not gradient._array.__class__ and hasattr(old._array, "is_sparse"):
        tensor._grad = plus(old, gradient)
    else:
        if clock.any_guarded:
            refuse_write(old)
        if old._array.__class__ is gradient._array.__class__:
            backends.run("add", (old._array, gradient._array), {"out": old._array})
            version_box(old).bump()
            if clock.any_guarded:
                follow(old)
        else:
            old.add_(gradient)
    leaf = tensor._node
    if leaf.__class__ is Leaf and leaf.post_accumulate_hooks:
        for hook in list(leaf.post_accumulate_hooks.values()):
            result = hook(tensor)
            if result is not None:
                raise TypeError(f"a hook of register_post_accumulate_grad_hook must return None, not {type(result).__name__}")
        for hook in list(leaf.node_hooks.after.values()) if hasattr(leaf, "node_hooks") else ():
            changed = hook((), (given,))
            if changed is not None:
                _check_replacement(changed, ())


def _check_versions(node: Node, vjp: Any) -> None:
    """Raise RuntimeError if a tensor that `vjp` needs has been written since it was saved."""
    kept, seq = node.kept, node.seq
    contents = get_referents(*(vjp.__closure__ or ()))  # of the cells, in a quarter of the time of a loop over them
    if kept.__class__ is tuple:
        contents.append(kept)
    for content in contents:
        for tensor in content if content.__class__ is tuple else (content,):
            if isinstance(tensor, Tensor):
                box = tensor._version_box
                if box is not None and box.stamp > seq:
                    raise RuntimeError(_modified(node, tensor, "input"))
    if kept.__class__ is list:
        for number, output in enumerate(kept):
            box = output[1] if output.__class__ is tuple else None if output is None else output._version_box
            if box is not None and box.stamp > seq:
                outputs = node.output()
                raise RuntimeError(_modified(node, outputs[number] if outputs.__class__ is tuple else outputs, "output"))


def _modified(node: Node, tensor: Tensor, role: str) -> str:
    origin = saved_from(tensor)
    then = "the op used it earlier" if origin is None else f"the op '{node.op}' saved version {origin[1]}"
    return ("one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{role} {describe_one(tensor)} of op '{node.op}' is at version {write_count(tensor)}; {then}. "
            "Write out of place, or clone() it before the op.")


def _check_nan(node: Node, results: Sequence[Any]) -> None:
    for number, gradient in enumerate(results):
        if gradient is not None and bool((gradient != gradient).any().item()):
            trace = (node.graph_info or {}).get("traceback_")
            where = "" if trace is None else "\nThe op was called here:\n" + "".join(trace)
            raise RuntimeError(f"op '{node.op}' returned nan values in the gradient of its input {number}.{where}")


def _tensor_backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
                     create_graph: bool = False, inputs: Tensors | None = None) -> None:
    """Accumulate the gradients of this tensor into `.grad` of the leaves; see `lucid.autograd.backward`.

    >>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    Tensor([2.0, 4.0], requires_grad=False)
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = _tensor_backward  # type: ignore[assignment, method-assign]
