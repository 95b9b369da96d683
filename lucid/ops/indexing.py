"""Reading and writing elements by index: `x[...]`, gather and scatter, masks, sorting.

An index is split in two, as PyTorch does: a basic part of numbers, slices, None and Ellipsis, which gives a view, and
then an advanced part of index and mask arrays, which picks elements of that view. An index out of range raises
IndexError: on the CPU at once, with nothing changed; on a GPU at the next point where the host waits for the device, and
what was computed with it is undefined (CuPy wraps around).
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtypes, backends
from ..autograd.errors import type_name
from ..autograd.grad_mode import GRAD
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import update
from ..autograd.op import Op, Pull
from ..tensor import Tensor, wrap
from ._operands import array_api_names, canonical_dim, reduce_to, require_tensor, shape_of
from ._selection import ValuesIndices, selected_rule

METHODS = ("index_select", "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_add", "index_add_",
           "index_put", "index_put_", "index_fill", "index_fill_", "index_copy", "index_copy_", "masked_fill",
           "masked_fill_", "masked_select", "masked_scatter", "take_along_dim", "take", "nonzero", "sort", "argsort",
           "topk")

_FULL = slice(None)
_KINDS = "biu"


class _IndexBoundsError(IndexError, RuntimeError):
    """An index out of range: PyTorch raises IndexError in some functions and RuntimeError in others."""


def check_bounds(index: Any, low: int, high: int, message: str) -> None:
    """Raise IndexError, on a GPU at the next wait, unless ``low <= i < high`` for every element of the array `index`.

    `message` may have the fields `{value}` (a wrong index) and `{limit}` (`high`).
    """
    backends.run("check_bounds", (index,), {"low": low, "high": high, "message": message})


def _check_dim(index: Any, dim: int, size: int, low: int = 0) -> None:
    """`check_bounds` for indices into dimension `dim` of length `size`."""
    check_bounds(index, low, size, f"index {{value}} is out of bounds for dimension {dim} with size {{limit}}")


# ---- rules -----------------------------------------------------------------------------------------------------------
def _slice_rule(needs: Any, x: Tensor, *, index: Any) -> Pull:
    shape = x._array.shape
    return lambda g, y: (_place_slice(g, shape=shape, index=index, unique=True),)


def _pick_rule(needs: Any, x: Tensor, *, index: Any) -> Pull:
    shape, unique = x._array.shape, _is_mask(index)
    return lambda g, y: (_place_picked(g, shape=shape, index=index, unique=unique),)


def _put_rule(needs: Any, x: Tensor, values: Any, *, index: Any, accumulate: bool = False) -> Pull:
    needs_x, needs_values = needs
    shape, dtype = shape_of(values), values._array.dtype if isinstance(values, Tensor) else None
    basic = _is_basic(index)

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


# ---- from Python's index to the two parts ----------------------------------------------------------------------------
def _is_basic(index: tuple[Any, ...]) -> bool:
    return not any(hasattr(item, "dtype") for item in index)


def _is_mask(index: tuple[Any, ...]) -> bool:
    """Whether the only array in an advanced index is a mask, so that no element is named twice."""
    return any(hasattr(item, "dtype") and item.dtype.kind == "b" for item in index)


def _check_number(number: int, dim: int, size: int) -> int:
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {dim} with size {size}")
    return number


def _check_slice(item: slice) -> slice:
    if item.step is not None and operator.index(item.step) <= 0:
        raise ValueError("step must be greater than zero")
    # NumPy takes what has __index__, 0-d tensors too.
    return item


def _index_array(item: Any, array: Any) -> Any:
    """An index given as tensor, array or list, as an array beside `array`: integers or a mask."""
    if isinstance(item, Tensor):
        found = item._array
    elif hasattr(item, "dtype"):
        found = item
    else:
        found = np.asarray([v.tolist() if isinstance(v, Tensor) else v for v in item])
        if found.size == 0:
            found = found.astype(np.int64)
    if found.dtype.kind not in _KINDS:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if found.dtype == np.uint8:
        found = found.astype(np.bool_)
    return _beside(found, array)


def _beside(index: Any, array: Any) -> Any:
    """`index` on the device of `array`: indices on the CPU may be used everywhere."""
    if index.__class__ is array.__class__:
        return index
    if index.__class__ is not np.ndarray:
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    return backends.to_device(index, backends.device_of(array))


def _split(x: Tensor, index: Any) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    """The basic part of an index (None if it selects everything) and the advanced part (None if there is none).

    Raises IndexError for bounds, too many indices and what is no index, ValueError for a step that is not positive.
    """
    array = x._array
    shape = array.shape
    items = [_plain(item, array) for item in (index if _is_tuple(index) else (index,))]
    consumed = sum(item.ndim if hasattr(item, "dtype") and item.dtype.kind == "b" else
                   not (item is None or item is Ellipsis or isinstance(item, bool)) for item in items)
    if consumed > len(shape):
        if not shape and not any(hasattr(item, "dtype") for item in items):
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                             "C++ to convert a 0-dim tensor to a number")
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    for position, item in enumerate(items):
        if item is None:
            basic.append(None)
            advanced.append(_FULL)
        elif item is Ellipsis:
            rest = len(shape) - consumed
            basic += [_FULL] * rest
            advanced += [_FULL] * rest
            dim += rest
        elif item.__class__ is bool:
            # A new dimension of length 1 or 0.
            basic.append(None)
            advanced.append(_beside(np.zeros(int(item), np.int64), array))
        elif item.__class__ is int:
            basic.append(_check_number(item, dim, shape[dim]))
            dim += 1
        elif item.__class__ is slice:
            basic.append(_check_slice(item))
            advanced.append(_FULL)
            dim += 1
        elif item.ndim == 0 and item.dtype.kind == "b":
            # A bool whose value only the GPU knows: a mask of a new dimension.
            basic.append(None)
            advanced.append(item.reshape(1))
        else:
            taken = item.ndim if item.dtype.kind == "b" else 1
            if item.dtype.kind == "b" and item.shape != shape[dim:dim + taken]:
                raise IndexError(f"The shape of the mask {list(item.shape)} at index {position} does not match the "
                                 f"shape of the indexed tensor {list(shape)} at index {position}")
            if item.dtype.kind != "b" and item.__class__ is not np.ndarray:  # NumPy checks by itself
                _check_dim(item, dim, shape[dim], -shape[dim])
            basic += [_FULL] * taken
            advanced.append(item)
            dim += taken
    arrays = [item for item in advanced if item is not _FULL]
    if len(arrays) > 1:
        advanced = _expand_masks(advanced)
        _check_broadcast([item for item in advanced if item is not _FULL])
    if all(item is _FULL or item == _FULL for item in basic):
        return None, tuple(advanced) if arrays else None
    # With an Ellipsis NumPy gives a view even of a single element.
    return (*basic, Ellipsis), tuple(advanced) if arrays else None


def _is_tuple(index: Any) -> bool:
    """Whether an index has one entry for each dimension: a tuple or, as in PyTorch, a short list that could be no array
    of numbers.
    """
    if index.__class__ is not list:
        return isinstance(index, tuple)
    return len(index) < 32 and any(item is None or item is Ellipsis or isinstance(item, (Tensor, slice, Sequence))
                                   for item in index)


def _plain(item: Any, array: Any) -> Any:
    """One entry of an index as None, Ellipsis, bool, int, slice or array."""
    kind = item.__class__
    if kind is int or kind is slice or kind is bool or item is None or item is Ellipsis:
        return item
    if isinstance(item, (Tensor, np.ndarray, list, tuple, range)) or hasattr(item, "__cuda_array_interface__"):
        found = _index_array(item, array)
        if found.ndim == 0 and found.__class__ is np.ndarray:
            return found.item()
        return found
    if isinstance(item, np.bool_):
        return bool(item)
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                         f"indices (got {kind.__name__})") from None


def _expand_masks(index: Sequence[Any]) -> list[Any]:
    """`index` with each mask replaced by the indices of its True elements."""
    expanded: list[Any] = []
    for item in index:
        if item is not _FULL and item.dtype.kind == "b":
            expanded += backends.run("nonzero", (item,), {})
        else:
            expanded.append(item)
    return expanded


def _check_broadcast(arrays: Sequence[Any]) -> None:
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(a.shape)) for a in arrays)) from None


def _own(index: tuple[Any, ...], *tensors: Any) -> tuple[Any, ...]:
    """`index` for an op that may be recorded: copies, which later writes to the index tensors do not reach."""
    if grad_mode.get() & GRAD and any(isinstance(t, Tensor) and t._node is not None for t in tensors):
        return tuple(item if item is _FULL else item.copy() for item in index)
    return index


def _restate(error: IndexError) -> IndexError:
    """NumPy's IndexError in PyTorch's words."""
    message = str(error)
    if "empty axes" in message:
        return IndexError("index is out of bounds for dimension with size 0")
    return IndexError(message.replace("for axis", "for dimension"))


def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for numbers, slices, None and Ellipsis; with index or mask arrays or lists, a copy.

    Raises IndexError for an index out of range and ValueError for a negative step.
    """
    basic, advanced = _split(self, index)
    if basic is None and advanced is None:
        return _slice(self, index=(Ellipsis,))
    result = self if basic is None else _slice(self, index=basic)
    if advanced is not None:
        try:
            result = _pick(result, index=_own(advanced, result))
        except IndexError as error:
            raise _restate(error) from None
    return result


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, written straight into the memory; `value` is broadcast and cast.

    Differentiable with respect to the tensor and the value. Raises IndexError with nothing changed for an index out of
    range, RuntimeError for a value that does not broadcast and for a leaf that requires grad.
    """
    basic, advanced = _split(self, index)
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
    if not _is_basic(index):
        index = _own(index, target, values)
        if target.is_gpu and isinstance(values, Tensor) and values._array.ndim:
            index = tuple(_expand_masks(index))  # CuPy writes only single numbers by mask
    try:
        return update(target, _put, values, index=index, **({"accumulate": True} if accumulate else {}))
    except IndexError as error:
        raise _restate(error) from None


# ---- functions -------------------------------------------------------------------------------------------------------
def _index_tensor(name: str, index: Any, x: Tensor, kinds: str = "i") -> Tensor:
    """An index tensor beside `x`. Raises RuntimeError for other dtypes than integers (or bool masks)."""
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._array.dtype.kind not in kinds:
        expected = "int32/int64 for index" if kinds == "i" else "bool for mask"
        raise RuntimeError(f"{name}(): Expected dtype {expected}, but got {type_name(index.dtype)}")
    array = _beside(index._array, x._array)
    return index if array is index._array else wrap(array)


def _check_index(index: Tensor, size: int, dim: int) -> None:
    """Raise IndexError, on the CPU one that is also a RuntimeError, if an index is not in [0, size)."""
    try:
        _check_dim(index._array, dim, size)
    except IndexError as error:
        raise _IndexBoundsError(*error.args) from None


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

    Raises IndexError out of range. ``reduce='add'`` is `scatter_add`.
    """
    index, source, axis = _scatter_arguments("scatter", input, dim, index, src, value)
    return _scatter(input, index, source, axis=axis, accumulate=_accumulates(reduce))


