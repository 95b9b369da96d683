"""Copies and new arrays on the CPU: NumPy's, and for large copies our kernel, which all threads share and which transposes in
tiles.

Large arrays come from the pool, and begin with a whole vector. NumPy's begin 16 bytes after one, so that each vector that a
kernel takes lies across two lines of the cache: a step of Adam takes 1.1 to 1.2 times as long.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from lucid_kernels.cpu.arrays import broadcast
from lucid_kernels.cpu.runtime.allocator import empty

from ..families import LARGE, MANY
from ..half_precision import HALVES
from ..memory_format import in_memory_order, inverse
from .bits import BITS, as_bits

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

_LARGE_BYTES = 1 << 17  # bytes; Numba is imported with the first copy of as many
_LARGE_WRITE = 1 << 20  # bytes of rows that are written somewhere: NumPy's copies of whole rows are as fast up to there
# Bytes of arrays that are joined, or runs of theirs that are one after the other in the result, from which on NumPy takes longer.
_LARGE_JOIN, _MANY_RUNS = 1 << 18, 1 << 10
# Bytes of an array, or runs of its, for which the microsecond pays that a kernel needs for each array.
_JOINED_BYTES, _JOINED_RUNS = 1 << 11, 1 << 7
_LARGE_CAST = 1 << 16  # elements from which on a conversion is not NumPy's
_LARGE_FILL = 1 << 19  # bytes from which on threads share an array that is filled
# Arrays with gaps of so few bytes, in runs of so many, are joined by NumPy: a kernel for each takes twice as long.
_LARGE_PART, _LONG_RUN = 1 << 20, 1 << 10


def table(plain: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Entries in the place of `plain` ones, which they use for small arrays."""
    plain_copy, plain_contiguous, plain_concatenate, plain_stack, plain_cast, plain_flip, plain_roll, plain_broadcast_to = (
        plain[name] for name in ("copy", "contiguous", "concatenate", "stack", "cast", "flip", "roll", "broadcast_to")
    )

    def copy(x: Array, *, axes: tuple[int, ...] | None = None, out: Array | None = None) -> Any:
        if x.nbytes < _LARGE_BYTES:
            return plain_copy(x, axes=axes, out=out)
        if out is not None:
            if x.nbytes < _LARGE_WRITE or not _apart(x, out):
                return plain_copy(x, out=out)
            copy_into(out, x)
            return out
        return _row_major(x) if axes is None else _row_major(x.transpose(axes)).transpose(inverse(axes))

    def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Any:
        """By our kernels for many elements; from and to half precision through float32, as in PyTorch."""
        if x.size >= _LARGE_CAST and out is None and x.flags.c_contiguous and x.dtype != dtype:
            from lucid_kernels.cpu.elementwise import cast as elementwise_cast

            if elementwise_cast.serves(x.dtype, dtype):
                return elementwise_cast.convert(x, dtype)
        if x.itemsize == 8 and dtype.itemsize == 2 and x.dtype.kind == "f":
            x = x.astype(np.float32)
        given = x.dtype
        if x.size < MANY or out is not None or not x.flags.c_contiguous or (given not in HALVES and dtype not in HALVES):
            return plain_cast(x, dtype=dtype, out=out)
        from lucid_kernels.cpu.arrays import half_precision as kernels

        if any(kind in HALVES and not kernels.converts(kind) for kind in (given, dtype)) or "c" in (given.kind, dtype.kind):
            return plain_cast(x, dtype=dtype)
        wide = kernels.widen(x) if given in HALVES else x.astype(np.float32, copy=False)
        return kernels.narrow(wide, dtype) if dtype in HALVES else wide.astype(dtype, copy=False)

    def flip(x: Array, *, axis: Any) -> Any:
        if broadcast.repeats(x):
            return broadcast.of_distinct(lambda few: flip(few, axis=axis), x)
        if x.nbytes < _LARGE_BYTES:
            return plain_flip(x, axis=axis)
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
        if not x.size or not (x.flags.c_contiguous or 0 in x.strides):
            return plain_roll(x, shift=shift, axis=axis)
        result: Array = empty(x.shape, x.dtype)
        parts = [(result, x)]
        for dim in set(axis):
            length, lead = x.shape[dim], (slice(None),) * dim
            steps = sum([step for step, other in zip(shift, axis) if other == dim]) % length
            halves = ((slice(steps, None), slice(length - steps)), (slice(steps), slice(length - steps, None)))
            parts = [(to[(*lead, there)], given[(*lead, here)]) for to, given in parts for there, here in halves]
        put = np.copyto if x.nbytes < _LARGE_WRITE else copy_into
        for to, given in parts:
            put(to, given)
        return result

    def fill(x: Array, *, value: Any, out: Array | None = None) -> Any:
        return fill_with(np.empty_like(x) if out is None else out, value)

    def new_array(*, shape: Sequence[int], dtype: Any) -> Array:
        return empty(tuple(shape), dtype)

    def full(*, shape: Sequence[int], fill_value: Any, dtype: Any) -> Array:
        return fill_with(empty(tuple(shape), dtype), fill_value)

    def contiguous(x: Array) -> Array:
        return plain_contiguous(x) if x.nbytes < _LARGE_BYTES or x.flags.c_contiguous else _row_major(x)

    def reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
        if x.nbytes < _LARGE_BYTES or x.flags.c_contiguous:
            return x.reshape(shape)
        try:
            return np.reshape(x, shape, copy=False)
        except ValueError:  # its strides do not allow that shape
            return _row_major(x).reshape(shape)
        except TypeError:  # NumPy 2.0 does not know `copy`
            return x.reshape(shape)

    def broadcast_to(x: Array, *, shape: tuple[int, ...]) -> Array:
        """NumPy's takes eight times as long. Of a view it would be one of that, not of the memory that both are in."""
        lead = len(shape) - x.ndim
        if x.base is not None or lead < 0 or not x.size or not x.flags.c_contiguous or x.shape == shape:
            return plain_broadcast_to(x, shape=shape)
        steps = [0] * lead
        for own, length, step in zip(x.shape, shape[lead:], x.strides, strict=True):
            if own != length and own != 1:
                return plain_broadcast_to(x, shape=shape)  # raises
            steps.append(step if own == length else 0)
        result: Array = np.ndarray(shape, x.dtype, x, 0, steps)
        return result

    def concatenate(*arrays: Array, axis: int) -> Any:
        if not _pay_for_join(arrays, axis) or not _alike(arrays, axis):
            return plain_concatenate(*arrays, axis=axis)
        return _joined(arrays, axis)

    def stack(*arrays: Array, axis: int) -> Any:
        if not 0 <= axis <= arrays[0].ndim or not _pay_for_join(arrays, axis):
            return plain_stack(*arrays, axis=axis)
        place = (*(slice(None),) * axis, None)
        expanded = [array[place] for array in arrays]  # a tenth of the time of `expand_dims`
        return _joined(expanded, axis) if _alike(expanded, axis) else plain_stack(*arrays, axis=axis)

    return {"copy": copy, "broadcast_to": broadcast_to, "fill": fill, "flip": flip, "roll": roll, "empty": new_array,
            "full": full, "cast": cast, "contiguous": contiguous, "reshape": reshape, "concatenate": concatenate, "stack": stack}


