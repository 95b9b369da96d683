"""How the elements of a dense array lie in memory: the formats that have names, and the order of any array's dimensions."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

Array = Any
Axes = Sequence[int]  # dimensions from the outermost in memory to the innermost


class MemoryFormat(Enum):
    """The order of a dense tensor's elements in memory; the shape stays the same.

    `contiguous_format` is row-major order. `channels_last` keeps the channels of a tensor (N, C, H, W) side by side,
    `channels_last_3d` those of (N, C, D, H, W). `preserve_format` is the order of the input.

    >>> lucid.zeros(1, 2, 3, 4).contiguous(memory_format=lucid.channels_last).stride()
    (24, 1, 8, 2)
    """

    contiguous_format = 0
    channels_last = 4  # the rank that it is for
    channels_last_3d = 5
    preserve_format = -1

    def __repr__(self) -> str:
        return f"lucid.{self.name}"

    __str__ = __repr__

    def axes(self, rank: int) -> Axes | None:
        """The dimensions of a tensor in this format from the outermost in memory to the innermost; None is their own order.

        Raises RuntimeError where the format is for another rank.
        """
        if self.value <= 0:
            return None
        if rank != self.value:
            raise RuntimeError(f"required rank {self.value} tensor to use {self.name} format, got one of rank {rank}")
        return (0, *range(2, rank), 1)


contiguous_format = MemoryFormat.contiguous_format
channels_last = MemoryFormat.channels_last
channels_last_3d = MemoryFormat.channels_last_3d
preserve_format = MemoryFormat.preserve_format


def require_format(function: str, value: Any) -> MemoryFormat:
    """`value` if it is a memory format. Raises TypeError that names the function otherwise."""
    if not isinstance(value, MemoryFormat):
        raise TypeError(f"{function}(): argument 'memory_format' must be lucid.memory_format, not {type(value).__name__}")
    return value


def format_of(array: Array) -> MemoryFormat:
    """The format that the strides of `array` suggest: a channels-last one, else contiguous.

    Lengths of 1 leave several formats possible. As in PyTorch the channels then count as last only where the strides are
    those that a new channels-last array gets.
    """
    for wanted in (channels_last, channels_last_3d):
        axes = wanted.axes(wanted.value) if array.ndim == wanted.value else None
        if axes is None or 0 in array.shape or array.strides[1] == 0:
            continue
        inside = 0
        for axis in reversed(axes):
            step = array.strides[axis]
            if step < inside or (axis == 0 and inside == array.strides[1]):
                break
            inside = step * array.shape[axis]
        else:
            return wanted
    return contiguous_format


def is_contiguous(array: Array, wanted: MemoryFormat = contiguous_format) -> bool:
    """Whether `array` is dense and in the format `wanted`; False for a format of another rank."""
    if wanted.value <= 0:
        return bool(array.flags.c_contiguous)
    if array.ndim != wanted.value:
        return False
    return bool(array.transpose(wanted.axes(array.ndim)).flags.c_contiguous)


def memory_axes(array: Array) -> tuple[int, ...]:
    """The dimensions of `array` from the outermost in memory to the innermost. Broadcast ones stay beside their neighbours."""
    return _memory_axes(array.shape, array.strides)


@functools.lru_cache(4096)
def _memory_axes(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    order: list[int] = []
    for axis, step in enumerate(strides):
        place = len(order)
        for before in range(len(order) - 1, -1, -1):
            other = strides[order[before]]
            if step == 0 or other == 0:
                continue
            if abs(step) < abs(other) or (abs(step) == abs(other) and shape[axis] <= shape[order[before]]):
                break
            place = before
        order.insert(place, axis)
    return tuple(order)


def inverse(axes: Axes) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def in_memory_order(array: Array, function: Callable[[Array], Array]) -> Array:
    """``function(array)`` for a function that makes a row-major array of the same shape, laid out in memory as `array` is."""
    if array.flags.c_contiguous:
        return function(array)
    axes = memory_axes(array)
    return function(array.transpose(axes)).transpose(inverse(axes))
