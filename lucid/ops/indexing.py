"""Reading and writing elements by index: `x[...]`, gather and scatter, masks, sorting.

An index is split in two, as PyTorch does: a basic part of numbers, slices, None and Ellipsis, which gives a view, and
then an advanced part of index and mask arrays, which picks elements of that view. An index out of range raises
IndexError: on the CPU at once, with nothing changed; on a GPU at the next point where the host waits for the device, and
what was computed with it is undefined (CuPy wraps around).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes
from ..autograd.errors import type_name
from ..autograd.inplace import update, write
from ..autograd.op import Op, Pull
from ..tensor import Tensor, wrap
from ._index import (
    FULL,
    IndexBoundsError,
    beside,
    check_bounds,
    check_dim,
    expand_masks,
    is_basic,
    is_mask,
    own,
    restate,
    split_index,
)
from ._operands import array_api_names, canonical_dim, reduce_to, require_tensor, shape_of
from ._selection import ValuesIndices, selected_rule

METHODS = ("index_select", "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_add", "index_add_",
           "index_put", "index_put_", "index_fill", "index_fill_", "index_copy", "index_copy_", "masked_fill",
           "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_", "take_along_dim", "take", "nonzero",
           "sort", "argsort", "topk")


# ---- rules -----------------------------------------------------------------------------------------------------------
def _slice_rule(needs: Any, x: Tensor, *, index: Any) -> Pull:
    shape = x._array.shape
    return lambda g, y: (_place_slice(g, shape=shape, index=index, unique=True),)


def _pick_rule(needs: Any, x: Tensor, *, index: Any) -> Pull:
    shape, unique = x._array.shape, is_mask(index)
    return lambda g, y: (_place_picked(g, shape=shape, index=index, unique=unique),)


def _put_rule(needs: Any, x: Tensor, values: Any, *, index: Any, accumulate: bool = False) -> Pull:
    needs_x, needs_values = needs
    shape, dtype = shape_of(values), values._array.dtype if isinstance(values, Tensor) else None
    basic = is_basic(index)

    def pull(g: Tensor, y: Any) -> tuple[Any, Any]:
        to_x = to_values = None
        if needs_x:
            to_x = g if accumulate else _put(g, 0, index=index)
        if needs_values:
            picked = _slice(g, index=index) if basic else _pick(g, index=index)
            # Values may have more leading dimensions of length 1 than the elements that they are written to.
            lead = len(shape) - picked._array.ndim  # type: ignore[arg-type]
            to_values = reduce_to(picked, shape[max(lead, 0):]).reshape(shape).to(dtype)  # type: ignore[index]
        return to_x, to_values

    return pull


def _index_add_rule(needs: Any, x: Tensor, index: Tensor, source: Tensor, *, axis: int) -> Pull:
    needs_source = needs[2]
    return lambda g, y: (g, None, index_select_op(g, index, axis=axis) if needs_source else None)


def _gather_rule(needs: Any, x: Tensor, index: Tensor, *, axis: int) -> Pull:
    shape = x._array.shape
    return lambda g, y: (_scatter(g.new_zeros(shape), index, g, axis=axis, accumulate=True), None)


def _scatter_rule(needs: Any, x: Tensor, index: Tensor, source: Any, *, axis: int, accumulate: bool = False) -> Pull:
    needs_x, _, needs_source = needs

    def pull(g: Tensor, y: Any) -> tuple[Any, ...]:
        to_x = None
        if needs_x:
            to_x = g if accumulate else _scatter(g, index, 0, axis=axis)
        return to_x, None, gather_op(g, index, axis=axis) if needs_source else None

    return pull


def _index_select_rule(needs: Any, x: Tensor, index: Tensor, *, axis: int) -> Pull:
    shape = x._array.shape
    return lambda g, y: (_index_add(g.new_zeros(shape), index, g, axis=axis), None)


def _masked_fill_rule(needs: Any, x: Tensor, mask: Tensor, value: Any) -> Pull:
    needs_x, _, needs_value = needs
    value_shape = shape_of(value)

    def pull(g: Tensor, y: Any) -> tuple[Any, ...]:
        to_value = reduce_to(g * mask.to(g.dtype), value_shape) if needs_value else None
        return _masked_fill(g, mask, 0) if needs_x else None, None, to_value

    return pull


_slice = Op("getitem", _slice_rule, view=True)
_pick = Op("getitem", _pick_rule)
_place_slice = Op("scatter_new", lambda needs, g, *, shape, index, unique: lambda gg, y: (_slice(gg, index=index),))
_place_picked = Op("scatter_new", lambda needs, g, *, shape, index, unique: lambda gg, y: (_pick(gg, index=index),))
_put = Op("index_put", _put_rule)
_index_add = Op("index_add", _index_add_rule)
# For the modules beside this one too: without a check of the indices.
index_select_op = Op("index_select", _index_select_rule)
gather_op = Op("gather", _gather_rule)
_scatter = Op("scatter", _scatter_rule)
_masked_fill = Op("masked_fill", _masked_fill_rule)
_sort = Op("sort", selected_rule, keeps=(1,), outputs=(0,))
_topk = Op("topk", selected_rule, keeps=(1,), outputs=(0,))
_nonzero = Op("nonzero")


def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for numbers, slices, None and Ellipsis; with index or mask arrays or lists, a copy.

    Raises IndexError for an index out of range and ValueError for a negative step.
    """
    basic, advanced = split_index(self, index)
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
    basic, advanced = split_index(self, index)
    if isinstance(value, Tensor):
        if value._array.__class__ is not self._array.__class__ and (advanced is None or value._array.ndim == 0):
            value = value.to(self.device)
        if advanced is not None and value._array.shape[:1] == (1,):
            # Leading dimensions of length 1 are dropped: not every kernel broadcasts to fewer dimensions.
            lead = next((i for i, n in enumerate(value._array.shape) if n != 1), value._array.ndim)
            value = value.reshape(value._array.shape[lead:])
    elif value.__class__ not in (int, float, bool) or self._array.dtype.kind == "V":
        value = self.new_tensor(value)
    if basic is None or advanced is None:
        target = self
    else:
        target = _slice(self, index=basic)
    _write_at(target, (basic or (Ellipsis,)) if advanced is None else advanced, value)


