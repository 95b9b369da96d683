"""New CPU arrays, and those that are filled or counted up.

Large ones come from the pool, and begin with a whole vector. NumPy's begin 16 bytes after one, so that each vector that a
kernel takes lies across two lines of the cache: a step of Adam takes 1.1 to 1.2 times as long.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime import allocator

from ..common import creation
from ..merge import merge
from ..sizes import FILL_BYTES
from .copies import copy_into

Array = np.ndarray[Any, Any]

_INT64 = np.dtype(np.int64).num  # to compare a dtype with the class np.int64 makes a dtype of that first


def fill_with(out: Array, value: Any) -> Array:
    """out[...] = value; by our kernel for large arrays."""
    if out.nbytes >= FILL_BYTES and out.flags.writeable:
        copy_into(out, np.broadcast_to(np.asarray(value, out.dtype), out.shape))
    elif value.__class__ is float or value.__class__ is int:
        out.fill(value)  # in half of the time
    else:
        out[...] = value
    return out


def zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros, written by all threads where there are many."""
    return fill_with(allocator.empty(shape, dtype), 0)


def empty(*, shape: Sequence[int], dtype: Any) -> Array:
    return allocator.empty(tuple(shape), dtype)


def full(*, shape: Sequence[int], fill_value: Any, dtype: Any) -> Array:
    return fill_with(allocator.empty(tuple(shape), dtype), fill_value)


def fill(x: Array, *, value: Any, out: Array | None = None) -> Array:
    """`value`, a number, in the shape of `x`."""
    return fill_with(np.empty_like(x) if out is None else out, value)


def increment(counter: Array) -> Array:
    """``counter += 1``, in place."""
    if not counter.ndim and counter.dtype.num == _INT64:
        counter[()] = counter.item() + 1  # through Python, in a fifth of the time of NumPy's addition
    else:
        counter += 1
    return counter


TABLE: dict[str, Callable[..., Any]] = merge(
    creation.table(np), {"empty": empty, "full": full, "fill": fill, "increment": increment})
