"""Operations that NumPy and CuPy both have, written once: `table(xp)` binds them to either module.

Kernels of our own (Numba, CUDA) are added by `cpu.py` and `gpu.py`. Keyword names are NumPy's (`axis`, `keepdims`): the
functions of `lucid.ops` translate PyTorch's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]

# Functions of the same name and meaning in both modules, called as they are.
SAME = """
abs add arange argsort bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip
cos cosh exp exp2 expm1 eye flip floor fmod floor_divide full isfinite isinf isnan linspace
log log10 log1p log2 logical_and logical_not logical_or logical_xor matmul maximum minimum 
arctan arctan2 power reciprocal remainder roll sign sin sinh sort sqrt square take take_along_axis tan tril triu
trunc where zeros
""".split()


def table(xp: Any, scatter_add: Kernel) -> dict[str, Kernel]:
    """The shared operations on `xp` (numpy or cupy); `scatter_add(array, index, values)` adds with repeated indices."""

    entries: dict[str, Kernel] = {name: getattr(xp, name) for name in SAME}
    entries |= {"sub": xp.subtract, "mul": xp.multiply, "div": xp.true_divide, "neg": xp.negative, "eq": xp.equal,
                "ne": xp.not_equal, "lt": xp.less, "le": xp.less_equal, "gt": xp.greater, "ge": xp.greater_equal}

    def entry(function: Kernel) -> Kernel:
        entries[function.__name__] = function
        return function

    def write(value: Array, out: Array | None) -> Array:
        if out is None:
            return value
        out[...] = value
        return out

    @entry
    def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Array:
        return write(x.astype(dtype), out)

    @entry
    def copy(x: Array, *, out: Array | None = None) -> Array:
        if out is None:
            return x.copy()
        out[...] = x
        return out

    @entry
    def conj(x: Array) -> Array:
        return xp.conjugate(x)

    @entry
    def rsqrt(x: Array) -> Array:
        return xp.reciprocal(xp.sqrt(x))

    @entry
    def contiguous(x: Array) -> Array:
        return xp.ascontiguousarray(x).reshape(x.shape)  # NumPy's makes 0-d arrays 1-d

    @entry
    def round(x: Array, *, decimals: int = 0, out: Array | None = None) -> Array:
        return write(xp.rint(x) if decimals == 0 else xp.round(x, decimals), out)

    @entry
    def reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
        return x.reshape(shape)

    @entry
    def view_dtype(x: Array, *, dtype: np.dtype) -> Array:
        return x.view(dtype)

    @entry
    def transpose(x: Array, *, axes: tuple[int, ...]) -> Array:
        return x.transpose(axes)

    @entry
    def broadcast_to(x: Array, *, shape: tuple[int, ...]) -> Array:
        return xp.broadcast_to(x, shape)

    @entry
    def getitem(x: Array, *, index: Any) -> Array:
        return x[index]

    @entry
    def index_put(x: Array, values: Array, *, index: Any, out: Array | None = None) -> Array:
        result = x.copy() if out is None else out
        if out is not None and out is not x:
            out[...] = x
        result[index] = values
        return result

    @entry
    def index_add(x: Array, values: Array, *, index: Any) -> Array:
        result = x.copy()
        scatter_add(result, index, values)
        return result

    @entry
    def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
        """Zeros of `shape` with `values` added at `index`; `unique` says that no element is named twice."""
        result = xp.zeros(shape, values.dtype)
        if unique:
            result[index] = values
        else:
            scatter_add(result, index, values)
        return result

    @entry
    def scatter_along_axis(values: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
        """Zeros of `shape` with `values` added where `take_along_axis` would read them."""
        result = xp.zeros(shape, values.dtype)
        index = list(xp.ogrid[tuple(slice(n) for n in indices.shape)]) if indices.ndim > 1 else [None]
        index[axis] = indices
        scatter_add(result, tuple(index), values)
        return result

    @entry
    def concatenate(*arrays: Array, axis: int) -> Array:
        return xp.concatenate(arrays, axis=axis)

    @entry
    def stack(*arrays: Array, axis: int) -> Array:
        return xp.stack(arrays, axis=axis)

    @entry
    def split(x: Array, *, boundaries: tuple[int, ...], axis: int) -> tuple[Array, ...]:
        lead = (slice(None),) * axis
        edges = (0, *boundaries, x.shape[axis])
        return tuple(x[(*lead, slice(a, b))] for a, b in zip(edges[:-1], edges[1:], strict=True))

    @entry
    def sum(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
        return x.sum(axis=axis, keepdims=keepdims, dtype=dtype, out=out)

    @entry
    def mean(x: Array, *, axis: Any, keepdims: bool, out: Array | None = None) -> Array:
        return x.mean(axis=axis, keepdims=keepdims, out=out)

    @entry
    def prod(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
        return x.prod(axis=axis, keepdims=keepdims, dtype=dtype, out=out)

    @entry
    def max(x: Array, *, axis: Any, keepdims: bool, out: Array | None = None) -> Array:
        return x.max(axis=axis, keepdims=keepdims, out=out)

    @entry
    def min(x: Array, *, axis: Any, keepdims: bool, out: Array | None = None) -> Array:
        return x.min(axis=axis, keepdims=keepdims, out=out)

    @entry
    def any(x: Array, *, axis: Any, keepdims: bool) -> Array:
        return xp.any(x, axis=axis, keepdims=keepdims)

    @entry
    def all(x: Array, *, axis: Any, keepdims: bool) -> Array:
        return xp.all(x, axis=axis, keepdims=keepdims)

    @entry
    def argmax(x: Array, *, axis: int | None) -> Array:
        return x.argmax(axis=axis)

    @entry
    def argmin(x: Array, *, axis: int | None) -> Array:
        return x.argmin(axis=axis)

    @entry
    def var(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        return xp.var(x, axis=axis, keepdims=keepdims, ddof=correction)

    @entry
    def cumsum(x: Array, *, axis: int, dtype: Any = None) -> Array:
        return xp.cumsum(x, axis=axis, dtype=dtype)

    @entry
    def nonzero(x: Array) -> tuple[Array, ...]:
        return xp.nonzero(x)

    @entry
    def diagonal(x: Array, *, offset: int, axis1: int, axis2: int) -> Array:
        return xp.diagonal(x, offset, axis1, axis2)

    return entries
