"""Parses the index in `x[index]` into what kernels take: a basic part and an advanced part, with their bounds checked."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _recording, backends
from ...autograd.errors import type_name
from ...autograd.grad_mode import GRAD
from ...autograd.grad_mode import mode as grad_mode
from ...tensor import Tensor, wrap

FULL = slice(None)
_KINDS = "biu"
_BASIC = (int, slice, type(None), type(Ellipsis))  # what has no dtype, without a look for one


class IndexBoundsError(IndexError, RuntimeError):
    """An index out of range: PyTorch raises IndexError in some functions and RuntimeError in others."""


def check_bounds(index: Any, low: int, high: int, message: str) -> None:
    """Raise IndexError, on a GPU at the next wait, unless ``low <= i < high`` for every element of the array `index`.

    `message` may have the fields `{value}` (a wrong index) and `{limit}` (`high`).
    """
    backends.TABLES[index.__class__]["check_bounds"](index, low=low, high=high, message=message)


def check_dim(index: Any, dim: int, size: int, low: int = 0) -> None:
    """`check_bounds` for indices into dimension `dim` of length `size`."""
    check_bounds(index, low, size, f"index {{value}} is out of bounds for dimension {dim} with size {{limit}}")


def is_basic(index: tuple[Any, ...]) -> bool:
    return all(item.__class__ in _BASIC or not hasattr(item, "dtype") for item in index)


def is_mask(index: tuple[Any, ...]) -> bool:
    """Whether the only array in an advanced index is a mask, so that no element is named twice."""
    return any(hasattr(item, "dtype") and item.dtype.kind == "b" for item in index)


def refuse_byte_mask(index: Sequence[Any]) -> None:
    """Raise RuntimeError if a uint8 mask is all that selects elements which get one number."""
    kinds = [item._array.dtype for item in index if isinstance(item, Tensor)]
    if len(kinds) == 1 and kinds[0] == np.uint8:
        raise RuntimeError("masked_fill only supports boolean masks, but got mask with dtype unsigned char")


def check_number(number: int, dim: int, size: int) -> int:
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {dim} with size {size}")
    return number


def check_slice(item: slice) -> slice:
    if item.step is not None and operator.index(item.step) <= 0:
        raise ValueError("step must be greater than zero")
    # NumPy takes what has __index__, 0-d tensors too.
    return item


def index_array(item: Any, array: Any) -> Any:
    """An index given as tensor, array or list, as an array beside `array`: integers or a mask."""
    is_new = False
    if isinstance(item, Tensor):
        found = item._array
        if found.dtype.kind == "i" and found.ndim and found.itemsize < 4:  # arrays that are no tensors may hold them
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors, not "
                             f"{type_name(found.dtype)}")
    elif hasattr(item, "dtype"):
        found = item
    else:
        found = np.asarray([v.tolist() if isinstance(v, Tensor) else v for v in item])
        if found.size == 0:
            found = found.astype(np.int64)
        is_new = True
    if found.dtype.kind not in _KINDS:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if found.dtype == np.uint8:
        found = found.astype(np.bool_)
    found = beside(found, array)
    return _recording.constant(found) if is_new else found


def beside(index: Any, array: Any) -> Any:
    """`index` on the device of `array`: indices on the CPU may be used everywhere, and all on the device 'meta'."""
    if index.__class__ is array.__class__:
        return index
    device = backends.device_of(array)
    if index.__class__ is not np.ndarray and device.type != "meta" and backends.device_of(index) != device:
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({device})")
    return backends.to_device(index, device)


def split_index(x: Tensor, index: Any) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    """The basic part of an index (None if it selects everything) and the advanced part (None if there is none).

    Raises IndexError for bounds, too many indices and what is no index, ValueError for a step that is not positive.
    """
    array = x._array
    shape = array.shape
    if index.__class__ is Tensor and array.__class__ is np.ndarray is index._array.__class__:  # a fifth of the time
        found = index._array
        kind = found.dtype.kind
        whole = kind == "i" and found.itemsize > 2
        if found.shape and shape and (whole or (kind == "b" and found.shape == shape[:found.ndim])):
            return None, (found,)
        if whole and not found.shape:
            index = index.item()  # which tells a recorder
    elif index.__class__ is tuple and array.__class__ is np.ndarray and 0 < len(index) <= len(shape) and (
            index[-1].__class__ is Tensor or index[0].__class__ is Tensor):
        picked = _arrays_alone(index)
        if picked is not None:
            return None, picked
    simple = index if index.__class__ is tuple else (index,)
    for position, item in enumerate(simple):
        if item is Ellipsis:
            room = len(shape) + 1 - len([other for other in simple if other is not None])
            if room >= 0:
                simple = (*simple[:position], *(FULL,) * room, *simple[position + 1:])
            break
    whole, dim, ndim = True, 0, len(shape)
    for item in simple:  # integers, slices and None alone need no other checks: a third of the time
        if item is None:
            whole = False
            continue
        if dim == ndim:
            break
        if item.__class__ is int:
            if not -shape[dim] <= item < shape[dim]:
                check_number(item, dim, shape[dim])
            whole = False
        elif item.__class__ is slice:
            if item.step is not None:
                check_slice(item)
            whole = whole and item == FULL
        else:
            break
        dim += 1
    else:
        return None if whole else (*simple, Ellipsis), None
    items = [plain(item, array) for item in (index if is_tuple(index) else (index,))]
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
        adds = item is None or item.__class__ is bool or (hasattr(item, "dtype") and item.ndim == 0 and item.dtype.kind == "b")
        if item is not Ellipsis and dim + (not adds) > len(shape):
            raise IndexError(f"index at position {position} is out of bounds for dimension {dim} with size 0")
        if item is None:
            basic.append(None)
            advanced.append(FULL)
        elif item is Ellipsis:
            rest = len(shape) - consumed
            room = min(rest, len(shape) - dim)  # as in PyTorch, another one stands for as many dimensions, or those that are left
            basic += [FULL] * room
            advanced += [FULL] * room
            dim += rest
        elif item.__class__ is bool:
            # A new dimension of length 1 or 0.
            basic.append(None)
            advanced.append(_recording.constant(beside(np.zeros(int(item), np.int64), array)))
        elif item.__class__ is int:
            basic.append(check_number(item, dim, shape[dim]))
            dim += 1
        elif item.__class__ is slice:
            basic.append(check_slice(item))
            advanced.append(FULL)
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
                check_dim(item, dim, shape[dim], -shape[dim])
            basic += [FULL] * taken
            advanced.append(item)
            dim += taken
    arrays = [item for item in advanced if item is not FULL]
    if len(arrays) > 1:
        advanced = expand_masks(advanced)
        check_broadcast([item for item in advanced if item is not FULL])
    if all(item is FULL or item == FULL for item in basic):
        return None, tuple(advanced) if arrays else None
    # With an Ellipsis NumPy gives a view even of a single element.
    return (*basic, Ellipsis), tuple(advanced) if arrays else None


def _arrays_alone(index: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The advanced part of an index of integer tensors of one shape on the CPU, and slices of all; None for any other."""
    parts: list[Any] = []
    shape = None
    for item in index:
        if item.__class__ is Tensor:
            found = item._array
            if found.__class__ is not np.ndarray or found.dtype.kind != "i" or found.itemsize < 4:
                return None
            if found.shape != shape:
                if shape is not None or not found.shape:
                    return None
                shape = found.shape
            parts.append(found)
        elif item.__class__ is slice and item == FULL:
            parts.append(FULL)
        else:
            return None
    return None if shape is None else tuple(parts)


