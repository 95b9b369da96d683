"""New arrays, copies, views and joined arrays on a GPU."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.movement.concatenate import concatenate

from ..common import creation, manipulation, pad, slices, unfold, views
from ..memory_format import in_memory_order, inverse
from ..merge import merge
from . import planning

Array = Any


def fill(x: Array, *, value: Any, out: Array | None = None) -> Array:
    """`value`, a number, in the shape of `x`."""
    result = copies.like(x, x.dtype) if out is None else out
    return copies.fill(result, value)


def increment(counter: Array) -> Array:
    """``counter += 1``, in place."""
    counter += 1
    return counter


def copy(x: Array, *, axes: tuple[int, ...] | None = None, out: Array | None = None) -> Array:
    """`axes` are the dimensions from the outermost in memory to the innermost; None is row-major order."""
    if out is not None:
        return copies.copy(x, out)
    if axes is None:
        return copies.copied(x, x.dtype)
    return copies.copied(x.transpose(axes), x.dtype).transpose(inverse(axes))


def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Array:
    """`x` as another dtype, laid out in memory as it is."""
    if out is not None:
        return copies.copy(x, out)
    return in_memory_order(x, lambda array: copies.copied(array, dtype))


def contiguous(x: Array) -> Array:
    """`x` in row-major order; a copy where it is not."""
    return copies.contiguous(x)


def stack(*arrays: Array, axis: int) -> Array:
    """The arrays along a new `axis`."""
    return manipulation.stack(lambda parts, axis: concatenate(*parts, axis=axis), arrays, axis)


_FUNCTIONS: Sequence[Callable[..., Any]] = (
    copy, cast, manipulation.flip, manipulation.reshape, fill, increment, contiguous, concatenate, stack)
TABLE: dict[str, Callable[..., Any]] = merge(
    creation.table(cupy), manipulation.table(cupy), views.table(cupy), pad.table(cupy.empty, cupy.copyto),
    slices.table(cupy.empty, cupy.ndarray.fill, copies.copy_each, operator.iadd), unfold.table(cupy, cupy.copyto),
    planning.all_planned({function.__name__: function for function in _FUNCTIONS}),
    {"broadcast_to": cupy.broadcast_to, "diagonal": cupy.diagonal, "empty": cupy.empty, "full": cupy.full, "roll": cupy.roll,
     "tril": cupy.tril, "triu": cupy.triu})