def _write_at(target: Tensor, index: tuple[Any, ...], values: Any, accumulate: bool = False) -> Tensor:
    """Write `values` at a basic or advanced index of `target`. Raises as `setitem` does."""
    if not is_basic(index):
        index = own(index, target, values)
        if target.is_gpu and isinstance(values, Tensor) and values._array.ndim:
            index = tuple(expand_masks(index))  # CuPy writes only single numbers by mask
    try:
        return update(target, _put, values, index=index, **({"accumulate": True} if accumulate else {}))
    except IndexError as error:
        raise restate(error) from None


# ---- functions -------------------------------------------------------------------------------------------------------
def _index_tensor(name: str, index: Any, x: Tensor, kinds: str = "i") -> Tensor:
    """An index tensor beside `x`. Raises RuntimeError for other dtypes than integers (or bool masks)."""
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._array.dtype.kind not in kinds:
        expected = "int32/int64 for index" if kinds == "i" else "bool for mask"
        raise RuntimeError(f"{name}(): Expected dtype {expected}, but got {type_name(index.dtype)}")
    array = beside(index._array, x._array)
    return index if array is index._array else wrap(array)


def _check_index(index: Tensor, size: int, dim: int) -> None:
    """Raise IndexError, on the CPU one that is also a RuntimeError, if an index is not in [0, size)."""
    try:
        check_dim(index._array, dim, size)
    except IndexError as error:
        raise IndexBoundsError(*error.args) from None


def _require_vector(name: str, index: Tensor) -> Tensor:
    if index._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    return index if index._array.ndim else index.reshape(1)


