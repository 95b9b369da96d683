"""Reading and writing elements by index: `x[...]` and `index_put`.

An index is split in two, as PyTorch does: a basic part of integers, slices, None and Ellipsis, which gives a view, and
then an advanced part of index and mask arrays, which picks elements of that view. An index out of range raises
IndexError: on the CPU at once, with nothing changed; on a GPU at the next point where the host waits for the device, and
what was computed with it is undefined (CuPy wraps around).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtypes
from ..._namespace.foreign import defer
from ...autograd.accumulation import SliceVjp
from ...autograd.calls import single_op, view_op
from ...autograd.errors import type_name
from ...autograd.inplace import update
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import fitted, reduce_to, require_tensor, room_for, shape_of
from .._out import accepts_out
from ..elementwise.where import where
from .index import (
    FULL,
    check_bounds,
    expand_masks,
    index_tensor,
    is_basic,
    is_mask,
    own,
    refuse_byte_mask,
    require_long,
    restate,
    split_index,
)

METHODS = ("index_put", "index_put_", "take", "put", "put_")


def _slice_rule(needs: Any, x: Tensor, *, index: Any) -> Vjp:
    return SliceVjp(x, index, _place_slice)


def _pick_rule(needs: Any, x: Tensor, *, index: Any) -> Vjp:
    shape, unique = x._array.shape, is_mask(index)
    return lambda g, y: (_place_picked(g, shape=shape, index=index, unique=unique),)


def _put_rule(needs: Any, x: Tensor, values: Any, *, index: Any, accumulate: bool = False) -> Vjp:
    needs_x, needs_values = needs
    shape, dtype = shape_of(values), values._array.dtype if isinstance(values, Tensor) else None
    basic = is_basic(index)

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        to_x = to_values = None
        if needs_x:
            to_x = g if accumulate else put_op(g, 0, index=index)
        if needs_values:
            picked = _slice(g, index=index) if basic else _pick(g, index=index)
            # Values may have more leading dimensions of length 1 than the elements that they are written to.
            lead = len(shape) - picked._array.ndim  # type: ignore[arg-type]
            to_values = reduce_to(picked, shape[max(lead, 0):]).reshape(shape).to(dtype)  # type: ignore[index]
        return to_x, to_values

    return vjp


_slice = view_op("getitem", _slice_rule)
_pick = single_op("getitem", _pick_rule)
_place_slice = single_op("scatter_new", lambda needs, g, *, shape, index, unique: lambda gg, y: (_slice(gg, index=index),))
_place_picked = single_op("scatter_new", lambda needs, g, *, shape, index, unique: lambda gg, y: (_pick(gg, index=index),))
put_op = single_op("index_put", _put_rule)


def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis; with index or mask arrays or lists, a copy.

    Raises IndexError for an index out of range and ValueError for a negative step.
    """
    if index.__class__ is int and (shape := self._array.shape) and -shape[0] <= index < shape[0]:
        return _slice(self, index=(index, Ellipsis))
    try:
        basic, advanced = split_index(self, index)
    except Exception:
        return defer("__getitem__", self, index)
    if basic is None and advanced is None:
        return _slice(self, index=(Ellipsis,))
    result = self if basic is None else _slice(self, index=basic)
    if advanced is not None:
        try:
            result = _pick(result, index=own(advanced, result))
        except IndexError as error:
            raise restate(error) from None
    return result


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, written straight into the memory; `value` is broadcast and cast.

    Differentiable with respect to the tensor and the value. Raises IndexError with nothing changed for an index out of
    range, RuntimeError for a value that does not broadcast and for a leaf that requires grad.
    """
    try:
        basic, advanced = split_index(self, index)
    except Exception:
        defer("__setitem__", self, index, value)
        return
    if advanced is not None and (not isinstance(value, Tensor) or value._array.size == 1) and is_mask(advanced):
        refuse_byte_mask(index if index.__class__ is tuple else (index,))
    if isinstance(value, Tensor):
        if value._array.__class__ is not self._array.__class__ and (advanced is None or value._array.ndim == 0):
            value = value.to(self.device)
        if value._array.dtype is not self._array.dtype and _dtypes.STORED_CLASSES & {
                value._array.dtype.__class__, self._array.dtype.__class__}:
            value = value.to(self.dtype)
        if advanced is not None and value._array.shape[:1] == (1,):
            # Leading dimensions of length 1 are dropped: not every kernel broadcasts to fewer dimensions.
            lead = next((i for i, n in enumerate(value._array.shape) if n != 1), value._array.ndim)
            value = value.reshape(value._array.shape[lead:])
    elif value.__class__ not in (int, float, bool) or self._array.dtype.kind == "V":
        try:
            value = self.new_tensor(value)
        except Exception:
            defer("__setitem__", self, index, value)
            return
    else:
        value = fitted(value, self._array.dtype, halves=False)
    # Where elements share memory, those of the part may not.
    if basic is not None and (advanced is not None or 0 in self._array.strides):
        self, basic = _slice(self, index=basic), None
    write_at(self, (basic or (Ellipsis,)) if advanced is None else advanced, value)


def write_at(target: Tensor, index: tuple[Any, ...], values: Any, accumulate: bool = False) -> Tensor:
    """Write `values` at a basic or advanced index of `target`. Raises as `setitem` does."""
    if not is_basic(index):
        index = own(index, target, values)
        if target.is_gpu and isinstance(values, Tensor) and not _is_same_at_mask(index, target, values):
            index = tuple(expand_masks(index))  # CuPy writes only scalars by mask
    try:
        return update(target, put_op, values, index=index, **({"accumulate": True} if accumulate else {}))
    except IndexError as error:
        raise restate(error) from None


def _is_same_at_mask(index: tuple[Any, ...], target: Tensor, values: Tensor) -> bool:
    """Whether `values` are the same at each element of the mask that is the index: then nobody waits for how many there are."""
    shape = values._array.shape
    masks = [(dim, item) for dim, item in enumerate(index) if hasattr(item, "dtype") and item.dtype.kind == "b"]
    if not shape or len(masks) != 1:
        return not shape
    behind = target._array.shape[masks[0][0] + masks[0][1].ndim:]
    return len(shape) <= len(behind) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(behind), strict=False))


def index_put_(self: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """``self[indices] = values``, or with `accumulate` ``+=``, where repeated indices add up.

    Raises IndexError out of range, RuntimeError if the dtypes differ.
    """
    if values._array.dtype != self._array.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{type_name(self.dtype)} for the destination and {type_name(values.dtype)} for the source.")
    if not all(isinstance(index, Tensor) for index in indices) or not indices:
        raise TypeError("index_put_(): indices must be tensors")
    # Indices without dimensions are arrays here, not integers: those give views, to which nothing can be added at an index.
    arrays = tuple([i.reshape(1) if i._array.ndim == 0 and i._array.dtype.kind == "i" else i for i in indices])
    basic, advanced = split_index(self, arrays)
    if values._array.size == 1 and not accumulate:
        refuse_byte_mask(arrays)
    target = self if basic is None else _slice(self, index=basic)  # a bool without dimensions has made a new one
    if accumulate:
        advanced = tuple(expand_masks(advanced))  # type: ignore[arg-type]
        if values._array.ndim == 0 or values.is_gpu:  # adding at an index does not broadcast on every backend
            values = values.expand(_slice_shape(target, advanced))
    write_at(target, advanced, values, accumulate)  # type: ignore[arg-type]
    return self


def _slice_shape(x: Tensor, index: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of ``x[index]``, found without touching the elements."""
    stand_in = np.broadcast_to(np.int8(0), x._array.shape)
    placed = tuple(item if item is FULL else np.zeros(item.shape, np.int64) for item in index)
    return tuple(stand_in[placed].shape)


