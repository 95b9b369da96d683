"""Views by strides (`as_strided`, `unfold`) and methods that change the shape of a tensor in place (`t_`, `squeeze_`)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.calls import single_op
from ...autograd.grad_mode import GRAD
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.inplace import refuse_leaf
from ...autograd.op import Op, Vjp
from ...autograd.overwrite import refuse_write
from ...autograd.views import Unwritable, is_conjugate
from ...backends import storage
from ...backends.memory_format import inverse, memory_axes
from ...backends.storage import reach
from ...tensor import Tensor, register_view, version_box, wrap
from .._methods import register
from .._operands import canonical_dim, integers, physical, reduce_to, require_tensor, room_for
from ..creation.creation import arange
from .permutation import swapaxes, t, transpose
from .shape import squeeze, unsqueeze

METHODS = ("as_strided", "as_strided_scatter", "storage_offset")

Steps = tuple[int, ...]


def storage_offset(self: Tensor) -> int:
    """How many elements lie in memory between the first of the array that owns it and the first of this tensor.

    >>> lucid.arange(6)[2:].storage_offset()
    2
    """
    array = physical(self._array)
    part = storage.part(storage.owner(array), array) if not self.is_meta else None
    return 0 if part is None else part.offset // self.itemsize


def _positions(shape: Steps, strides: Steps, first: int, device: Any) -> Tensor:
    """Where each element of a tensor lies in memory, counted from `first`."""
    total = arange(first, first + 1, device=device).reshape((1,) * len(shape))
    for dim, (length, step) in enumerate(zip(shape, strides, strict=True)):
        total = total + (arange(length, device=device) * step).reshape([-1 if d == dim else 1 for d in range(len(shape))])
    return total.expand(shape).reshape(-1)


def _as_strided_rule(needs: Any, x: Tensor, *, shape: Steps, strides: Steps, offset: int) -> Vjp:
    own_shape, own_strides = x._array.shape, x.stride()

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        if 0 in shape or 0 in own_shape:
            return (g.new_zeros(own_shape),)
        own_low, own_high = reach(own_shape, own_strides)
        low, high = reach(shape, strides)
        first = min(own_low, low + offset)
        memory = g.new_zeros(max(own_high, high + offset) + 1 - first)
        memory = memory.index_add(0, _positions(shape, strides, offset - first, g.device), g.reshape(-1))
        mine = _positions(own_shape, own_strides, -first, g.device)
        if 0 in own_strides:  # elements of `x` that share memory share the gradient
            shares = memory.detach().new_zeros(memory.shape).index_add(0, mine, g.new_ones(mine.shape))
            memory = memory / shares.clamp(min=1)
        return (memory.index_select(0, mine).reshape(own_shape),)

    return vjp


class _StridedOp(Op):
    """`as_strided`: a view that is computed again not from its base's elements but from its memory."""

    __slots__ = ()

    def share(self, out: Tensor, base: Tensor, attributes: dict[str, Any]) -> None:
        box = out._version_box = version_box(base)
        root = base if base._view is None else base._view[0]
        if base._view is not None and base._view[1].__class__ is Unwritable:
            out._view = base._view
        else:
            out._view = (root, self._replay(root, base, attributes))
        if grad_mode.get() & GRAD:
            register_view(box, out)

    def _replay(self, root: Tensor, base: Tensor, attributes: dict[str, Any]) -> Callable[[Tensor], Tensor]:
        if is_conjugate(base):
            to_base = base._view[1]  # type: ignore[index]
            return lambda t: self(to_base(t), **attributes)
        strides, axes = root.stride(), memory_axes(root._array)
        if not root._array.transpose(axes).flags.c_contiguous:
            return Unwritable("Output of as_strided", "Its base has gaps in memory. clone() the base first.")
        here = dict(attributes, offset=attributes["offset"] + storage_offset(base) - storage_offset(root))

        def replay(t: Tensor) -> Tensor:
            if t.stride() != strides and t.numel():
                t = t.permute(axes).contiguous().permute(inverse(axes)) if axes else t
            return self(t, **here)

        return replay


_as_strided = _StridedOp("as_strided", _as_strided_rule, view=True)


def _windows_rule(needs: Any, x: Tensor, *, dim: int, size: int, step: int) -> Vjp:
    length = x._array.shape[dim]
    return lambda g, y: (_windows_grad(g, dim=dim, length=length, step=step),)


def _windows_grad_rule(needs: Any, g: Tensor, *, dim: int, length: int, step: int) -> Vjp:
    size = g._array.shape[-1]
    return lambda h, y: (_windows(h.contiguous(), dim=dim, size=size, step=step),)


class _WindowsOp(_StridedOp):
    """`windows`, computed again from the elements of its base: that CuPy gives memory other strides hides that it is a view."""

    __slots__ = ()

    def _replay(self, root: Tensor, base: Tensor, attributes: dict[str, Any]) -> Callable[[Tensor], Tensor]:
        to_base = None if base._view is None else base._view[1]
        return lambda t: self(t if to_base is None else to_base(t), **attributes)


