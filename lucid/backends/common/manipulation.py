"""Copies and views of other shapes as NumPy and CuPy make them alike: `table(xp)` has what is an operation of both."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..memory_format import in_memory_order, inverse

Array = Any
Kernel = Callable[..., Any]
_WHOLE, _BACKWARDS = slice(None), slice(None, None, -1)


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

    def diagonal_scatter(x: Array, *, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Array:
        """Zeros of `shape` with `x` on a diagonal of axes `axis1` and `axis2`."""
        result = xp.zeros(shape, x.dtype)
        steps = xp.arange(x.shape[-1])
        moved = xp.moveaxis(result, (axis1, axis2), (-2, -1))  # a view
        moved[..., steps + max(-offset, 0), steps + max(offset, 0)] = x
        return result

    functions: tuple[Kernel, ...] = (diagonal_scatter, real, imag, split, transpose, unbind, view_dtype)
    return {function.__name__: function for function in functions}


def view_dtype(x: Array, *, dtype: np.dtype) -> Array:
    """The memory of `x` as another dtype."""
    return x.view(dtype)


def transpose(x: Array, *, axes: tuple[int, ...]) -> Array:
    """The view with the dimensions in another order."""
    return x.transpose(axes)


def real(x: Array) -> Array:
    """The view of the real parts."""
    return x.real


def imag(x: Array) -> Array:
    """The view of the imaginary parts."""
    return x.imag


def split(x: Array, *, boundaries: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """The views between the `boundaries` along `axis`."""
    lead = (slice(None),) * axis
    edges = (0, *boundaries, x.shape[axis])
    return tuple([x[(*lead, slice(a, b))] for a, b in itertools.pairwise(edges)])


def unbind(x: Array, *, axis: int) -> tuple[Array, ...]:
    """The views of the slices along `axis`."""
    lead = (slice(None),) * axis
    return tuple([x[(*lead, place, ...)] for place in range(x.shape[axis])])  # with Ellipsis: an element is a view, too


def copy(x: Array, *, axes: tuple[int, ...] | None = None, out: Array | None = None) -> Array:
    """`axes` are the dimensions from the outermost in memory to the innermost; None is row-major order."""
    if out is None:
        return x.copy() if axes is None else x.transpose(axes).copy().transpose(inverse(axes))
    out[...] = x
    return out


def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Array:
    """`x` as another dtype, laid out in memory as it is."""
    result = in_memory_order(x, lambda array: array.astype(dtype, order="C"))
    if out is None:
        return result
    out[...] = result
    return out


def flip(x: Array, *, axis: Any) -> Array:
    """A copy with the dimensions `axis` in reverse order, laid out in memory as `x` is."""
    turned = x[tuple([_BACKWARDS if dim in axis else _WHOLE for dim in range(x.ndim)])]
    return turned.copy() if x.flags.c_contiguous else in_memory_order(turned, lambda array: array.copy())


def reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
    """A view in another shape, or a copy where the strides allow none."""
    return x.reshape(shape)


def stack(concatenate: Kernel, arrays: tuple[Array, ...], axis: int) -> Array:
    """The arrays along a new `axis`, by the `concatenate` of their module: half of the time of its `stack`."""
    shape = (*arrays[0].shape[:axis], 1, *arrays[0].shape[axis:])
    return concatenate([array.reshape(shape) for array in arrays], axis=axis)