@array_api_names
def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
             reduce: str | None = None) -> Tensor:
    """`scatter` into this tensor itself."""
    index, source, axis = _scatter_arguments("scatter", self, dim, index, src, value)
    return update(self, _scatter, index, source, axis=axis, accumulate=_accumulates(reduce))


def _accumulates(reduce: str | None) -> bool:
    if reduce not in (None, "add"):
        raise NotImplementedError(f"scatter with reduce={reduce!r} is not supported, only 'add'")
    return reduce == "add"


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
    return _write_at(self, (*[_FULL] * axis, index._array), source)


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
    _check_dim(index._array, axis, size, -size)
    return _write_at(self, (*[_FULL] * axis, index._array), value)


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
    basic, advanced = _split(self, tuple(indices))
    if basic is not None or advanced is None:
        raise TypeError("index_put_(): indices must be tensors")
    if accumulate:
        advanced = tuple(_expand_masks(advanced))
        if values._array.ndim == 0 or values.is_gpu:  # adding at an index does not broadcast on every backend
            values = values.expand(_slice_shape(self, advanced))
    return _write_at(self, advanced, values, accumulate)


def _slice_shape(x: Tensor, index: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of ``x[index]``, found without touching the elements."""
    stand_in = np.broadcast_to(np.int8(0), x._array.shape)
    placed = tuple(item if item is _FULL else np.zeros(item.shape, np.int64) for item in index)
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
    mask = _index_tensor("masked_scatter", mask, require_tensor("masked_scatter", input), "b")
    mask = mask.expand(input.shape)
    result = input.clone()
    count = int(mask.sum().item())
    if source.numel() < count:
        raise RuntimeError(f"masked_scatter: expected the source to have at least {count} elements, but it has "
                           f"{source.numel()}")
    setitem(result, mask, source.reshape(-1)[:count])
    return result


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
    return _pick(input.reshape(-1), index=_own((index._array,), input)).reshape(index.shape)


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