@array_api_names
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `input` along `dim` named by the 1-d `index`. Raises IndexError for an index out of range."""
    axis = canonical_dim(dim, require_tensor("index_select", input)._array.ndim)
    index = _require_vector("index_select", _index_tensor("index_select", index, input))
    if input._array.ndim == 0:
        return index_select(input.reshape(1), 0, index).reshape(())
    _check_index(index, input._array.shape[axis], axis)
    return index_select_op(input, index, axis=axis)


def _check_along(name: str, x: Tensor, index: Tensor, axis: int, source: Any = None) -> None:
    """Raise RuntimeError if the shapes of `x`, `index` and `source` do not fit for gather or scatter along `axis`."""
    shape, lengths = x._array.shape, index._array.shape
    if len(shape) != len(lengths):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for dim, (have, length) in enumerate(zip(shape, lengths, strict=True)):
        if dim != axis and length > have:
            raise RuntimeError(f"Size does not match at dimension {dim} expected index {list(lengths)} to be no larger "
                               f"than self {list(shape)} apart from dimension {axis}")
    if isinstance(source, Tensor) and source._array.ndim:
        if source._array.ndim != len(lengths):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if any(n > m for n, m in zip(lengths, source._array.shape, strict=True)):
            raise RuntimeError(f"Expected index {list(lengths)} to be no larger than src {list(source.shape)}")
        if source._array.dtype != x._array.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    _check_index(index, shape[axis] if shape else 1, axis)


@array_api_names
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: for each index, the element along `dim`.

    `index` has as many dimensions as `input` and is no longer, except along `dim`. Raises IndexError out of range.
    """
    axis = canonical_dim(dim, require_tensor("gather", input)._array.ndim)
    index = _index_tensor("gather", index, input)
    if input._array.ndim == 0:
        return gather(input.reshape(1), 0, index.reshape(-1)).reshape(index.shape)
    _check_along("gather", input, index, axis)
    return gather_op(input, index, axis=axis)


def _scatter_arguments(name: str, x: Tensor, dim: int, index: Tensor, src: Any, value: Any) -> tuple[Tensor, Any, int]:
    axis = canonical_dim(dim, require_tensor(name, x)._array.ndim)
    index = _index_tensor(name, index, x)
    source = value if src is None else src
    if x._array.ndim == 0:
        raise NotImplementedError(f"{name}() of a 0-d tensor is not supported")
    _check_along(name, x, index, axis, source)
    if isinstance(source, Tensor) and source._array.ndim and source._array.shape != index._array.shape:
        source = source[tuple(slice(n) for n in index._array.shape)]
    return index, source, axis


@array_api_names
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> Tensor:
    """`input` with `src` (a tensor or number) written where `gather` would read; the last of several writes stays.

    Raises IndexError out of range. ``reduce='add'`` adds, ``'multiply'`` multiplies with what is there.
    """
    index, source, axis = _scatter_arguments("scatter", input, dim, index, src, value)
    if reduce == "multiply":
        return _multiplied(input, axis, index, source)
    return _scatter(input, index, source, axis=axis, accumulate=_accumulates(reduce))


@array_api_names
def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
             reduce: str | None = None) -> Tensor:
    """`scatter` into this tensor itself."""
    index, source, axis = _scatter_arguments("scatter", self, dim, index, src, value)
    if reduce == "multiply":
        return write(self, lambda old: _multiplied(old, axis, index, source))
    return update(self, _scatter, index, source, axis=axis, accumulate=_accumulates(reduce))


def _accumulates(reduce: str | None) -> bool:
    if reduce not in (None, "add"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}.")
    return reduce == "add"


def _multiplied(x: Tensor, axis: int, index: Tensor, source: Any) -> Tensor:
    from .scatter_reduce import scatter_reduce

    factors = source if isinstance(source, Tensor) and source._array.ndim else x.new_full(index.shape, source)
    return scatter_reduce(x, axis, index, factors, "prod")


