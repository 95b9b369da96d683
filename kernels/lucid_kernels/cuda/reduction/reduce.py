"""Reductions along any dimensions, one kernel each, with a second one where few results would leave the device idle.

How an array is divided depends on its shape and strides alone, so that the result is the same on every device. Rows, whose
elements lie close together, get as many threads as they have elements to read, up to a block; columns are read side by side.
"""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

Axes = int | tuple[int, ...] | None
Array = Any

FLOATING = frozenset("eEfd")
_BLOCKS = 264  # that occupy any device: two on each multiprocessor of an H100
_THREADS = 512  # of a row in the end
_GROUPS = 8  # that a thread reads before more threads are worth while
_ROWS = 64  # that a block reads of a column before it is worth dividing
#: The bytes of an accumulator that are not 8, of those that are wide and the others.
_ACCUMULATORS = {"Peak": (16, 16), "ArgMax": (16, 16), "ArgMin": (16, 16), "LogSumExp": (8, 16), "Variance": (16, 32),
                 "Deviation": (16, 32)}


#: The most dimensions of an array.
MOST_DIMS = 8


class _Division(NamedTuple):
    """How an array is reduced: the kernel, the outputs of a thread where it reads columns, its layouts, the steps along the
    reduced elements, those of a chunk, the grid.
    """

    kernel: str
    pack: int
    kept: Any
    reduced: Any
    outputs: int
    steps: int
    chunk: int
    chunks: int
    grid: tuple[int, int]
    block: tuple[int, int]


