"""Views that NumPy and CuPy make, written once: `table(xp)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import storage
from ..half_precision import wide
from ..memory_format import memory_axes

Array = Any
Kernel = Callable[..., Any]


def window_layout(shape: Sequence[int], strides: Sequence[int], dim: int, size: int, step: int
                  ) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and strides of `windows` of an array."""
    count = (shape[dim] - size) // step + 1
    return ((*shape[:dim], count, *shape[dim + 1:], size),
            (*strides[:dim], strides[dim] * step, *strides[dim + 1:], strides[dim]))


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

    def diagonal(x: Array, *, offset: int, axis1: int, axis2: int) -> Array:
        """The view of a diagonal of axes `axis1` and `axis2`, as the last axis."""
        view = xp.diagonal(x, offset, axis1, axis2)
        if xp is np and x.flags.writeable:
            view.flags.writeable = True  # NumPy makes it read-only without need
        return view

    def as_strided(x: Array, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
        """The memory of `x` with other lengths and steps, which start `offset` elements after the first of `x`.

        Raises ValueError for what reaches out of that memory.
        """
        if 0 in shape:
            return xp.empty(shape, x.dtype)
        whole = storage.owner(x)
        if not whole.transpose(memory_axes(whole)).flags.c_contiguous:
            raise ValueError("as_strided needs memory without gaps: clone() the tensor first")
        size = x.dtype.itemsize
        place = storage.part(whole, x)
        start = (0 if place is None else place.offset) + offset * size
        low, high = storage.reach(shape, strides)
        if start + low * size < 0 or start + (high + 1) * size > whole.nbytes:
            raise ValueError(f"sizes {list(shape)}, strides {list(strides)} and offset {start // size} are out of bounds for "
                             f"storage of {whole.nbytes // size} elements")
        return storage.take(whole, storage.Part(start, shape, tuple(step * size for step in strides), x.dtype))

    def windows(x: Array, *, dim: int, size: int, step: int) -> Array:
        """The view of all windows of `size` elements along `dim`, `step` apart, with their elements along a last axis."""
        steps = [stride // x.dtype.itemsize for stride in x.strides]
        shape, strides = window_layout(x.shape, steps, dim, size, step)
        return as_strided(x, shape=shape, strides=strides, offset=0)

    def windows_grad(g: Array, *, dim: int, length: int, step: int) -> Array:
        """Gradient of `windows` for its argument, which has `length` elements along `dim`: so many blocks of `step` elements."""
        dtype, count, size = g.dtype, g.shape[dim], g.shape[-1]
        g = wide(g)
        if dim + 2 < g.ndim:  # 6 us for nothing
            g = xp.moveaxis(g, -1, dim + 1)
        blocks = max(count - 1 + -(-size // step), -(-length // step))
        dx = xp.zeros((*g.shape[:dim], blocks, step, *g.shape[dim + 2:]), g.dtype)
        lead = (slice(None),) * dim
        for block in range(-(-size // step)):
            part = g[(*lead, slice(None), slice(block * step, (block + 1) * step))]
            dx[(*lead, slice(block, block + count), slice(part.shape[dim + 1]))] += part
        dx = dx.reshape(*dx.shape[:dim], blocks * step, *dx.shape[dim + 2:])[(*lead, slice(length))]
        return xp.ascontiguousarray(dx.astype(dtype, copy=False))

    return {"diagonal": diagonal, "as_strided": as_strided, "windows": windows, "windows_grad": windows_grad}
