"""New arrays, copies, views and joined arrays on a GPU."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import cupy

from ..common import creation, manipulation, pad, slices, unfold, views
from ..merge import merge

Array = Any


def fill(x: Array, *, value: Any, out: Array | None = None) -> Array:
    """`value`, a number, in the shape of `x`."""
    result = cupy.empty_like(x) if out is None else out
    result[...] = value
    return result


def increment(counter: Array) -> Array:
    """``counter += 1``, in place."""
    counter += 1
    return counter


def contiguous(x: Array) -> Array:
    """`x` in row-major order; a copy where it is not."""
    return cupy.ascontiguousarray(x).reshape(x.shape)  # a 0-d array would be a vector


def concatenate(*arrays: Array, axis: int) -> Array:
    """The arrays one after the other along `axis`."""
    return cupy.concatenate(arrays, axis=axis)


def stack(*arrays: Array, axis: int) -> Array:
    """The arrays along a new `axis`."""
    return manipulation.stack(cupy.concatenate, arrays, axis)


_FUNCTIONS: Sequence[Callable[..., Any]] = (
    manipulation.copy, manipulation.cast, manipulation.flip, manipulation.reshape, fill, increment, contiguous, concatenate,
    stack)
TABLE: dict[str, Callable[..., Any]] = merge(
    creation.table(cupy), manipulation.table(cupy), views.table(cupy), pad.table(cupy.empty, cupy.copyto),
    slices.table(cupy.empty, cupy.ndarray.fill, cupy.copyto, operator.iadd), unfold.table(cupy, cupy.copyto),
    {function.__name__: function for function in _FUNCTIONS},
    {"broadcast_to": cupy.broadcast_to, "diagonal": cupy.diagonal, "empty": cupy.empty, "full": cupy.full, "roll": cupy.roll,
     "tril": cupy.tril, "triu": cupy.triu})
