"""Batches in pinned memory."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tensor import Tensor
from .collate import _like_mapping, _like_sequence


def pin_memory(data: Any) -> Any:
    """`data` with its tensors copied to pinned memory: a tensor, an object with a method `pin_memory`, mappings and sequences of
    such. Anything else stays. Raises RuntimeError for a tensor on a GPU, or without one.
    """
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin_memory, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [pin_memory(item) for item in data])
    return data
