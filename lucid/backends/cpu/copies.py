"""Copies on the CPU: NumPy's, and for large arrays those of our kernels, which all threads share and which transpose in tiles."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import manipulation
from ..half_precision import HALVES
from ..memory_format import inverse
from ..sizes import CAST_FROM, COPY_BYTES, COPY_ROWS_BYTES, LARGE, MANY

Array = np.ndarray[Any, Any]



def copy(x: Array, *, axes: tuple[int, ...] | None = None, out: Array | None = None) -> Any:
    """`axes` are the dimensions from the outermost in memory to the innermost; None is row-major order."""
    if x.nbytes < COPY_BYTES:
        return manipulation.copy(x, axes=axes, out=out)
    if out is not None:
        if x.nbytes < COPY_ROWS_BYTES or not _apart(x, out):
            return manipulation.copy(x, out=out)
        copy_into(out, x)
        return out
    return _row_major(x) if axes is None else _row_major(x.transpose(axes)).transpose(inverse(axes))


def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Any:
    """By our kernels for many elements; from and to half precision through float32, as in PyTorch."""
    if x.size >= CAST_FROM and out is None and x.flags.c_contiguous and x.dtype != dtype:
        from lucid_kernels.cpu.elementwise import cast as elementwise_cast

        if elementwise_cast.suits(x.dtype, dtype):
            return elementwise_cast.convert(x, dtype)
    if x.itemsize == 8 and dtype.itemsize == 2 and x.dtype.kind == "f":
        x = x.astype(np.float32)
    given = x.dtype
    if x.size < MANY or out is not None or not x.flags.c_contiguous or (given not in HALVES and dtype not in HALVES):
        return manipulation.cast(x, dtype=dtype, out=out)
    from lucid_kernels.cpu.arrays import half_precision as kernels

    if any(kind in HALVES and not kernels.converts(kind) for kind in (given, dtype)) or "c" in (given.kind, dtype.kind):
        return manipulation.cast(x, dtype=dtype)
    wide = kernels.widen(x) if given in HALVES else x.astype(np.float32, copy=False)
    return kernels.narrow(wide, dtype) if dtype in HALVES else wide.astype(dtype, copy=False)


def contiguous(x: Array) -> Array:
    """`x` in row-major order; a copy where it is not."""
    if x.nbytes < COPY_BYTES or x.flags.c_contiguous:
        return np.ascontiguousarray(x).reshape(x.shape)  # NumPy's makes 0-d arrays 1-d
    return _row_major(x)


def reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
    """A view in another shape, or a copy where the strides allow none."""
    if x.nbytes < COPY_BYTES or x.flags.c_contiguous:
        return x.reshape(shape)
    try:
        return np.reshape(x, shape, copy=False)
    except ValueError:  # its strides do not allow that shape
        return _row_major(x).reshape(shape)
    except TypeError:  # NumPy 2.0 does not know `copy`
        return x.reshape(shape)


def _row_major(x: Array) -> Array:
    from lucid_kernels.cpu.arrays import strided_copy

    copied: Array = strided_copy.copy(x)
    return copied


def _apart(x: Array, out: Array) -> bool:
    """Whether `x` can be copied into `out` in any order."""
    return x.shape == out.shape and x.dtype == out.dtype and out.flags.writeable and not np.may_share_memory(x, out)


def copy_into(target: Array, source: Array) -> None:
    """target[...] = source, where they share no memory; by our kernel for large arrays."""
    if source.size < LARGE:
        np.copyto(target, source)
        return
    from lucid_kernels.cpu.arrays import strided_copy

    strided_copy.copy_into(target, source)


def add_into(target: Array, source: Array) -> None:
    """target += source, where they share no memory; by our kernel for large arrays of one dtype."""
    if source.size < LARGE or source.dtype != target.dtype:
        np.add(target, source, out=target)
        return
    from lucid_kernels.cpu.movement import accumulate

    accumulate.add_into(target, source)
