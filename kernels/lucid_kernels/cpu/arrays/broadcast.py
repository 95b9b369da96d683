"""Elementwise functions of expanded arrays, as the gradient of a sum is one: what they repeat is computed once.

NumPy's loops over an element with a stride of 0 are serial, and kernels that need contiguous arrays would write it out and read
it again: `lerp` and `glu` of a million elements with their gradients took 2.7 and 1.6 times as long.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime import tuning

Array = np.ndarray[Any, Any]



def repeats(x: Any) -> bool:
    """Whether `x` is a large array that repeats elements along a dimension."""
    return isinstance(x, np.ndarray) and x.size >= tuning.BROADCAST_READ_FROM and 0 in x.strides and distinct(x).size < x.size


def distinct(x: Array) -> Array:
    """`x` with one element along each dimension that it is expanded in."""
    return x[tuple([slice(None) if stride else slice(1) for stride in x.strides])]


def materialized(x: Array, shape: tuple[int, ...]) -> Array:
    """`x` as an array of `shape`, which has memory for each element."""
    if x.shape == shape:
        return x
    from .strided_copy import copy  # compiles with Numba: imported with the first large array

    return copy(np.broadcast_to(x, shape))


def of_distinct(function: Callable[..., Array], *operands: Any) -> Array:
    """function(*operands), which broadcasts, for scalars and arrays some of which repeat elements."""
    shape = np.broadcast_shapes(*[np.shape(operand) for operand in operands])
    return materialized(function(*[distinct(x) if isinstance(x, np.ndarray) else x for x in operands]), shape)