def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """`index_put_` into a copy of `input`.

    >>> lucid.index_put(lucid.zeros(3), (lucid.tensor([0, 0]),), lucid.tensor([1.0, 2.0]), accumulate=True)
    Tensor([3.0, 0.0, 0.0], requires_grad=False)
    """
    return index_put_(room_for(input, values, *indices), indices, values, accumulate)


@accepts_out
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions `index` of the flattened tensor, in the shape of `index`; -1 is the last.

    >>> lucid.take(lucid.tensor([[1, 2], [3, 4]]), lucid.tensor([3, 0]))
    Tensor([4, 1], requires_grad=False)
    """
    require_long("take", index)
    index = index_tensor("take", index, require_tensor("take", input))
    size = input._array.size
    check_bounds(index._array, -size, size, "out of range: tried to access index {value} on a tensor of {limit} elements.")
    flat = input if input._array.ndim == 1 else input.reshape(-1)
    return _pick(flat, index=own((index._array,), input))


SPECIAL_METHODS = {"__getitem__": getitem, "__setitem__": setitem}


def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write the elements of `source` to the positions `index` of this tensor, counted as if it were flat; -1 is the last.

    With `accumulate` they are added; repeated indices add up. Raises IndexError out of range, RuntimeError for other dtypes
    or numbers of elements.
    """
    require_long("put_", index)
    index = index_tensor("put_", index, self)
    if source.dtype != self.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{type_name(self.dtype)} and source.dtype = {type_name(source.dtype)}")
    if index.numel() != source.numel():
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                         f"{source.numel()}, index.numel() = {index.numel()}")
    size = self._array.size
    check_bounds(index._array, -size, size, "out of range: tried to access index {value} on a tensor of {limit} elements.")
    if index.numel() == 0:
        return self
    if self.ndim != 1 and self.is_contiguous():
        self.reshape(-1).put_(index, source, accumulate)  # a view
        return self
    places, source = [index.reshape(-1).to(_dtypes.int64)], source.reshape(-1)
    if self.ndim > 1:  # not one vector in memory
        rest = where(places[0] < 0, places[0] + size, places[0])
        places = []
        for length in reversed(self._array.shape):
            places.insert(0, rest % length)
            rest = rest // length
    if accumulate:
        return index_put_(self, places, source, True)
    return write_at(self, tuple(place._array for place in places), source)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """`put_` into a copy of `input`.

    >>> lucid.Tensor.put(lucid.zeros(2, 2), lucid.tensor([3, 0]), lucid.tensor([1.0, 2.0]))
    Tensor([[2.0, 0.0],
            [0.0, 1.0]], requires_grad=False)
    """
    return put_(room_for(require_tensor("put", input), index, source), index, source, accumulate)


register(__name__)
