"""The layout of arrays that are broadcast together, as `map.cuh` reads it, and the launch of a kernel over them."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import formula, launch

MOST = 32  # arrays of a kernel whose layout has all dimensions
Shape = tuple[int, ...]
Array = Any


def result(out: Array | None, shape: Shape, dtype: Any, arrays: Sequence[Array]) -> Array:
    """The array that a kernel writes: `out` if it has the shape and the dtype, else a new one, in the order in which those of
    `arrays` that have its shape lie in memory, as CuPy's and PyTorch's functions make it.
    """
    if out is not None and out.dtype == dtype and out.shape == shape:
        return out
    if len(shape) > 1:
        order = None
        for array in arrays:
            if array.shape != shape:
                continue
            if array._c_contiguous:
                break
            found = _order(shape, array.strides, array.itemsize)
            if found is None or (order is not None and found != order):
                break
            order = found
        else:
            if order is not None:
                lengths, inverse = order
                return launch.empty(lengths, dtype).transpose(inverse)
    return launch.empty(shape, dtype)


@functools.lru_cache(1024)
def _order(shape: Shape, strides: Shape, itemsize: int) -> tuple[Shape, Shape] | None:
    """The shape of a dense array in the order of its memory, and the axes that turn it back; None of one that has gaps."""
    axes = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    expected = itemsize
    for axis in reversed(axes):
        if shape[axis] != 1:
            if strides[axis] != expected:
                return None
            expected *= shape[axis]
    return tuple([shape[axis] for axis in axes]), tuple([axes.index(axis) for axis in range(len(axes))])


def run(kernel: Any, results: Sequence[Array], arguments: Sequence[Any], constants: Sequence[Any] = (), group: int = 0) -> None:
    """Launch `kernel` of results of one shape and of arrays that broadcast to it, of any strides; or numbers, which
    `recording.number` has made. Its threads compute groups of `group` elements; 0: a formula's.
    """
    shape = results[0].shape
    arrays = [*results, *[x for x in arguments if x.__class__ is cupy.ndarray]]
    found = _layout(shape, tuple([(a.shape, a.strides, a.itemsize, a.data.ptr & 15) for a in arrays]), group)
    if found is None:  # rare: spell the broadcast out
        arguments = [cupy.ascontiguousarray(cupy.broadcast_to(x, shape)) if x.__class__ is cupy.ndarray else x for x in arguments]
        written = [launch.empty(shape, y.dtype) for y in results]
        run(kernel, written, arguments, constants, group)
        for y, target in zip(written, results, strict=True):
            launch.deliver(y, target)
        return
    layout, groups = found
    written, arguments = [memory(y) for y in results], [memory(x) if x.__class__ is cupy.ndarray else x for x in arguments]
    kernel(*launch.grid_1d(groups), (*written, *arguments, *constants, layout, np.int64(groups)))


def memory(array: Array) -> Array:
    """What the kernel gets for `array`: the memory from its first address to its last, since kernels are given no strides."""
    if array._c_contiguous:
        return array
    before, length = extent(array.shape, array.strides, array.itemsize)
    return cupy.ndarray((length,), array.dtype, array.data - before * array.itemsize if before else array.data)


@functools.lru_cache(4096)
def extent(shape: Shape, strides: Shape, itemsize: int) -> tuple[int, int]:
    """Elements in front of the first one, in memory, and from the first address to the last."""
    ends = [(size - 1) * (stride // itemsize) for size, stride in zip(shape, strides, strict=True)]
    before = -sum(end for end in ends if end < 0)
    return before, before + sum(end for end in ends if end > 0) + 1


@functools.lru_cache(4096)
def _layout(shape: Shape, arrays: tuple[tuple[Shape, Shape, int, int], ...], group: int) -> tuple[np.ndarray, int] | None:
    """The kernel's `Layout` for arrays (shape, strides, item size, misalignment), and how many groups it has in all; None if more
    dimensions remain than it can hold.
    """
    group = group or formula.width(itemsize for _, _, itemsize, _ in arrays)
    dims = dimensions(shape, [array[:3] for array in arrays])
    if len(dims) > _dims(len(arrays)):
        return None
    wide = 0
    for place, (_, _, itemsize, misalignment) in enumerate(arrays):
        vector = group * itemsize
        outer = all(step[place] * itemsize % vector == 0 for _, step in dims[1:])
        if dims[0][1][place] == 1 and outer and misalignment % vector == 0:
            wide |= 1 << place
    found = _written(dims, len(arrays), group, wide)
    found["first"] = [extent(own, strides, itemsize)[0] for own, strides, itemsize, _ in arrays]
    return found, int(found["groups"]) * math.prod(size for size, _ in dims[1:])


def dimensions(shape: Shape, arrays: Sequence[tuple[Shape, Shape, int]]) -> list[tuple[int, list[int]]]:
    """The size of each dimension and the steps in elements of the arrays (shape, strides, item size), the innermost of the first
    array first; those that continue each other are one.
    """
    steps = [_steps(own, strides, len(shape), itemsize) for own, strides, itemsize in arrays]
    order = sorted(range(len(shape)), key=lambda d: (-abs(steps[0][d]) if shape[d] > 1 else 0, d))
    return _collapsed(tuple([shape[d] for d in order]), [[own[d] for d in order] for own in steps])


def layout(shape: Shape, steps: Sequence[Shape], group: int = 1, aligned: bool = False, first: int = 0) -> np.ndarray:
    """The `Layout` of arrays, by their steps in elements, in the order of `shape`; `aligned`: whether the first one
    has vectors where its innermost steps are 1. `first` is where the last one begins.
    """
    dims = _collapsed(shape, steps)
    assert len(dims) <= _dims(len(steps)), "more dimensions than an array has"
    outer = all(step[0] % group == 0 for _, step in dims[1:])
    found = _written(dims, len(steps), group, int(aligned and dims[0][1][0] == 1 and outer))
    found["first"][-1] = first
    return found


def _collapsed(shape: Shape, steps: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """The size and the steps of each dimension, the innermost first, where one does not continue the one inside of it."""
    dims: list[tuple[int, list[int]]] = []
    for d in reversed(range(len(shape))):
        size, step = shape[d], [own[d] for own in steps]
        if size == 1:
            continue
        if dims and all(a == dims[-1][0] * b for a, b in zip(step, dims[-1][1], strict=True)):
            dims[-1] = dims[-1][0] * size, dims[-1][1]
        else:
            dims.append((size, step))
    return dims or [(1, [0] * len(steps))]


def _written(dims: list[tuple[int, list[int]]], arrays: int, group: int, wide: int) -> np.ndarray:
    found = np.zeros((), _dtype(arrays))
    found["size"] = 1
    for d, (size, step) in enumerate(dims):
        found["size"][d] = size
        found["step"][:, d] = step
    found["groups"] = -(-dims[0][0] // group)
    found["dims"] = len(dims)
    found["wide"] = [wide >> 32 * word & 0xFFFFFFFF for word in range(len(found["wide"]))]
    return found


def _dims(arrays: int) -> int:
    return 8 if arrays <= MOST else 1


@functools.cache
def _dtype(arrays: int) -> np.dtype:
    dims = _dims(arrays)
    return np.dtype([("size", np.int64, (dims,)), ("step", np.int64, (arrays, dims)), ("first", np.int64, (arrays,)),
                     ("groups", np.int64), ("dims", np.int32), ("wide", np.uint32, (-(-arrays // 32),))], align=True)


def _steps(shape: Shape, strides: Shape, ndim: int, itemsize: int) -> list[int]:
    """Strides in elements for `ndim` dimensions, 0 where the array has size 1 or no dimension."""
    steps = [0 if size == 1 else stride // itemsize for size, stride in zip(shape, strides, strict=True)]
    return [0] * (ndim - len(steps)) + steps
