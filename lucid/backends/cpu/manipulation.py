"""Shapes, orders and parts of CPU arrays."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lucid_kernels.cpu.arrays import broadcast
from lucid_kernels.cpu.runtime.allocator import empty

from ..common import manipulation, slices, unfold, views
from ..memory_format import in_memory_order
from ..merge import merge
from ..sizes import COPY_BYTES, COPY_ROWS_BYTES, MANY
from .bits import BITS, as_bits
from .copies import add_into, cast, contiguous, copy, copy_into, reshape
from .creation import fill_with
from .joining import concatenate, stack

Array = np.ndarray[Any, Any]


def flip(x: Array, *, axis: Any) -> Any:
    """A copy with the dimensions `axis` in reverse order, laid out in memory as `x` is."""
    if broadcast.repeats(x):
        return broadcast.of_distinct(lambda few: flip(few, axis=axis), x)
    if x.nbytes < COPY_BYTES:
        return manipulation.flip(x, axis=axis)
    bits = BITS.get(x.itemsize)
    outer = x.ndim
    while outer and outer - 1 in axis:
        outer -= 1
    if not x.flags.c_contiguous or outer == x.ndim or not bits:
        return in_memory_order(np.flip(x, axis), copy)
    from lucid_kernels.cpu.movement import flip as movement_flip

    # Dimensions at the end that are all turned around are rows in reverse order.
    rows = movement_flip.reverse(as_bits(x, bits).reshape(*x.shape[:outer], -1)).view(x.dtype).reshape(x.shape)
    others = tuple([dim for dim in axis if dim < outer])
    return copy(np.flip(rows, others)) if others else rows


def roll(x: Array, *, shift: Sequence[int], axis: Sequence[int]) -> Any:
    """The elements moved by `shift` along the dimensions `axis`, the last ones to the front."""
    if not x.size or not (x.flags.c_contiguous or 0 in x.strides):
        return np.roll(x, shift, axis)
    result: Array = empty(x.shape, x.dtype)
    parts = [(result, x)]
    for dim in set(axis):
        length, lead = x.shape[dim], (slice(None),) * dim
        steps = sum([step for step, other in zip(shift, axis) if other == dim]) % length
        halves = ((slice(steps, None), slice(length - steps)), (slice(steps), slice(length - steps, None)))
        parts = [(to[(*lead, there)], given[(*lead, here)]) for to, given in parts for there, here in halves]
    for to, given in parts:
        if x.nbytes < COPY_ROWS_BYTES:
            to[...] = given
        else:
            copy_into(to, given)
    return result


def broadcast_to(x: Array, *, shape: tuple[int, ...]) -> Array:
    """NumPy's takes eight times as long. A view of the result is one of the memory that `x` is in, as NumPy's result is."""
    lead = len(shape) - x.ndim
    if lead < 0 or not x.size or not x.flags.c_contiguous or x.shape == shape:
        return _broadcast(x, shape)
    steps = [0] * lead
    for own, length, step in zip(x.shape, shape[lead:], x.strides, strict=True):
        if own != length and own != 1:
            return _broadcast(x, shape)  # raises
        steps.append(step if own == length else 0)
    result: Array = np.ndarray(shape, x.dtype, x, 0, steps)
    return result if x.base is None else result[...]


def _broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    view = np.broadcast_to(x, shape)
    if x.flags.writeable:
        view.flags.writeable = True  # NumPy makes it read-only: elements of a part may have memory of their own
    return view


def diagonal(x: Array, *, offset: int, axis1: int, axis2: int) -> Array:
    """The view of a diagonal of axes `axis1` and `axis2`, as the last axis."""
    view = np.diagonal(x, offset, axis1, axis2)
    if x.flags.writeable:
        view.flags.writeable = True  # NumPy makes it read-only without need
    return view


def tril(x: Array, k: int = 0) -> Array:
    """`x` with zeros above a diagonal of its last two dimensions."""
    return _triangle(x, k, True)


def triu(x: Array, k: int = 0) -> Array:
    """`x` with zeros below a diagonal of its last two dimensions."""
    return _triangle(x, k, False)


def _triangle(x: Array, k: int, lower: bool) -> Array:
    bits = BITS.get(x.itemsize)
    if x.size < MANY or bits is None:
        return np.tril(x, k) if lower else np.triu(x, k)
    from lucid_kernels.cpu.movement import triangles

    return triangles.triangle(as_bits(x, bits), k, lower).view(x.dtype)


def _copy_each(targets: Sequence[Array], sources: Sequence[Array]) -> None:
    for target, source in zip(targets, sources, strict=True):
        copy_into(target, source)


_FUNCTIONS: Sequence[Callable[..., Any]] = (
    broadcast_to, cast, concatenate, contiguous, copy, diagonal, flip, reshape, roll, stack, tril, triu)
TABLE: dict[str, Callable[..., Any]] = merge(
    manipulation.table(np), views.table(np), slices.table(empty, fill_with, _copy_each, add_into),
    unfold.table(np, copy_into), {function.__name__: function for function in _FUNCTIONS})