_windows = _WindowsOp("windows", _windows_rule, view=True)
_windows_grad = single_op("windows_grad", _windows_grad_rule)


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the memory of `input` with lengths `size` and steps `stride`, counted in elements.

    `storage_offset` counts from the start of the memory; by default the view starts where `input` does. Elements may share
    memory; their gradients add up. Raises RuntimeError for negative steps and for what reaches out of the memory.

    >>> lucid.as_strided(lucid.arange(6), (2, 3), (1, 2))
    Tensor([[0, 2, 4],
            [1, 3, 5]], requires_grad=False)
    """
    array = require_tensor("as_strided", input)._array
    shape, strides = tuple(map(int, size)), tuple(map(int, stride))
    if len(shape) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(strides)} and {list(shape)}")
    if any(length < 0 for length in shape):
        raise RuntimeError(f"as_strided: sizes must not be negative, got {list(shape)}")
    if any(step < 0 for step in strides):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}")
    if storage_offset is not None and storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    here = globals()["storage_offset"](input) if array.size else 0
    return _as_strided(input, shape=shape, strides=strides, offset=0 if storage_offset is None else storage_offset - here)


def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
                       storage_offset: int | None = None) -> Tensor:
    """A copy of `input` with `src` written where ``as_strided(size, stride, storage_offset)`` would read.

    >>> lucid.as_strided_scatter(lucid.zeros(5), lucid.ones(2), (2,), (2,), 1)
    Tensor([0.0, 1.0, 0.0, 1.0, 0.0], requires_grad=False)
    """
    result = room_for(input, src)
    view = as_strided(result, size, stride, storage_offset)
    if view.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size "
                           f"= {list(view.shape)}")
    view.copy_(src)
    return result


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """The view of all windows of `size` elements along `dimension`, `step` apart: a dimension for the windows in the place of
    `dimension`, and one for their elements at the end.

    Raises RuntimeError for windows longer than the dimension and for a step that is not positive.

    >>> lucid.arange(5).unfold(0, size=3, step=2)
    Tensor([[0, 1, 2],
            [2, 3, 4]], requires_grad=False)
    """
    x = self if self.ndim else self.reshape(1)
    dim = canonical_dim(dimension, self.ndim)
    length = x._array.shape[dim]
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    view = _windows(x, dim=dim, size=size, step=step)
    return view if self.ndim else view.squeeze(0)


def overlap_add(windows: Tensor, length: int, step: int) -> Tensor:
    """The sums of windows along dimension 1, with their elements last, where `unfold` takes them from `length` elements."""
    return _windows_grad(windows, dim=1, length=length, step=step)


def sum_to_size(self: Tensor, *sizes: Any, size: Any = ()) -> Tensor:
    """The sum over the dimensions in which a tensor of `size` would be broadcast to this one. Raises RuntimeError otherwise.

    >>> lucid.ones(2, 3).sum_to_size(1, 3)
    Tensor([[2.0, 2.0, 2.0]], requires_grad=False)
    """
    wanted = integers(sizes or (size,))
    lead = self.ndim - len(wanted)
    if lead < 0 or any(n not in (1, m) for n, m in zip(wanted, self._array.shape[lead:], strict=True)):
        raise RuntimeError(f"size {list(wanted)} is not expandable to size {list(self.shape)}.")
    return reduce_to(self, wanted)


# ---- in place ----------------------------------------------------------------------------------------------------------
def reshaped_in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method that makes a tensor what `function`, which returns a view, makes of it."""
    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        refuse_write(self)
        if grad_mode.get() & GRAD:
            refuse_leaf(self)
        box = version_box(self)
        root = self
        dependent = [view for view in (reference() for reference in list(box.views or ())) if view is not None
                     and view._view is not None and view._view[0] is self]
        if dependent:
            # They are views of the tensor as it was, which lives on as the base of them all.
            root = wrap(self._array, self._node)
            root._version_box = box
            for view in dependent:
                view._view = (root, view._view[1])  # type: ignore[index]
        out = function(root, *args, **keywords)
        if out is not root:
            self._array, self._node = out._array, out._node
        if self._view is not None or dependent:
            self._view = out._view if out is not root else (root, lambda t: function(t, *args, **keywords))
            if dependent and grad_mode.get() & GRAD:
                register_view(box, self)
        box.bump()
        return self

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"`{function.__name__}` of this tensor itself: the memory stays, its shape changes."
    return method


SPECIAL_METHODS = {"unfold": unfold, "sum_to_size": sum_to_size}
SPECIAL_METHODS |= {f"{function.__name__ if name is None else name}_": reshaped_in_place(function) for function, name in (
    (squeeze, None), (unsqueeze, None), (transpose, None), (swapaxes, None), (transpose, "swapdims"), (t, None),
    (as_strided, None))}


register(__name__)
