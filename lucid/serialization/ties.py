"""Tensors of a file that show the same memory: each is stored on its own, so that any reader finds it, and beside them is said
how they lie in one memory, so that a write to one is seen by the others after `load`, too.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import backends
from ..backends import storage
from ..tensor import Tensor, version_box, wrap
from .reading import check_ratio
from .structure import Damaged

Ties = list[dict[str, Any]]  # {"nbytes": size of a memory, "parts": {name: [offset, strides]}}, all in bytes
ALIGNMENT = 64  # of a memory; an element lies as before in relation to it


def overlapping(tensors: Iterable[tuple[Tensor, Any]]) -> Iterator[tuple[str, int, int, list[Any]]]:
    """The memories of tensors, each given with a key, those that overlap as one: device, first and last address, keys."""
    spans = sorted(((str(t.device), *storage.span(t._array), key) for t, key in tensors if t._array.size),
                   key=lambda item: item[:2])
    start = 0
    while start < len(spans):
        device, low, high, _ = spans[start]
        end = start + 1
        while end < len(spans) and spans[end][0] == device and spans[end][1] < high:
            high = max(high, spans[end][2])
            end += 1
        yield device, low, high, [key for *_, key in spans[start:end]]
        start = end


def find(tensors: dict[str, Tensor]) -> Ties:
    """The memories that several of `tensors` show, in part or in full, with an overlap of what they show."""
    ties: Ties = []
    for _, low, high, names in overlapping((t, name) for name, t in tensors.items()):
        if len(names) > 1:
            low -= low % ALIGNMENT
            parts = {name: (tensors[name].data_ptr() - low, tensors[name]._array.strides) for name in names}
            ties.append({"nbytes": high - low, "parts": parts})
    return ties


Memory = tuple[np.ndarray, dict[str, storage.Part]]  # bytes, and where tensors lie in it


def lay_out(ties: Ties, arrays: dict[str, np.ndarray], max_ratio: float | None) -> list[Memory]:
    """Memories with the elements of `arrays`, which share them as `ties` says. Raises Damaged."""
    memories = []
    for tie in ties:
        check_ratio(tie["nbytes"], sum(arrays[name].nbytes for name in tie["parts"]), max_ratio)
        memory = np.zeros(tie["nbytes"], np.uint8)
        parts = {}
        for name, (offset, strides) in tie["parts"].items():
            array = arrays[name]
            if not _lies_inside(array, offset, strides, memory.nbytes):
                raise Damaged(f"tensor '{name}' does not lie in the memory that it should share")
            parts[name] = storage.Part(offset, array.shape, tuple(strides), array.dtype)
            storage.take(memory, parts[name])[...] = array
        memories.append((memory, parts))
    return memories


def tensors_in(moved: Tensor, memory: Memory) -> dict[str, Tensor]:
    """The tensors in `memory`, of which the bytes have gone to the device of `moved`. They share its version."""
    host, parts = memory
    tensors = {}
    for name, part in parts.items():
        if moved.is_meta:  # where no bytes are: only what a tensor looks like
            tensors[name] = wrap(backends.to_device(storage.take(host, part), moved.device))
        else:
            tensors[name] = wrap(storage.take(moved._array, part))
        tensors[name]._version_box = version_box(moved)
    return tensors


def _lies_inside(array: np.ndarray, offset: Any, strides: Any, nbytes: int) -> bool:
    numbers = [offset, *strides]
    if len(strides) != array.ndim or any(type(number) is not int or number % array.itemsize for number in numbers):
        return False
    low, high = storage.reach(array.shape, tuple(strides))
    return array.size > 0 and offset + low >= 0 and offset + high + array.itemsize <= nbytes
