"""What every CPU kernel does around its loops: contiguous inputs, results and `out`, half precision, chunks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact
from .strided_copy import copy

Array = np.ndarray[Any, Any]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

# Elements in one chunk of a parallel loop. The size is fixed, so results do not depend on the number of threads;
# 16384 float32 fill 64 KiB: three such arrays stay in a 1 MiB L2 cache.
GRAIN = 1 << 14


def contiguous(array: Array) -> Array:
    """`array` itself if it is C-contiguous, else a C-contiguous copy of the same shape (0-d stays 0-d)."""
    return array if array.flags.c_contiguous else copy(array)


def result(out: Array | None, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array to compute into: `out` where a kernel can write it directly, else a new one (see `deliver`)."""
    if out is not None and out.dtype == dtype and out.shape == shape and out.flags.c_contiguous and out.flags.writeable:
        return out
    return empty(shape, dtype)


def deliver(out: Array | None, computed: Array) -> Array:
    """`computed`, or `out` after its values were copied there."""
    if out is None or out is computed:
        return computed
    np.copyto(out, computed, casting="same_kind")
    return out


def outputs(out: Sequence[Array | None] | None, count: int) -> Sequence[Array | None]:
    """The `count` entries of the `out` of a kernel with several results: all None where `out` is None."""
    return (None,) * count if out is None else out


@jit_exact
def chunks(size: int) -> int:
    """The number of chunks that `size` elements make; called inside a parallel kernel."""
    return (size + GRAIN - 1) // GRAIN


@jit_exact
def chunk(array: Array, index: int) -> Array:
    """Chunk `index` of a flat array. A slice, passed on to a serial kernel, vectorises; signed loop bounds do not."""
    return array[index * GRAIN : (index + 1) * GRAIN]


def rows_of_a_chunk(length: int) -> int:
    """How many rows of `length` elements one iteration of a parallel loop takes.

    One call a row costs 35 ns, and the threads fight over the arrays' reference counts: at 2048 rows of 64 elements
    that took three times as long as the serial loop.
    """
    return max(1, GRAIN // max(1, length))


row_chunk = jit_exact(rows_of_a_chunk)  # the same, called inside a parallel kernel


@jit_exact
def tiles(inner: int, width: int) -> int:
    """The number of tiles of `width` columns that `inner` columns make; called inside a parallel kernel."""
    return (inner + width - 1) // width


@jit_exact
def tile(index: int, inner: int, width: int) -> tuple[int, int, int]:
    """Tile `index` of the planes of an array (outer, C, inner): its plane, and its columns [start, stop)."""
    count = tiles(inner, width)
    start = index % count * width
    return index // count, start, min(start + width, inner)


def _row_pitch(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, inner: int) -> int:
    """The elements from one row of `inner` elements to the next one; -1 if that is not the same for all rows."""
    count, before, pitch = math.prod(shape), -1, inner
    steps: list[tuple[int, int]] = []  # how many rows, how far apart
    for n, step in zip(shape, strides, strict=True):
        if count > inner and n != 1:
            steps.append((n, step))
        count //= n
    for n, step in reversed(steps):
        if before >= 0 and step != before:
            return -1
        if before < 0:
            if step < 0 or step % itemsize:
                return -1
            pitch = step // itemsize
        before = step * n
    return pitch


def _row_length(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """The elements that are next to each other in rows."""
    length, dim = 1, len(shape)
    while dim and (shape[dim - 1] == 1 or strides[dim - 1] == length * itemsize):
        dim -= 1
        length *= shape[dim]
    return length


@functools.lru_cache(maxsize=1024)  # to find them takes 3 us, a third of the time of 16,384 elements
def common_rows(shape: tuple[int, ...], *arrays: tuple[tuple[int, ...], int]) -> tuple[int, list[int]] | None:
    """The length of the longest rows that lie without gaps in each of some arrays that have one `shape`, not empty, and are given
    by their strides and item sizes, and for each the elements from one such row to the next; None where they are short, or not
    evenly apart.
    """
    inner = min([_row_length(shape, *array) for array in arrays])
    if inner < tuning.SHORTEST_ROW:
        return None
    pitches = [_row_pitch(shape, *array, inner) for array in arrays]
    return (inner, pitches) if min(pitches) >= 0 else None


def has_dense_rows(x: Array) -> bool:
    """Whether `x` is contiguous, or long rows of it are, each as far from the one before it."""
    return x.flags.c_contiguous or common_rows(x.shape, (x.strides, x.itemsize)) is not None


