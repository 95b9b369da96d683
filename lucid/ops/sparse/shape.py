"""Transposition, joining and selecting."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._layout import Layout
from ...autograd.grad_mode import no_grad
from ...autograd.sparse_rules import rule
from ...backends.sparse import CompressedArray, CooArray
from ...tensor import Tensor, wrap
from ..manipulation.joining import cat, stack
from .coalescing import coalesced
from .parts import coordinates, is_sparse, members, recorded, starts
from .values import assembled, stored

_OTHER = {Layout.sparse_csr: Layout.sparse_csc, Layout.sparse_csc: Layout.sparse_csr}


def permuted(input: Tensor, axes: Sequence[int]) -> Tensor:
    """The dimensions in another order; sparse ones stay before dense ones."""
    array = input._array
    back = tuple(sorted(range(len(axes)), key=list(axes).__getitem__))
    shape = tuple([array.shape[axis] for axis in axes])
    if array.__class__ is CompressedArray:
        if tuple(axes) == (0, 1):
            return input
        found: Any = CompressedArray(array.compressed, array.plain, array.values, shape, _OTHER[array.sparse_layout])
    else:
        sparse = array.indices.shape[0]
        if any((axis < sparse) != (place < sparse) for place, axis in enumerate(axes)):
            raise RuntimeError("transpose: sparse and dense dimensions of a sparse tensor cannot change places")
        with no_grad():
            indices = wrap(array.indices)[list(axes[:sparse])]
            values = wrap(array.values).permute(0, *[axis - sparse + 1 for axis in axes[sparse:]]).contiguous()
            in_order = array.coalesced and tuple(axes[:sparse]) == tuple(range(sparse))
            found = CooArray(indices._array, values._array, shape, in_order)
    return recorded("transpose", found, (input,), lambda g, y: (g.permute(back),))


def transposed(input: Tensor) -> Tensor:
    """A matrix with its dimensions exchanged."""
    return permuted(input, (1, 0))


@rule("transpose")
def _transpose(input: Tensor, *, axes: Sequence[int]) -> Tensor:
    return permuted(input, tuple(axes))


@rule("concatenate")
def _concatenate(*tensors: Tensor, axis: int) -> Tensor:
    if not all(is_sparse(t) and t._array.__class__ is CooArray for t in tensors):
        raise RuntimeError("Concatenating sparse tensors, but a dense or compressed tensor was found")
    sparse = tensors[0]._array.indices.shape[0]
    if any(t._array.indices.shape[0] != sparse for t in tensors):
        raise RuntimeError("All tensors must have the same sparse and dense dims to concatenate")
    if axis >= sparse:
        raise NotImplementedError("op 'cat' has no rule for dense dimensions of sparse tensors")
    sources = [coalesced(t) for t in tensors]
    parts, before = [], 0
    for source in sources:
        indices = wrap(source._array.indices)
        if before:
            indices = indices.clone()
            indices[axis] += before
        parts.append(indices)
        before += source.shape[axis]
    shape = list(sources[0].shape)
    shape[axis] = before
    places = CooArray(cat(parts, 1)._array, sources[0]._array.values[:0], tuple(shape), axis == 0)
    return assembled(cat([stored(source) for source in sources]), places)


@rule("stack")
def _stack(*tensors: Tensor, axis: int) -> Tensor:
    return _concatenate(*[with_dimension(t, axis) for t in tensors], axis=axis)


def with_dimension(input: Tensor, axis: int) -> Tensor:
    """`input` with a dimension of length 1 among its sparse ones."""
    array = input._array
    if array.__class__ is not CooArray or axis > array.indices.shape[0]:
        raise NotImplementedError("op 'unsqueeze' has no rule for compressed tensors and dense dimensions of sparse ones")
    rows = list(coordinates(array))
    rows.insert(axis, rows[0] * 0 if rows else wrap(array.indices).new_zeros(array.values.shape[0]))
    found = CooArray(stack(rows)._array, array.values, (*array.shape[:axis], 1, *array.shape[axis:]), array.coalesced)
    return recorded("unsqueeze", found, (input,), lambda g, y: (_without_dimension(g, axis),))


def _without_dimension(g: Tensor, axis: int) -> Tensor:
    return selected(g, axis, 0) if is_sparse(g) else g.squeeze(axis)


def selected(input: Tensor, axis: int, index: int) -> Tensor:
    """The slice `index` along a dimension: sparse, or dense if no sparse dimension is left."""
    source = coalesced(input)
    array = source._array
    if array.__class__ is not CooArray:
        raise NotImplementedError("op 'select' has no rule for compressed tensors: use to_sparse() or to_dense() first")
    sparse = array.indices.shape[0]
    shape = (*array.shape[:axis], *array.shape[axis + 1:])
    if axis >= sparse:
        return assembled(stored(source).select(axis - sparse + 1, index), CooArray(array.indices, array.values[:0], shape, True))
    rows = list(coordinates(array))
    kept = (rows.pop(axis) == index).nonzero().reshape(-1)
    values = stored(source)[kept]
    if not rows:
        return values.sum(0)
    return assembled(values, CooArray(stack([row[kept] for row in rows])._array, array.values[:0], shape, True))


def sliced(input: Tensor, axis: int, kept: range) -> Tensor:
    """The slices of a range along a dimension."""
    if kept == range(input.shape[axis]):
        return input
    if not is_sparse(input):
        return input.narrow(axis, kept.start, kept.stop - kept.start)[(slice(None),) * axis + (slice(None, None, kept.step),)]
    source = coalesced(input)
    array = source._array
    if array.__class__ is not CooArray:
        raise NotImplementedError("op 'slice' has no rule for compressed tensors: use to_sparse() or to_dense() first")
    sparse = array.indices.shape[0]
    shape = (*array.shape[:axis], len(kept), *array.shape[axis + 1:])
    if axis >= sparse:
        values = stored(source)[(slice(None),) * (axis - sparse + 1) + (slice(kept.start, kept.stop, kept.step),)]
        return assembled(values, CooArray(array.indices, array.values[:0], shape, True))
    rows = list(coordinates(array))
    offset = rows[axis] - kept.start
    inside = ((offset >= 0) & (rows[axis] < kept.stop) & (offset % kept.step == 0)).nonzero().reshape(-1)
    rows[axis] = offset.div(kept.step, rounding_mode="floor")
    return assembled(stored(source)[inside], CooArray(stack([row[inside] for row in rows])._array, array.values[:0], shape, True))


def index_selected(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices that `index` names along a dimension."""
    source = coalesced(input)
    array = source._array
    if array.__class__ is not CooArray:
        raise NotImplementedError("op 'index_select' has no rule for compressed tensors: use to_sparse() or to_dense() first")
    sparse, count = array.indices.shape[0], index._array.shape[0]
    shape = (*array.shape[:axis], count, *array.shape[axis + 1:])
    if axis >= sparse:
        values = stored(source).index_select(axis - sparse + 1, index)
        return assembled(values, CooArray(array.indices, array.values[:0], shape, True))
    rows = list(coordinates(array))
    order = rows[axis].argsort()
    new, kept = members(starts(rows[axis], array.shape[axis]), index.long())
    kept = order[kept]
    indices = [new if place == axis else row[kept] for place, row in enumerate(rows)]
    places = CooArray(stack(indices)._array, array.values[:0], shape, axis == 0)
    return coalesced(assembled(stored(source)[kept], places)) if axis else assembled(stored(source)[kept], places)