def reduce(operation: str, x: Array, axis: Axes, keepdims: bool, dtype: Any, second: Any = None, *, p: float = 0.0,
           q: float = 0.0, out: Array | None = None) -> Any:
    """What `operation` of reduce.cuh makes of the elements of `x` along `axis`, of which there are some: an array of `dtype`,
    and one of dtype `second` if that is given. An index, of int64, counts along one dimension or all.
    """
    axes = normalized(axis, x.ndim)
    if second == np.int64 and len(axes) > 1:
        x = copies.contiguous(x)  # the index counts the elements in this order
    shape = tuple([1 if d in axes else size for d, size in enumerate(x.shape) if keepdims or d not in axes])
    y = launch.result(out, shape, dtype)
    other = y if second is None else launch.empty(shape, second)
    found = _divide(x.shape, x.strides, x.itemsize, x.data.ptr & 15, axes, x.dtype.char in "eEf")
    parts = y  # read and written by nobody
    if found.chunks > 1:
        nbytes = _ACCUMULATORS.get(operation, (8, 8))[x.dtype.char == "d"]
        parts = launch.empty((found.chunks * found.outputs * nbytes // 8,), np.float64)
    kind = "i64" if x.dtype.char in "lq" else launch.ctype(x.dtype)
    numbers, file = (np.float64(p), np.float64(q)), "extremes" if operation == "Peak" else "reduce"
    pack = f", {found.pack}" if found.pack else ""
    launch.kernel(file, f"{found.kernel}<{operation}<{kind}>{pack}>")(
        found.grid, found.block,
        (y, other, parts, strides.memory(x), found.kept, found.reduced, np.int64(found.outputs), np.int64(found.steps),
         np.int64(found.chunk), *numbers))  # fmt: skip
    if found.chunks > 1:
        across = 1
        while across < 32 and across < found.outputs:
            across *= 2
        launch.kernel(file, f"combine<{operation}<{kind}>>")(
            (launch.ceil_div(found.outputs, across),), (across, _THREADS // across),
            (y, other, parts, found.kept, np.int64(found.outputs), np.int64(found.chunks), *numbers))  # fmt: skip
    y = launch.deliver(y, out)
    return y if second is None else (y, other)


def channel_sums(x: Array, *, out: Array | None = None) -> Array:
    """The sums of x (N, C, *) over all dimensions but the second: gradients of biases."""
    if x.dtype.char in FLOATING and x.size and x.ndim <= MOST_DIMS:
        return reduce("SumAll", x, (0, *range(2, x.ndim)), False, x.dtype, out=out)
    return launch.deliver(x.sum((0, *range(2, x.ndim))).astype(x.dtype, copy=False), out)


def normalized(axis: Axes, ndim: int) -> tuple[int, ...]:
    """The dimensions that `axis` names, sorted."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    return tuple(sorted([a % ndim for a in axes]))


@functools.lru_cache(4096)
def _divide(shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int, misalignment: int, axes: tuple[int, ...], packed: bool
            ) -> _Division:
    kept_shape = tuple([size for d, size in enumerate(shape) if d not in axes])
    kept_strides = tuple([step for d, step in enumerate(steps) if d not in axes])
    axes = tuple(sorted(axes, key=lambda d: (-abs(steps[d]), d)))
    reduced_shape, reduced_strides = tuple([shape[d] for d in axes]), tuple([steps[d] for d in axes])
    outputs, length = math.prod(kept_shape), math.prod(reduced_shape)
    group = min(8, 16 // itemsize)
    innermost = min([abs(step) for size, step in zip(reduced_shape, reduced_strides, strict=True) if size > 1], default=0)
    beside = min([abs(step) for size, step in zip(kept_shape, kept_strides, strict=True) if size > 1], default=innermost)
    by_rows = innermost <= beside
    # The results are made in the order in which `x` lies in memory, and stand in theirs.
    order = tuple(sorted(range(len(kept_shape)), key=lambda d: -abs(kept_strides[d])))
    of_results = _row_major(kept_shape)
    kept = strides.layout(tuple([kept_shape[d] for d in order]),
                          (tuple([of_results[d] for d in order]), tuple([kept_strides[d] // itemsize for d in order])))
    aligned = misalignment % (group * itemsize) == 0 and all(
        step % (group * itemsize) == 0 for size, step in zip(kept_shape, kept_strides, strict=True) if size > 1)
    reduced = strides.layout(reduced_shape, (tuple([step // itemsize for step in reduced_strides]),), group if by_rows else 1,
                             aligned, _extent_before(shape, steps, itemsize))
    if by_rows:
        groups = int(reduced["groups"]) * math.prod(int(size) for size in reduced["size"][1:int(reduced["dims"])])
        threads = 1
        while threads < 32 and threads < groups:
            threads *= 2
        while threads >= 32 and threads < _THREADS and threads * _GROUPS < groups:
            threads *= 2
        together = max(1, 256 // threads) if threads <= 32 else 1
        blocks = launch.ceil_div(outputs, together)
        chunks = _chunks(blocks, groups, threads * _GROUPS)
        chunk = launch.ceil_div(groups, chunks)
        return _Division("rows", 0, kept, reduced, outputs, groups, chunk, chunks, (blocks, chunks), (threads, together))
    turns = 1
    while turns < 8 and turns * 16 < length:
        turns *= 2
    pack = 16 // itemsize if packed and not misalignment and _in_packs(kept, reduced, 16 // itemsize) else 1
    across = outputs // pack
    width = 256 // turns if across > 32 else 32
    blocks = launch.ceil_div(across, width)
    chunks = _chunks(blocks, length, _ROWS)
    chunk = launch.ceil_div(length, chunks)
    return _Division("columns", pack, kept, reduced, outputs, length, chunk, chunks, (blocks, chunks), (width, turns))


def _in_packs(kept: Any, reduced: Any, pack: int) -> bool:
    """Whether so many outputs beside each other read elements beside each other, at multiples of their size."""
    whole = not kept["size"][0] % pack and kept["step"][1][0] == 1
    return bool(whole and not (kept["step"][1][1:] % pack).any() and not (reduced["step"][0] % pack).any())


def _chunks(blocks: int, steps: int, least: int) -> int:
    """Into how many chunks of at least so many steps the work of too few blocks is divided."""
    return max(1, min(launch.ceil_div(_BLOCKS, blocks) if blocks < _BLOCKS // 2 else 1, steps // least))


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def _extent_before(shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> int:
    """Elements in front of the first one."""
    return -sum((size - 1) * (step // itemsize) for size, step in zip(shape, steps, strict=True) if step < 0)
