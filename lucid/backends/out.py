"""The keyword `out`: which operations can write into memory that is there already, and what it must not overlap."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .elementwise import ROWS
from .memory_format import memory_axes
from .storage import address, has_memory

Array = Any

def may_write(name: str, arguments: Sequence[Any], out: Array, program: Any = None) -> bool:
    """Whether operation `name` can write its result into the memory of `out`; False where that must be a new array.

    Any arguments of any operation will do: arrays of several shapes, dtypes and devices, scalars and None. `program` is that of a
    formula.
    """
    kind, dtype, shape = out.__class__, out.dtype, out.shape
    on_cpu = kind is np.ndarray
    if program is not None:
        suits = on_cpu and program.dtypes == (dtype,) and out.flags.c_contiguous and out.flags.writeable
        return suits and all(array is None or _is_read_in_step(array, out) for array in arguments)
    row = ROWS.get(name)
    if row is None or not (row.out == "all" or (on_cpu and row.out == "cpu")) or hasattr(out, "is_sparse"):
        return False
    if dtype.kind == "c" or (row.truth and dtype.kind != "b"):  # complex functions are often made of several operations
        return False
    one_shape = True
    for array in arguments:
        if array.__class__ is kind:
            if not row.truth and array.dtype is not dtype and array.dtype != dtype:
                return False
            if array.shape != shape:
                one_shape = False
        elif hasattr(array, "dtype"):
            return False
    if not (out.flags.writeable if on_cpu else has_memory(out)):  # our kernels would not say so; a plain copy does
        return False
    return one_shape or _broadcast([array.shape for array in arguments if array.__class__ is kind]) == shape


def _is_read_in_step(array: Array, out: Array) -> bool:
    """Whether a formula that writes `out` reads no element of `array` that it has written before."""
    if array is out:
        return True
    return array.__class__ is np.ndarray and (array.shape == out.shape or not array.ndim) and not np.may_share_memory(array, out)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that arrays have together; None if they cannot be broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def share_partly(a: Array, b: Array) -> bool:
    """Whether two arrays without gaps share memory, but not element by element."""
    kind = a.__class__
    if a is b or kind is not b.__class__:
        return False
    if kind is np.ndarray:
        base, other_base = a.base, b.base
        if (a if base is None else base) is not (b if other_base is None else other_base):
            return False
    elif not has_memory(a):
        return False
    # Where they begin: without gaps they go on from there, and with gaps the answer is False.
    start, other, size, other_size = address(a), address(b), a.nbytes, b.nbytes
    if start >= other + other_size or other >= start + size or not size or not other_size:
        return False
    if start == other and size == other_size and a.strides == b.strides:
        return False
    return _gapless(a) and _gapless(b)


def _gapless(array: Array) -> bool:
    return bool(array.flags.c_contiguous or array.transpose(memory_axes(array)).flags.c_contiguous)