@rule("index_select")
def _index_select(input: Tensor, index: Tensor, *, axis: int) -> Tensor:
    return index_selected(input, axis, index)


@rule("reshape")
def _reshape(input: Tensor, *, shape: Sequence[int]) -> Tensor:
    """`unsqueeze`: one more dimension of length 1."""
    old, new = tuple(input.shape), tuple(shape)
    for axis, length in enumerate(new):
        if length == 1 and (*new[:axis], *new[axis + 1:]) == old:
            return with_dimension(input, axis)
    raise RuntimeError("reshape is not implemented for sparse tensors")


@rule("getitem")
def _getitem(input: Tensor, *, index: Any, **attributes: Any) -> Tensor:
    entries = list(index)
    place = next((place for place, entry in enumerate(entries) if entry is Ellipsis), None)
    if place is not None:
        missing = input.ndim - len([entry for entry in entries if entry is not None and entry is not Ellipsis])
        entries[place:place + 1] = [slice(None)] * missing
    axis = 0
    for entry in entries:
        if entry is None:
            input = with_dimension(input, axis)
            axis += 1
        elif isinstance(entry, slice):
            input = sliced(input, axis, range(*entry.indices(input.shape[axis])))
            axis += 1
        elif isinstance(entry, int):
            length = input.shape[axis]
            if not -length <= entry < length:
                raise IndexError(f"index {entry} is out of bounds for dimension {axis} with size {length}")
            input = selected(input, axis, entry % length)
        else:
            raise NotImplementedError("op 'getitem' has a rule for sparse tensors for numbers and slices only. Use "
                                      "index_select() or to_dense().")
    return input