def is_tuple(index: Any) -> bool:
    """Whether an index has one entry for each dimension: a tuple or, as in PyTorch, a short list that could be no array
    of numbers.
    """
    if index.__class__ is not list:
        return isinstance(index, tuple)
    return len(index) < 32 and any(item is None or item is Ellipsis or isinstance(item, (Tensor, slice, Sequence))
                                   for item in index)


def plain(item: Any, array: Any) -> Any:
    """One entry of an index as None, Ellipsis, bool, int, slice or array."""
    kind = item.__class__
    if kind is int or kind is slice or kind is bool or item is None or item is Ellipsis:
        return item
    if isinstance(item, (Tensor, np.ndarray, list, tuple, range)) or hasattr(item, "__cuda_array_interface__"):
        found = index_array(item, array)
        if found.ndim == 0 and found.__class__ is np.ndarray:
            return item.item() if isinstance(item, Tensor) else found.item()
        return found
    if isinstance(item, np.bool_):
        return bool(item)
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                         f"indices (got {kind.__name__})") from None


def expand_masks(index: Sequence[Any]) -> list[Any]:
    """`index` with each mask replaced by the indices of its True elements."""
    expanded: list[Any] = []
    for item in index:
        if item is not FULL and item.dtype.kind == "b":
            expanded += backends.run("nonzero", (item,), {})
        else:
            expanded.append(item)
    return expanded


def check_broadcast(arrays: Sequence[Any]) -> None:
    first = arrays[0].shape
    if all(array.shape == first for array in arrays):  # NumPy takes ten times as long to say so
        return
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(a.shape)) for a in arrays)) from None


def own(index: tuple[Any, ...], *tensors: Any) -> tuple[Any, ...]:
    """`index` for an op that may be recorded: copies, which later writes to the index tensors do not reach."""
    if grad_mode.get() & GRAD and any(isinstance(t, Tensor) and t._node is not None for t in tensors):
        return tuple([item if item is FULL else backends.run("copy", (item,)) for item in index])
    return index


def restate(error: IndexError) -> IndexError:
    """NumPy's IndexError in PyTorch's words."""
    message = str(error)
    if "empty axes" in message:
        return IndexError("index is out of bounds for dimension with size 0")
    return IndexError(message.replace("for axis", "for dimension"))


def index_tensor(name: str, index: Any, x: Tensor, kinds: str = "i") -> Tensor:
    """An index tensor beside `x`. Raises RuntimeError for other dtypes than int32 and int64 (or bool masks)."""
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    dtype = index._array.dtype
    if dtype.kind not in kinds or (kinds == "i" and dtype.itemsize < 4):
        expected = "int32/int64 for index" if kinds == "i" else "bool for mask"
        raise RuntimeError(f"{name}(): Expected dtype {expected}, but got {type_name(index.dtype)}")
    array = beside(index._array, x._array)
    return index if array is index._array else wrap(array)


def require_long(name: str, index: Any, error: type[Exception] = RuntimeError) -> None:
    """Raise `error` for an index tensor of another dtype than int64."""
    if isinstance(index, Tensor) and index._array.dtype != np.int64:
        raise error(f"{name}(): Expected a long tensor for index, but got {type_name(index.dtype)}")


def check_index(index: Tensor, size: int, dim: int) -> None:
    """Raise IndexError, on the CPU one that is also a RuntimeError, if an index is not in [0, size)."""
    try:
        check_dim(index._array, dim, size)
    except IndexError as error:
        raise IndexBoundsError(*error.args) from None
