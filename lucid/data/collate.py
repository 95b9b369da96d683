"""Batches from samples."""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from .. import _dtypes
from .._namespace.lazy import load
from ..ops.creation.creation import as_tensor, tensor
from ..ops.manipulation.joining import stack
from ..tensor import Tensor

Collate = Callable[[Any], Any]


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """The tensors of a batch, stacked as their class says."""
    stacked: Tensor = load("lucid:stack")(batch)
    return stacked


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """The arrays of a batch as one tensor."""
    if batch[0].dtype.kind in "SaUO":
        raise _unknown(batch[0].dtype)
    return stack([as_tensor(item, device="cpu") for item in batch])


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """NumPy's numbers as a vector of their dtype."""
    return stack([as_tensor(item, device="cpu") for item in batch])


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Python's numbers as a vector of float64."""
    return tensor(batch, dtype=_dtypes.float64, device="cpu")


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Whole numbers as a vector of int64, truth values as one of bool."""
    return tensor(batch, device="cpu")


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Texts as they are."""
    return batch


#: How `default_collate` makes a batch of what has a type; libraries add theirs.
default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn, (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn, int: collate_int_fn, str: collate_str_fn, bytes: collate_str_fn}


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of a list of samples.

    Tensors, NumPy arrays and NumPy scalars are stacked along a new first dimension; floats make a float64, integers an int64
    and bools a bool tensor; strings and bytes stay a list; mappings, named tuples and sequences are collated element by
    element (a plain tuple gives a list). Raises TypeError for anything else and RuntimeError for sequences of different
    lengths.

    >>> lucid.data.default_collate([(1, 2.0), (3, 4.0)])
    [Tensor([1, 3], requires_grad=False), Tensor([2.0, 4.0], dtype=float64, requires_grad=False)]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """A batch as by `default_collate`, where `collate_fn_map` has the functions for types or tuples of types.

    The type of the first sample counts, then the first entry that it is derived from. A function gets the batch and the map by
    the keyword `collate_fn_map`.

    >>> from lucid.data.collate import collate
    >>> collate([("a", 1), ("b", 2)], collate_fn_map={str: lambda batch, **_: "".join(batch), int: lambda batch, **_: sum(batch)})
    ['ab', 3]
    """
    first, given = batch[0], collate_fn_map or {}
    function = given.get(type(first)) or next((given[kind] for kind in given if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        columns = {key: [sample[key] for sample in batch] for key in first}
        return _like_mapping(first, {key: collate(column, collate_fn_map=collate_fn_map) for key, column in columns.items()})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        items = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]
        if isinstance(first, tuple):
            return type(first)(*items) if hasattr(first, "_fields") else items
        return _like_sequence(first, items)
    raise _unknown(type(first))


def default_convert(data: Any) -> Any:
    """`data` with NumPy arrays as tensors, inside mappings and sequences too: used where no batches are made.

    >>> lucid.data.default_convert([np.ones(2), 3, "a"])
    [Tensor([1.0, 1.0], dtype=float64, requires_grad=False), 3, 'a']
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "SaUO":
        return as_tensor(data, device="cpu")
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple):
        converted = [default_convert(item) for item in data]
        return type(data)(*converted) if hasattr(data, "_fields") else converted
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def _unknown(kind: Any) -> TypeError:
    return TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
                     f"{kind}")


def _like_mapping(like: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping of the type of `like`; a plain dict where that type cannot be made from one."""
    if isinstance(like, MutableMapping):
        return _filled(like, items.items(), items)
    try:
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _like_sequence(like: Sequence[Any], items: list[Any]) -> Any:
    if isinstance(like, MutableSequence):
        return _filled(like, enumerate(items), items)
    try:
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _filled(like: Any, items: Any, otherwise: Any) -> Any:
    """A copy of `like`, which keeps attributes of its type, with other items; `otherwise` where it cannot be copied."""
    try:
        clone = copy.copy(like)
        for key, value in items:
            clone[key] = value
    except TypeError:
        return otherwise
    return clone

