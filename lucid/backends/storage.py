"""Arrays over one piece of memory: copied so that the copies share memory too."""
from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes
from .memory_format import in_memory_order, inverse, memory_axes
from .stored_array import StoredArray, as_stored, bits_dtype

Array = Any


class Part(NamedTuple):
    """Where a view lies in the memory of the array that it is a view of: bytes from its start, and what is there."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


def owner(array: Array) -> Array:
    """The array whose memory `array` shows, if a copy of it would have the same layout; else `array` itself. Of a stored array
    it is that of its bits.
    """
    if not has_memory(array):
        return array
    array = bits_of(array)
    base = below = array
    while below is not None and below.__class__ is array.__class__:
        base = below
        below = base.base if base.base is not None else _taken_from(base)
    gapless = base.transpose(memory_axes(base)).flags.c_contiguous
    return base if gapless and array.size else array


def part(whole: Array, array: Array) -> Part | None:
    """Where `array` lies in `whole`, which owns its memory; None if it is `whole`."""
    if array is whole:
        return None
    return Part(address(array) - address(whole), array.shape, array.strides, array.dtype)


def take(whole: Array, place: Part | None) -> Array:
    """The view of `whole` at `place`."""
    if place is None:
        return whole
    offset, shape, strides, dtype = place
    if dtype.__class__ in _dtypes.STORED_CLASSES:
        bits = take(bits_of(whole), place._replace(dtype=bits_dtype(dtype)))
        return as_stored(bits, dtype, whole)
    whole = bits_of(whole)
    if _on_host(whole):
        memory = whole.ravel(order="K").view(np.uint8)  # no copy: an owner has no gaps
        return np.ndarray(shape, dtype, memory, offset, strides)
    pointer = whole.data
    view = whole.__class__(shape, dtype, type(pointer)(pointer.mem, pointer.ptr - pointer.mem.ptr + offset), strides)
    number = id(view)
    _taken[number] = weakref.ref(view, lambda _: _taken.pop(number, None)), whole
    return view


# CuPy knows of no base where strides were given, so this remembers it: id of a view -> (the view, what it was taken from).
_taken: dict[int, tuple[weakref.ref[Any], Array]] = {}


def _taken_from(array: Array) -> Array | None:
    view, whole = _taken.get(id(array), (None, None))
    return whole if view is not None and view() is array else None


def follow(whole: Array, result: Array, array: Array) -> Array | None:
    """The view of `result`, which is `whole` converted to another dtype or device, with the elements that `array`, a view of
    `whole`, shows. None where there is no such view: the elements lie in another order, or were seen as another dtype.
    """
    if array is whole:
        return result
    if result is whole:
        return array
    recast = result.dtype != whole.dtype
    if not has_memory(result) or memory_axes(result) != memory_axes(whole) or (recast and array.dtype != whole.dtype):
        return None
    offset, shape, strides, dtype = address(array) - address(whole), array.shape, array.strides, array.dtype
    if recast:
        old, new, dtype = whole.dtype.itemsize, result.dtype.itemsize, result.dtype
        offset, strides = offset // old * new, tuple(step // old * new for step in strides)
    return take(result, Part(offset, shape, strides, dtype))


def lay_out(array: Array, wanted: tuple[int, ...]) -> Array:
    """`array`, or a copy of it without gaps, with the dimensions in memory in the order `wanted`."""
    if memory_axes(array) == wanted:
        return array
    return array.transpose(wanted).copy().transpose(inverse(wanted))


def copy(array: Array, memo: dict[int, Any]) -> Array:
    """A copy of `array` for `copy.deepcopy`: what shared memory before shares the copy of all that memory afterwards."""
    whole = owner(array)
    if id(whole) not in memo:
        memo[id(whole)] = in_memory_order(whole, lambda original: original.copy())
        memo.setdefault(id(memo), []).append(whole)  # keeps its id from being used again, as `copy.deepcopy` does
    return take(memo[id(whole)], part(whole, array))


def bits_of(array: Array) -> Array:
    """The integers that hold the bits of a stored array; any other array itself."""
    return array.value if array.__class__ is StoredArray else array


def elements_of(memory: Array, array: Array) -> Array:
    """The `owner` of a stored `array` as an array of its dtype; of any other array the owner itself."""
    if array.dtype.__class__ not in _dtypes.STORED_CLASSES or memory.dtype != bits_of(array).dtype:
        return memory
    return as_stored(memory, array.dtype)


def _on_host(array: Array) -> bool:
    return array.__class__ is np.ndarray


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """The smallest and the largest step from the first element of a non-empty array to another."""
    ends = [(length - 1) * step for length, step in zip(shape, strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def span(array: Array) -> tuple[int, int]:
    """The addresses of the first byte of a non-empty array, and behind the last; (0, 0) on the device meta."""
    if not has_memory(array):
        return 0, 0
    low, high = reach(array.shape, array.strides)
    return address(array) + low, address(array) + high + array.itemsize


def has_memory(array: Array) -> bool:
    """Whether there is memory to share: not on the device meta."""
    array = bits_of(array)
    return _on_host(array) or hasattr(array, "data")


def address(array: Array) -> int:
    """The address of the first element."""
    array = bits_of(array)
    return int(array.ctypes.data if _on_host(array) else array.data.ptr)
