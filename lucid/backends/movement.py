"""Views that NumPy and CuPy make, written once: `table(xp)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import sharing
from .memory_format import memory_axes

Array = Any
Kernel = Callable[..., Any]


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
        whole = sharing.owner(x)
        if not whole.transpose(memory_axes(whole)).flags.c_contiguous:
            raise ValueError("as_strided needs memory without gaps: clone() the tensor first")
        size = x.dtype.itemsize
        place = sharing.part(whole, x)
        start = (0 if place is None else place.offset) + offset * size
        low, high = sharing.reach(shape, strides)
        if start + low * size < 0 or start + (high + 1) * size > whole.nbytes:
            raise ValueError(f"sizes {list(shape)}, strides {list(strides)} and offset {start // size} are out of bounds for "
                             f"storage of {whole.nbytes // size} elements")
        return sharing.take(whole, sharing.Part(start, shape, tuple(step * size for step in strides), x.dtype))

    return {"diagonal": diagonal, "as_strided": as_strided}
