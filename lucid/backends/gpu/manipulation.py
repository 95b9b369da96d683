"""New arrays, copies, views and joined arrays on a GPU."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.movement.concatenate import concatenate
from lucid_kernels.cuda.runtime import launch, plans, recording

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


_COMMON = slices.table(cupy.empty, cupy.ndarray.fill, copies.copy_each, operator.iadd)


def assemble(*parts: Array, shape: tuple[int, ...], indices: Sequence[Any], axes: tuple[int, ...] | None) -> Array:
    """The sum of arrays of `shape`, each zero but for one of `parts` at the basic index of the same number; see `slices`."""
    if len(parts) > copies.TOGETHER:
        return _COMMON["assemble"](*parts, shape=shape, indices=indices, axes=axes)
    # Slices are no keys.
    named = tuple([tuple([(item.start, item.stop, item.step) if item.__class__ is slice else item for item in index])
                   for index in indices])
    return _planned_assembled(*parts, shape=shape, named=named, axes=axes)


def assembled(*parts: Array, shape: tuple[int, ...], named: tuple[Any, ...], axes: tuple[int, ...] | None) -> Array:
    """`assemble` of a few parts, with slices as (start, stop, step)."""
    indices = [tuple([slice(*item) if item.__class__ is tuple else item for item in index]) for index in named]
    apart, full = slices.arrangement(shape, indices)
    first = parts[0]
    if not apart or first.dtype.char not in copies.KINDS or any(part.dtype != first.dtype for part in parts):
        recording.unrepeatable()
        return _COMMON["assemble"](*parts, shape=shape, indices=indices, axes=axes)
    result = launch.empty(shape if axes is None else [shape[a] for a in axes], first.dtype)
    if not full:
        copies.fill(result, 0)
    if axes is not None:
        result = result.transpose(inverse(axes))
    copies.copy_each([slices.part_of(result, index) for index in indices], parts)
    return result


_planned_assembled = plans.planned(assembled)

_FUNCTIONS: Sequence[Callable[..., Any]] = (
    copy, cast, manipulation.flip, manipulation.reshape, fill, increment, contiguous, concatenate, stack)
TABLE: dict[str, Callable[..., Any]] = merge(
    creation.table(cupy), manipulation.table(cupy), views.table(cupy), pad.table(cupy.empty, cupy.copyto),
    {"assemble": assemble, "add_at": _COMMON["add_at"]}, unfold.table(cupy, cupy.copyto),
    planning.all_planned({function.__name__: function for function in _FUNCTIONS}),
    {"broadcast_to": cupy.broadcast_to, "diagonal": cupy.diagonal, "empty": cupy.empty, "full": cupy.full, "roll": cupy.roll,
     "tril": cupy.tril, "triu": cupy.triu})