@array_api_names
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src` added where `gather` would read; repeated indices add up. Raises IndexError out of range."""
    return scatter(input, dim, index, src, reduce="add")


@array_api_names
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`scatter_add` into this tensor itself."""
    return scatter_(self, dim, index, src, reduce="add")


def _slices_arguments(name: str, x: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Tensor, int]:
    axis = canonical_dim(dim, require_tensor(name, x)._array.ndim)
    index = _require_vector(name, _index_tensor(name, index, x))
    expected = (*x._array.shape[:axis], index._array.size, *x._array.shape[axis + 1:])
    if source._array.shape != expected:
        raise RuntimeError(f"{name}(): source of shape {list(source.shape)} does not match the slices of shape "
                           f"{list(expected)} that the index names along dimension {axis}")
    if source._array.dtype != x._array.dtype:
        raise RuntimeError(f"{name}(): self ({type_name(x.dtype)}) and source ({type_name(source.dtype)}) must have "
                           "the same scalar type")
    _check_index(index, x._array.shape[axis], axis)
    return index, axis


@array_api_names
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`input` with ``alpha * source`` added to the slices along `dim` that `index` names; repeated indices add up."""
    index, axis = _slices_arguments("index_add", input, dim, index, source)
    return _index_add(input, index, source if alpha == 1 else source * alpha, axis=axis)


@array_api_names
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`index_add` into this tensor itself."""
    index, axis = _slices_arguments("index_add", self, dim, index, source)
    return update(self, _index_add, index, source if alpha == 1 else source * alpha, axis=axis)


@array_api_names
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Write `source` over the slices along `dim` that `index` names."""
    index, axis = _slices_arguments("index_copy", self, dim, index, source)
    return _write_at(self, (*[FULL] * axis, index._array), source)


@array_api_names
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with `source` written over the slices along `dim` that `index` names."""
    return index_copy_(input.clone(), dim, index, source)


@array_api_names
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Fill the slices along `dim` that `index` names with one number."""
    axis = canonical_dim(dim, self._array.ndim)
    index = _require_vector("index_fill", _index_tensor("index_fill", index, self))
    size = self._array.shape[axis] if self._array.ndim else 1
    check_dim(index._array, axis, size, -size)
    return _write_at(self, (*[FULL] * axis, index._array), value)


@array_api_names
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` with the slices along `dim` that `index` names filled with one number."""
    return index_fill_(input.clone(), dim, index, value)


def index_put_(self: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """``self[indices] = values``, or with `accumulate` ``+=``, where repeated indices add up.

    Raises IndexError out of range, RuntimeError if the dtypes differ.
    """
    if values._array.dtype != self._array.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{type_name(self.dtype)} for the destination and {type_name(values.dtype)} for the source.")
    basic, advanced = split_index(self, tuple(indices))
    if basic is not None or advanced is None:
        raise TypeError("index_put_(): indices must be tensors")
    if accumulate:
        advanced = tuple(expand_masks(advanced))
        if values._array.ndim == 0 or values.is_gpu:  # adding at an index does not broadcast on every backend
            values = values.expand(_slice_shape(self, advanced))
    return _write_at(self, advanced, values, accumulate)


def _slice_shape(x: Tensor, index: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of ``x[index]``, found without touching the elements."""
    stand_in = np.broadcast_to(np.int8(0), x._array.shape)
    placed = tuple(item if item is FULL else np.zeros(item.shape, np.int64) for item in index)
    return tuple(stand_in[placed].shape)


def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """`index_put_` into a copy of `input`."""
    return index_put_(input.clone(), indices, values, accumulate)


def _fill_value(input: Tensor, value: Any) -> Any:
    """The value of a masked fill. Raises RuntimeError for one that the dtype cannot hold."""
    dtype = input._array.dtype
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("masked_fill only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.ndim} dimension(s).")
        return value.to(input.device, dtype)
    if isinstance(value, complex) and dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return value


@array_api_names
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`input` with `value` (a number or a 0-d tensor) where `mask`, which broadcasts, is True."""
    value = _fill_value(require_tensor("masked_fill", input), value)
    mask = _index_tensor("masked_fill", mask, input, "b")
    if mask._array.shape != input._array.shape and mask._array.ndim:
        shape = _broadcast("masked_fill", input, mask)
        if shape != input._array.shape:
            input = input.expand(shape)
    return _masked_fill(input, mask, value)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`masked_fill` into this tensor itself."""
    value = _fill_value(self, value)
    mask = _index_tensor("masked_fill", mask, self, "b")
    if _broadcast("masked_fill", self, mask) != self._array.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the mask of shape {list(mask.shape)}")
    return update(self, _masked_fill, mask, value)


