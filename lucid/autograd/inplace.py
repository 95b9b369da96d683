"""In-place writes: into the memory of a tensor, into its version, and into the graph of everything that views it."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .. import _clock as clock
from .. import _dtypes
from .._writers import writes
from ..backends import TABLES, run
from ..backends.memory_format import contiguous_format, inverse, memory_axes
from ..tensor import Tensor, record_update, succeed, version_box, wrap
from ..tensor.nodes import Leaf
from .errors import explain, type_name
from .grad_mode import GRAD, HOOKS, LEVELS, enable_grad
from .grad_mode import mode as grad_mode
from .levels import add_tangents, lifted
from .node import Node, check_inference
from .op import Op
from .overwrite import Overwriting, keep_elements, refuse_overlap, refuse_write
from .saving import pack
from .views import Unwritable, follow, register_once


def write(target: Tensor, compute: Callable[..., Tensor], /, *arguments: Any, single: bool = False, **keywords: Any) -> Tensor:
    """Replace the elements of `target` by ``compute(target, *arguments, **keywords)``, as an operation of the graph, and return
    `target`.

    `compute` gets a tensor with the old history; `single` says that it passes that to a single operation, the last that can fail,
    which then writes its result straight into the memory of `target` if its kernel can. Raises RuntimeError, with nothing
    changed, for a leaf that requires grad (or a view of one), for a result of another shape, and for a dtype that cannot be cast
    back.
    """
    recording = grad_mode.get() & GRAD
    if recording and (target._node is not None or target._view is not None):
        refuse_leaf(target, arguments)
    if clock.any_guarded:
        refuse_write(target)
    box = target._version_box or version_box(target)
    before = box.count
    if single:
        old: Tensor = Overwriting.of(target, target)
    else:
        old = wrap(target._array, target._node)
        old._version_box = box
    result = compute(old, *arguments, **keywords)
    if box.count == before:
        check_result(target, result._array.shape, result._array.dtype)
        if recording:
            reference = weakref.ref(old)
            del old
            keep_elements(reference())
        store(target, result._array)
    if recording and (result._node is not None or target._node is not None):
        node = None if result is target else result._node
        if node is not None and result._array.dtype != target._array.dtype:
            node = result.to(target.dtype)._node
        if node is None:  # what does not depend on the old elements requires grad nevertheless: its gradient is zero
            node = Node("overwrite", (target._node,), lambda g, y: (g.new_zeros(g.shape),))
        rebase(target, node)
    return target


@writes("target")
def update(target: Tensor, op: Op, *others: Any, **attributes: Any) -> Tensor:
    """``target = op(target, *others, **attributes)``, computed in the memory of `target` without a copy of it.

    The kernel must accept its first argument as `out`, write nothing if it raises, and return the shape and dtype of that
    argument; the rule must not save `target`, whose old elements are gone. Raises RuntimeError, with nothing changed, as
    `write` does.
    """
    array, flags = target._array, grad_mode.get()  # one that is uninitialized raises before anything else
    if flags & GRAD and (target._node is not None or target._view is not None):
        refuse_leaf(target, others)
    if clock.any_guarded:
        refuse_write(target)
    if op.name != "fill" and 0 in array.strides:  # with one number everywhere it does not matter which elements share memory
        refuse_overlap(array)
    if flags & LEVELS:
        add_tangents(target, others)
        array = target._array
    arrays, tracked = [array], target._node is not None
    for t in others:
        if isinstance(t, Tensor):
            arrays.append(t._array)
            if t._node is not None:
                tracked = _dtypes.is_differentiable(array.dtype)
        else:
            arrays.append(t)
    try:
        TABLES[array.__class__][op.name](*arrays, out=array, **attributes)
    except MemoryError:
        run(op.name, arrays, {**attributes, "out": array})
    except Exception as error:
        raise explain(f"{op.name}_", (target, *others), error) from error
    box = target._version_box or version_box(target)
    box.count += 1  # `bump`, without the call
    box.stamp = clock.last_write = clock.tick()
    if clock.any_guarded:
        follow(target)
    if tracked and flags & GRAD:
        parents = [target._node, *[t._node if isinstance(t, Tensor) else None for t in others]]
        vjp = op.rule([p is not None for p in parents], target, *others, **attributes)  # type: ignore[misc]
        if flags & LEVELS:
            parents = lifted(parents, target._array)
        check_inference(vjp, op.name)
        node = Node(op.name, parents, vjp)
        if flags & HOOKS:
            pack(node)
        rebase(target, node)
    return target


@writes("counter")
def increment(counter: Tensor) -> None:
    """``counter.add_(1)`` for a count of something, in a tenth of the time if it has no gradient."""
    if counter._node is not None or counter._view is not None:
        counter.add_(1)
        return
    run("increment", (counter._array,))
    record_update(counter)


@writes("target")
def store(target: Tensor, array: Any) -> None:
    """Copy `array` into the memory of `target` and record the write."""
    if clock.any_guarded:
        refuse_write(target)
    if grad_mode.get() & LEVELS:
        add_tangents(target, (array,))
    out = target._array
    if 0 in out.strides:
        refuse_overlap(out)
    try:
        TABLES[array.__class__]["copy"](array, out=out)
    except MemoryError:
        run("copy", (array,), {"out": out})
    except Exception as error:
        raise explain("copy_", (target, wrap(array)), error) from error
    box = target._version_box or version_box(target)
    box.count += 1  # `bump`, without the call
    box.stamp = clock.last_write = clock.tick()
    if clock.any_guarded:
        follow(target)


def check_result(target: Tensor, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise RuntimeError if a result of `shape` and `dtype` cannot be written into `target`."""
    if shape != target._array.shape:
        raise RuntimeError(f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(shape)}")
    if dtype != target._array.dtype and _dtypes.CATEGORY[dtype] > _dtypes.CATEGORY[target._array.dtype]:
        raise RuntimeError(f"result type {type_name(dtype)} can't be cast to the desired output type "
                           f"{type_name(target._array.dtype)}")