def fill_with(out: Array, value: Any) -> Array:
    """out[...] = value; by our kernel for large arrays."""
    if out.nbytes >= _LARGE_FILL and out.flags.writeable:
        copy_into(out, np.broadcast_to(np.asarray(value, out.dtype), out.shape))
    else:
        out[...] = value
    return out


def _row_major(x: Array) -> Array:
    from lucid_kernels.cpu.arrays import strided_copy

    copied: Array = strided_copy.copy(x)
    return copied


def _apart(x: Array, out: Array) -> bool:
    """Whether `x` can be copied into `out` in any order."""
    return x.shape == out.shape and x.dtype == out.dtype and out.flags.writeable and not np.may_share_memory(x, out)


def copy_into(target: Array, source: Array) -> None:
    """target[...] = source, where they share no memory; by our kernel for large arrays."""
    if source.size < LARGE:
        np.copyto(target, source)
        return
    from lucid_kernels.cpu.arrays import strided_copy

    strided_copy.copy_into(target, source)


def add_into(target: Array, source: Array) -> None:
    """target += source, where they share no memory; by our kernel for large arrays of one dtype."""
    if source.size < LARGE or source.dtype != target.dtype:
        np.add(target, source, out=target)
        return
    from lucid_kernels.cpu.movement import accumulate

    accumulate.add_into(target, source)


def _alike(arrays: Sequence[Array], axis: int) -> bool:
    """Whether the arrays have one dtype, one shape but for `axis`, and row-major order: NumPy keeps another one."""
    first = arrays[0]
    for array in arrays:
        if array.shape == first.shape and array.dtype is first.dtype and array.flags.c_contiguous:
            continue
        shape = array.shape[:axis] + first.shape[axis : axis + 1] + array.shape[axis + 1 :]
        steps = [step for step, length in zip(array.strides, array.shape) if length != 1]
        if array.dtype != first.dtype or shape != first.shape or steps != sorted(steps, reverse=True):
            return False
    return 0 <= axis < first.ndim


def _pay_for_join(arrays: Sequence[Array], axis: int) -> bool:
    """Whether a kernel joins arrays in less time than NumPy, which takes 5 ns for each run of more than one element."""
    total = 0
    for array in arrays:
        total += array.nbytes
    lines = math.prod(arrays[0].shape[:axis])
    if lines < _JOINED_RUNS and total < len(arrays) * _JOINED_BYTES:
        return False
    runs = len(arrays) * lines
    return total >= _LARGE_JOIN or (runs >= _MANY_RUNS and total > runs * arrays[0].itemsize)


def _joined(arrays: Sequence[Array], axis: int) -> Array:
    """The arrays one after the other along `axis`."""
    if all(array.flags.c_contiguous and array.size for array in arrays):
        from lucid_kernels.cpu.movement import concatenate as movement_concatenate

        joined: Array = movement_concatenate.join(arrays, axis)
        return joined
    first = arrays[0]
    length = sum(array.shape[axis] for array in arrays)
    result: Array = empty((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype)
    runs = [math.prod(array.shape[axis:]) * array.itemsize for array in arrays]
    if min(runs) >= _LONG_RUN and max(array.nbytes for array in arrays) < _LARGE_PART:
        return np.concatenate(arrays, axis=axis, out=result)
    start = 0
    for array in arrays:
        stop = start + array.shape[axis]
        copy_into(result[(slice(None),) * axis + (slice(start, stop),)], array)
        start = stop
    return result
