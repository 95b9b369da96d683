"""Slices and elements of arrays of any dtype by index, on a GPU: see `take.cu`. Each byte of a result is read and written once.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

_WORDS = {16: "uint4", 8: "uint2", 4: "unsigned int", 2: "unsigned short", 1: "unsigned char"}


def _bytes(array: Any) -> Any:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8)


def embedding(weight: Any, indices: Any, *, padding_idx: int | None) -> Any:
    """The rows of `weight` named by `indices` of any shape; `padding_idx` matters to the gradient only."""
    return _take(weight, indices, 0)


def index_select(x: Any, indices: Any, *, axis: int) -> Any:
    """The slices of x along `axis` that `indices` (n,) name; those out of range, which somebody has reported, are 0."""
    return _take(x, indices, axis)


def _take(x: Any, indices: Any, axis: int) -> Any:
    x, indices = copies.contiguous(x), copies.contiguous(indices)
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    y = launch.empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    if y.size:
        size = inner * x.dtype.itemsize
        word = next(word for word in _WORDS if not size % word and not (x.data.ptr | y.data.ptr) % word)
        sizes = map(np.int64, (outer, x.shape[axis] if x.ndim else 1, indices.size, size // word))
        launch.kernel("take", f"take<{_WORDS[word]}, {launch.ctype(indices.dtype)}>")(
            *launch.grid_1d(y.nbytes // word), (_bytes(x), indices, _bytes(y), *sizes)
        )
    return y


def gather(x: Any, indices: Any, *, axis: int) -> Any:
    """``x[..., indices, ...]``, element by element along `axis`, for indices that may be shorter along the others."""
    axis %= max(1, indices.ndim)
    shorter = tuple(slice(None) if dim == axis else slice(length) for dim, length in enumerate(indices.shape))
    length = x.shape[axis] if x.ndim else 1
    x, indices = copies.contiguous(x[shorter]), copies.contiguous(indices.astype(np.int64, copy=False))
    y = launch.empty(indices.shape, x.dtype)
    if y.size:
        count, inner = (indices.shape[axis], math.prod(indices.shape[axis + 1 :])) if indices.ndim else (1, 1)
        sizes = map(np.int64, (y.size // (count * inner), length, count, inner))
        launch.kernel("take", f"take_along<{_WORDS[x.dtype.itemsize]}>")(
            *launch.grid_1d(y.size), (_bytes(x), indices, _bytes(y), *sizes)
        )
    return y