def refuse_leaf(target: Tensor, operands: Iterable[Any] = ()) -> None:
    """Raise RuntimeError if a write of `operands` to `target` would be a write to a leaf that requires grad, or one of which the
    history cannot be told.
    """
    if target._node.__class__ is Leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if target._view is not None and target._view[0]._version_box is not target._version_box:
        target._view = None  # the base has been given other memory since: a moved parameter, a new value of a buffer
    if target._view is not None:
        base, replay = target._view
        if base._node.__class__ is Leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if replay.__class__ is Unwritable and any(
                isinstance(t, Tensor) and t._node is not None for t in (target, base, *operands)):
            replay(base)


def _age(view: Tensor) -> int:
    """When the history of a view began."""
    return 0 if view._node is None else int(view._node.seq)


def rebase(target: Tensor, node: Any) -> None:
    """Give `target` the history `node`, and its base and all live views of that memory a history that contains it."""
    if target._view is None:
        base = target
        succeed(target, node)
    else:
        base, replay = target._view
        if replay.__class__ is Unwritable:  # what is written requires grad, and `refuse_leaf` has not seen it
            replay(base)
        axes = memory_axes(base._array)

        def vjp(g: Tensor, y: Any) -> tuple[Tensor, Tensor]:
            # Laid out in memory as the base is: some views are of memory, not of elements.
            rest = g.permute(axes).clone(memory_format=contiguous_format).permute(inverse(axes))
            replay(rest).zero_()
            return rest, replay(g)

        parents: Any = (base._node, node)
        if grad_mode.get() & LEVELS:
            parents = lifted(parents, base._array)
        succeed(base, Node("view_write", parents, vjp))
    box = version_box(base)
    if target is not base:
        register_once(box, target)
    with enable_grad():
        views = [view for reference in box.views or () if (view := reference()) is not None]
        if len(views) > 1:
            views.sort(key=_age)  # in a set they stand as their addresses tell, in each run otherwise
        for view in views:
            # A view of other tensors over this memory (detached ones, what buffers follow no more) has a history of its own.
            if view._view is not None and view._view[0] is base:
                again = view._view[1]
                succeed(view, again.lost(base) if again.__class__ is Unwritable else again(base)._node)


def bump_all(tensors: Iterable[Tensor]) -> None:
    """Record one write to each of several tensors, which is done."""
    tensors = list(tensors)
    clock.last_write = now = clock.tick()
    for box in [tensor._version_box or version_box(tensor) for tensor in tensors]:
        box.count += 1
        box.stamp = now
    if clock.any_guarded:
        for tensor in tensors:
            follow(tensor)
