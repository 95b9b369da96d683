"""Batches from samples."""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from .. import _dtypes
from ..ops.creation.creation import as_tensor, tensor
from ..ops.manipulation.joining import stack
from ..tensor import Tensor

Collate = Callable[[Any], Any]


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of a list of samples.

    Tensors, NumPy arrays and NumPy scalars are stacked along a new first dimension; floats make a float64, integers an int64
    and bools a bool tensor; strings and bytes stay a list; mappings, named tuples and sequences are collated element by
    element (a plain tuple gives a list). Raises TypeError for anything else and RuntimeError for sequences of different
    lengths.

    >>> lucid.data.default_collate([(1, 2.0), (3, 4.0)])
    [Tensor([1, 3], requires_grad=False), Tensor([2.0, 4.0], dtype=float64, requires_grad=False)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch)
    if isinstance(first, (np.ndarray, np.generic)):
        if first.dtype.kind in "SaUO":
            raise _unknown(first.dtype)
        return stack([as_tensor(item, device="cpu") for item in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=_dtypes.float64, device="cpu")
    if isinstance(first, int):
        return tensor(batch, device="cpu")
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        if isinstance(first, tuple):
            return type(first)(*columns) if hasattr(first, "_fields") else columns
        return _like_sequence(first, columns)
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

