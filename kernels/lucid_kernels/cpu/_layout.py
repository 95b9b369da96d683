"""What every CPU kernel does around its loops: contiguous inputs, results and `out`, half precision, chunks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import ml_dtypes
import numpy as np

from ._compile import jit_exact
from ._pool import empty
from .strided_copy import copy

Array = np.ndarray[Any, Any]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

# Elements in one chunk of a parallel loop. The size is fixed, so results do not depend on the number of threads;
# 16384 float32 fill 64 KiB: three such arrays stay in a 1 MiB L2 cache.
GRAIN = 1 << 14
# Below this many elements a launch (1 us by the team, 9 by TBB) costs more than the second core gives back.
PARALLEL_FROM = 1 << 15
# The same for loops that compute little, in bytes read and written: half of an L2 cache, which one thread reads as fast as two
# that take from each other what the last kernel left there. relu of 50,000 numbers took 7 us on two threads, on one it takes 4.6.
PARALLEL_BYTES = 1 << 19
# A row of a formula is a call of its serial loop, 35 ns: below this many elements that costs more than copying arguments out.
SHORTEST_ROW = 64
# From here on halves are converted by a kernel of ours (`half_precision`).
_CONVERTED_FROM = 1 << 12


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


@jit_exact
def row_chunk(length: int) -> int:
    """How many rows of `length` elements one iteration of a parallel loop takes; called inside a parallel kernel.

    One call a row costs 35 ns, and the threads fight over the arrays' reference counts: at 2048 rows of 64 elements
    that took three times as long as the serial loop.
    """
    return max(1, GRAIN // max(1, length))


@jit_exact
def stretches(inner: int, width: int) -> int:
    """The number of stretches of `width` columns that `inner` columns make; called inside a parallel kernel."""
    return (inner + width - 1) // width


@jit_exact
def stretch(index: int, inner: int, width: int) -> tuple[int, int, int]:
    """Stretch `index` of the planes of an array (outer, C, inner): its plane, and its columns [start, stop)."""
    count = stretches(inner, width)
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
    if inner < SHORTEST_ROW:
        return None
    pitches = [_row_pitch(shape, *array, inner) for array in arrays]
    return (inner, pitches) if min(pitches) >= 0 else None


def lies_in_rows(x: Array) -> bool:
    """Whether `x` is contiguous, or long rows of it are, each as far from the one before it."""
    return x.flags.c_contiguous or common_rows(x.shape, (x.strides, x.itemsize)) is not None


@overload
def upcast_half(function: Kernel) -> Kernel: ...
@overload
def upcast_half(*, results: tuple[int | None, ...]) -> Callable[[Kernel], Kernel]: ...
def upcast_half(function: Any = None, *, results: tuple[int | None, ...] | None = None) -> Any:
    """Give a float32 kernel float16 and bfloat16: half arguments become float32, results are rounded once.

    By default every result has the dtype of the first half argument. `results` names for each result the argument
    whose dtype it takes (the first half argument where that one is `None`); a `None` entry stays as computed:
    `@upcast_half(results=(0, None, None))` for `layer_norm`, whose mean and rstd stay float32.
    """
    if function is None:
        return functools.partial(_upcast_half, results=results)
    return _upcast_half(function, results=None)


def _upcast_half(function: Callable[..., Any], results: tuple[int | None, ...] | None) -> Callable[..., Any]:
    @functools.wraps(function)
    def kernel(*arrays: Array | None, out: Any = None, **attributes: Any) -> Any:
        for array in arrays:
            # The item size is four times as fast to ask for as the dtype; int16 arguments take the slow way.
            if array is not None and array.itemsize == 2:
                return _run_upcast(function, results, arrays, out, attributes)
        return function(*arrays, out=out, **attributes)

    return kernel


def _run_upcast(
    function: Callable[..., Any],
    results: tuple[int | None, ...] | None,
    arrays: tuple[Array | None, ...],
    out: Any,
    attributes: dict[str, Any],
) -> Any:
    halves = [array.dtype for array in arrays if array is not None and array.dtype in HALVES]
    if not halves:
        return function(*arrays, out=out, **attributes)
    wide = [widened(a) if a is not None and a.dtype in HALVES else a for a in arrays]
    computed = function(*wide, **attributes)
    if not isinstance(computed, tuple):
        return round_to(computed, halves[0], out)
    if results is None:
        dtypes: list[Any] = [halves[0]] * len(computed)
    else:
        dtypes = [None if index is None else getattr(arrays[index], "dtype", halves[0]) for index in results]
    return tuple(map(round_to, computed, dtypes, outputs(out, len(computed))))


def round_to(computed: Array | None, dtype: Any, out: Array | None) -> Array | None:
    """Round to `dtype` (as it is where `dtype` is None), into `out` where that is given; None stays None."""
    if computed is None:
        return None
    if dtype in HALVES and computed.dtype == np.float32 and computed.size >= _CONVERTED_FROM:
        from . import half_precision

        if half_precision.converts(dtype):
            return deliver(out, half_precision.narrow(computed, dtype))
    return deliver(out, computed if dtype is None else computed.astype(dtype, copy=False))


def widened(array: Array) -> Array:
    """Half-precision numbers as float32."""
    if array.size >= _CONVERTED_FROM:
        from . import half_precision

        if half_precision.converts(array.dtype):
            return half_precision.widen(array)
    return array.astype(np.float32)
