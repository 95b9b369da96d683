"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu import blas

from . import (
    convolution,
    copies,
    elementwise,
    fourier,
    functions,
    lapack,
    lazy,
    movement,
    ordering,
    reductions,
    resampling,
    scans,
)
from .device import Device

DEVICE = Device("cpu")


_LARGE_SLICES = 1 << 12  # elements; Numba is imported with the first slices of as many


def _scatter_add(array: np.ndarray, index: Any, values: np.ndarray) -> None:
    """Add `values` at `index`, by our kernel for large slices along one dimension: `add.at` takes 10 to 40 times as long."""
    *others, last = index if isinstance(index, tuple) else (index,)
    whole = all(isinstance(other, slice) and other == slice(None) for other in others)
    if not whole or not isinstance(last, np.ndarray) or not _are_slices(array, len(others), last, values):
        np.add.at(array, index, values)
        return
    from lucid_kernels.cpu import scatter_add as kernels

    kernels.scatter_add(array, last, values, len(others))


def _are_slices(array: np.ndarray, axis: int, indices: np.ndarray, values: Any) -> bool:
    """Whether `values` are large slices of `array` along `axis`, in row-major order."""
    if not isinstance(values, np.ndarray) or values.size < _LARGE_SLICES or indices.ndim != 1 or indices.dtype != np.int64:
        return False
    shape = (*array.shape[:axis], indices.size, *array.shape[axis + 1:])
    plain = array.dtype in (np.float32, np.float64) and array.flags.c_contiguous and values.flags.c_contiguous
    alike = plain and values.dtype == array.dtype and values.shape == shape
    return bool(alike and indices.min() >= 0 and indices.max() < array.shape[axis])


def _multiply(a: np.ndarray, b: np.ndarray) -> Any:
    if a.dtype in functions.HALVES:  # BLAS has none of them, and sums belong in float32
        return (functions.wide(a) @ functions.wide(b)).astype(a.dtype)
    return blas.matmul(a, b)


TABLE: dict[str, Callable[..., Any]] = functions.table(np, _scatter_add, _multiply) | lapack.table()
TABLE |= movement.table(np) | ordering.table(np) | fourier.table(np)
TABLE |= copies.table(TABLE)
_plain_linear = TABLE["linear"]


def _linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> Any:
    """`linear`; large products add the bias while they write their result."""
    if bias is None or x.ndim < 2 or x.size == 0 or x.dtype in functions.HALVES or not x.dtype == weight.dtype == bias.dtype:
        return _plain_linear(x, weight, bias)
    rows = blas.matmul(x.reshape(-1, x.shape[-1]), weight.T, np.ascontiguousarray(bias))
    return rows.reshape(*x.shape[:-1], rows.shape[1])


_whole_lerp, _whole_add_scaled = TABLE["lerp"], TABLE["add_scaled"]
_BLOCK = 1 << 17  # elements: smaller ones cost more in calls (1.3 of the time with 1 << 15), larger ones leave the caches


def _in_blocks(kernel: Callable[..., Any], x: np.ndarray, y: np.ndarray, out: np.ndarray | None) -> Any:
    """``kernel(x, y, out)`` of large arrays block by block, without a temporary of their size: `lerp` of 4 million floats takes a
    fifth of the time.
    """
    if x.shape != y.shape or not (x.flags.c_contiguous and y.flags.c_contiguous):
        return kernel(x, y, out)
    if out is None:
        from lucid_kernels.cpu._pool import empty

        result: np.ndarray = empty(x.shape, x.dtype)
    elif not out.flags.c_contiguous or any(np.may_share_memory(out, array) and out is not array for array in (x, y)):
        return kernel(x, y, out)  # a block must not read what another has written
    else:
        result = out
    a, b, c = x.reshape(-1), y.reshape(-1), result.reshape(-1)
    for start in range(0, a.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        kernel(a[block], b[block], c[block])
    return result


def _lerp(x: np.ndarray, end: np.ndarray, weight: Any, *, out: np.ndarray | None = None) -> Any:
    if x.size <= _BLOCK or isinstance(weight, np.ndarray):
        return _whole_lerp(x, end, weight, out=out)
    return _in_blocks(lambda x, end, out: _whole_lerp(x, end, weight, out=out), x, end, out)


def _add_scaled(a: np.ndarray, b: np.ndarray, *, alpha: float, out: np.ndarray | None = None) -> Any:
    if a.size <= _BLOCK:
        return _whole_add_scaled(a, b, alpha=alpha, out=out)
    return _in_blocks(lambda a, b, out: _whole_add_scaled(a, b, alpha=alpha, out=out), a, b, out)


def _exp(x: np.ndarray, *, out: np.ndarray | None = None) -> Any:
    """NumPy's, or our kernel for large arrays."""
    if x.size < lazy.LARGE:
        return np.exp(x) if out is None else np.exp(x, out=out)
    from lucid_kernels.cpu import elementwise as kernels  # Numba is imported with the first large array

    return kernels.exp(x, out=out)


TABLE["lerp"], TABLE["add_scaled"] = _lerp, _add_scaled
TABLE["linear"] = _linear
TABLE["exp"] = _exp
TABLE |= reductions.table(TABLE)
TABLE |= scans.table(TABLE)
TABLE |= elementwise.table(np)
lazy.kernels("lucid_kernels.cpu", TABLE)
# Slices that conv3d stacks stay in the L3 cache: 0.65 of the time of all at once, for 16 channels.
TABLE |= convolution.table(np, TABLE, 4 << 20)
_weigh_small = resampling.weigh(np)
_LARGE_PLANES = 1 << 12  # elements; Numba is imported with the first planes of as many


def _weigh(x: np.ndarray, rows: Any, columns: Any) -> Any:
    """`resampling.weigh` by NumPy, or by our kernel for large planes."""
    if x.size < _LARGE_PLANES:
        return _weigh_small(x, rows, columns)
    from lucid_kernels.cpu import resampling as kernels

    return kernels.resample(x, *[band and kernels.Band(*band) for band in (rows, columns)])


TABLE |= resampling.table(np, TABLE, _weigh)