def _broadcast(name: str, a: Tensor, b: Tensor) -> tuple[int, ...]:
    from .shape import broadcast_shapes

    return broadcast_shapes(a.shape, b.shape)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is True, in one dimension; `input` and `mask` are broadcast together."""
    mask = _index_tensor("masked_select", mask, require_tensor("masked_select", input), "b")
    shape = _broadcast("masked_select", input, mask)
    if shape == ():
        input, mask, shape = input.reshape(1), mask.reshape(1), (1,)
    return getitem(input.expand(shape), mask.expand(shape))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with the elements where `mask` is True taken from `source` in order."""
    shape = _broadcast("masked_scatter", require_tensor("masked_scatter", input), mask)
    return masked_scatter_(input.expand(shape).clone(), mask, source)


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`masked_scatter` into this tensor itself. Raises RuntimeError for a source of another dtype or too few elements."""
    mask = _index_tensor("masked_scatter", mask, self, "b").expand(self.shape)
    if source._array.dtype != self._array.dtype:
        raise RuntimeError("masked_scatter_: expected self and source to have same dtypes but got "
                           f"{type_name(self.dtype)} and {type_name(source.dtype)}")
    from .comparison import where

    if not self.is_meta:
        count = int(mask.sum().item())
        if source.numel() < count:
            raise RuntimeError(f"masked_scatter: expected the source to have at least {count} elements, but it has "
                               f"{source.numel()}")
    if source.numel() == 0:
        return self
    order = (mask.reshape(-1).cumsum(0) - 1).clamp(0, source.numel() - 1)  # which element of the source comes here
    values = source.reshape(-1)[order].reshape(self.shape)
    return write(self, lambda old: where(mask, values, old))


@array_api_names
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with broadcasting; without `dim`, from the flattened tensor."""
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    axis = canonical_dim(dim, input._array.ndim)
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    mine, theirs = list(input.shape), list(indices.shape)
    mine[axis] = theirs[axis] = 1
    from .shape import broadcast_shapes

    together = list(broadcast_shapes(mine, theirs))
    mine, theirs = together.copy(), together
    mine[axis], theirs[axis] = input.shape[axis], indices.shape[axis]
    return gather(input.expand(mine), axis, indices.expand(theirs))


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions `index` of the flattened tensor, in the shape of `index`; -1 is the last."""
    index = _index_tensor("take", index, require_tensor("take", input))
    size = input._array.size
    check_bounds(index._array, -size, size, "out of range: tried to access index {value} on a tensor of {limit} elements.")
    return _pick(input.reshape(-1), index=own((index._array,), input)).reshape(index.shape)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The int64 indices of the elements that are not zero: a tensor (n, dimensions), or a tuple with one 1-d tensor for
    each dimension, which can index `input`. Waits for a GPU.
    """
    from .shape import stack

    x = require_tensor("nonzero", input)
    if x._array.ndim == 0:
        found = _nonzero(x.reshape(1))
        return found if as_tuple else wrap(found[0]._array.reshape(-1, 1)[:, :0])
    found = _nonzero(x)
    return found if as_tuple else stack(found, 1)


def _order_axis(name: str, input: Tensor, dim: int, refused: str) -> int:
    """The dimension to order. Raises RuntimeError for dtypes that PyTorch does not order."""
    kind = require_tensor(name, input)._array.dtype.kind
    if kind in refused:
        raise RuntimeError(f"{name} does not support {'bool' if kind == 'b' else 'complex'} dtypes")
    return canonical_dim(dim, input._array.ndim)


@array_api_names
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> ValuesIndices:
    """The elements in order along `dim`, and the int64 indices that they came from; NaN counts as the largest.

    The order of equal elements is always kept, whether or not `stable` asks for it.
    """
    axis = _order_axis("sort", input, dim, "c")
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return ValuesIndices(*_sort(input, axis=axis, descending=descending))


@array_api_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The int64 indices that sort along `dim`; equal elements keep their order."""
    return sort(input.detach(), dim, descending).indices


@array_api_names
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesIndices:
    """The `k` largest (smallest) elements along `dim`, in order, and their indices.

    Raises RuntimeError if `k` is too large.
    """
    axis = _order_axis("topk", input, dim, "cb")
    if not 0 <= k <= (input._array.shape[axis] if input._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return ValuesIndices(*_topk(input, k=k, axis=axis, largest=largest))


SPECIAL_METHODS = {"__getitem__": getitem, "__setitem__": setitem}
