"""Elements and slices by index, for NumPy and CuPy: `table(xp, scatter_add, combine_at)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any, scatter_add: Kernel, combine_at: Kernel) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy), with those that write elements, in place, some of them more than once:
    `scatter_add(array, index, values)`, and ``combine_at(function, array, index, values)``, which is NumPy's `function.at`.
    """
    combining = {"prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}

    def accumulate_at(target: Array, index: Any, values: Array) -> None:
        """Add in place with repeated indices; half-precision elements in float32, rounded once."""
        if target.dtype in HALVES:
            total = target.astype(np.float32)
            scatter_add(total, index, values.astype(np.float32))
            target[...] = total
        else:
            scatter_add(target, index, values)

    def along_axis(indices: Array, axis: int) -> tuple[Array, ...]:
        """The index of the elements that `take_along_axis(x, indices, axis)` reads."""
        index: list[Array] = []
        for dim, length in enumerate(indices.shape):
            positions = [1] * indices.ndim
            positions[dim] = length
            index.append(indices if dim == axis else xp.arange(length).reshape(positions))
        return tuple(index)

    def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
        """`x` with `values` (or a Python number) at `index`; `accumulate` adds them to what is there."""
        result = x.copy() if out is None else out
        if accumulate:
            accumulate_at(result, index, values)
        else:
            result[index] = values
        return result

    def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
        """Zeros of `shape` with `values` added at `index`; `unique` says that no element is named twice."""
        result = xp.zeros(shape, values.dtype)
        if unique:
            result[index] = values
        else:
            accumulate_at(result, index, values)
        return result

    def index_select(x: Array, indices: Array, *, axis: int) -> Array:
        return x.take(indices, axis=axis)  # the module's function takes 0.5 us more

    def index_select_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
        """Zeros of `shape` with the slices of `g` added where `index_select` would read."""
        return scatter_new(g, shape=shape, index=(*(slice(None),) * axis, indices), unique=False)

    def embedding(weight: Array, indices: Array, *, padding_idx: int | None) -> Array:
        """The rows of `weight` named by `indices` of any shape; `padding_idx` matters to the gradient only."""
        return weight.take(indices, axis=0)

    def index_add(x: Array, indices: Array, source: Array, *, axis: int, out: Array | None = None) -> Array:
        result = x.copy() if out is None else out
        accumulate_at(result, (slice(None),) * axis + (indices,), source)
        return result

    def gather(x: Array, indices: Array, *, axis: int) -> Array:
        """`take_along_axis` for indices that may be shorter than `x` along the other axes."""
        return x[along_axis(indices, axis)]

    def gather_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int, unique: bool = False) -> Array:
        """Zeros of `shape` with `g` added where `gather` would read; `unique` says that no element is named twice."""
        return scatter_new(g, shape=shape, index=along_axis(indices, axis), unique=unique)

    def scatter(x: Array, indices: Array, source: Any, *, axis: int, accumulate: bool = False,
                out: Array | None = None) -> Array:
        """`x` with `source` (or a Python number) where `gather` would read; `accumulate` adds to what is there."""
        result = x.copy() if out is None else out
        if accumulate:
            accumulate_at(result, along_axis(indices, axis), source if hasattr(source, "dtype") else xp.full((), source, x.dtype))
        else:
            result[along_axis(indices, axis)] = source
        return result

    def scatter_reduce(x: Array, indices: Array, source: Array, *, axis: int, reduce: str) -> Array:
        """`x` combined with `source` ('prod', 'amax', 'amin') where ``gather(x, indices, axis)`` would read."""
        result = wide(x).copy()
        combine_at(combining[reduce], result, along_axis(indices, axis), wide(source))
        return result.astype(x.dtype, copy=False)

    functions: tuple[Kernel, ...] = (embedding, gather, gather_grad, index_add, index_put, index_select, index_select_grad,
                                     scatter, scatter_new, scatter_reduce)
    return {function.__name__: function for function in functions}
