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


_small_lerp, _small_add_scaled, _small_power = TABLE["lerp"], TABLE["add_scaled"], TABLE["power"]
_small_where, _small_masked_fill = TABLE["where"], TABLE["masked_fill"]
_NATIVE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_CHOICES = 1 << 12  # elements; Numba is imported with the first masks of as many


def _combined(*arrays: Any) -> bool:
    """Whether these are large arrays of one native dtype and one shape, in row-major order, but for numbers."""
    first, like = arrays[0], [array for array in arrays if isinstance(array, np.ndarray)]
    return (first.size >= lazy.LARGE and first.dtype in _NATIVE and all(array.dtype == first.dtype for array in like)
            and _is_plain(first.shape, *like))


def _lerp(x: np.ndarray, end: np.ndarray, weight: Any, *, out: np.ndarray | None = None) -> Any:
    if not _combined(x, end, weight):
        return _small_lerp(x, end, weight, out=out)
    from lucid_kernels.cpu import combination as kernels

    return kernels.lerp(x, end, weight, out=out)


def _add_scaled(a: np.ndarray, b: np.ndarray, *, alpha: float, out: np.ndarray | None = None) -> Any:
    if not _combined(a, b):
        return _small_add_scaled(a, b, alpha=alpha, out=out)
    from lucid_kernels.cpu import combination as kernels

    return kernels.add_scaled(a, b, alpha=alpha, out=out)


def _where(condition: np.ndarray, a: Any, b: Any) -> Any:
    """NumPy's, or our kernel for many elements."""
    like = [value for value in (a, b) if isinstance(value, np.ndarray)]
    dtype = like[0].dtype
    if max(array.size for array in like) < _CHOICES or dtype.itemsize > 8 or any(array.dtype != dtype for array in like):
        return _small_where(condition, a, b)
    from lucid_kernels.cpu import combination as kernels

    full = [array for array in like if array.ndim]
    shape = full[0].shape
    if not _is_plain(shape, *full) or not _broadcasts(condition.shape, shape):
        return _small_where(condition, a, b)
    return kernels.where(np.broadcast_to(condition, shape), np.asarray(a, dtype), np.asarray(b, dtype))


def _is_plain(shape: tuple[int, ...], *arrays: np.ndarray) -> bool:
    return all(array.shape == shape and array.flags.c_contiguous for array in arrays)


def _broadcasts(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether an array of `shape` broadcasts to the shape `other`."""
    rank = len(shape)
    return rank <= len(other) and all(n in (1, m) for n, m in zip(shape, other[len(other) - rank:], strict=True))


def _masked_fill(x: np.ndarray, mask: np.ndarray, value: Any, *, out: np.ndarray | None = None) -> Any:
    """NumPy's, or our kernel for many elements."""
    here = out is None or (out is x and x.flags.writeable)
    if x.size < _CHOICES or x.itemsize > 8 or not x.flags.c_contiguous or not here:
        return _small_masked_fill(x, mask, value, out=out)
    from lucid_kernels.cpu import combination as kernels

    return kernels.masked_fill(x, np.broadcast_to(mask, x.shape), np.asarray(value, x.dtype), out=out)


def _power(a: Any, b: Any, *, out: np.ndarray | None = None) -> Any:
    """NumPy's; it takes 140 ns for each negative base, so integer powers are those of the size, with the sign."""
    if b.__class__ not in (int, float) or a.dtype not in _NATIVE:
        return _small_power(a, b, out=out)
    if b == 0.5:  # as in PyTorch, NaN of -inf
        return np.sqrt(a, out=out)
    if b != b // 1:
        return _small_power(a, b, out=out)
    if b == 3:
        square = np.asarray(a * a)
        return np.multiply(square, a, out=square if out is None else out)
    if b == -1:
        return np.reciprocal(a, out=out)
    size = _small_power(np.abs(a), b, out=None if b % 2 else out)
    return np.copysign(size, a, out=out) if b % 2 else size


def _exp(x: np.ndarray, *, out: np.ndarray | None = None) -> Any:
    """NumPy's, or our kernel for large arrays."""
    if x.size < lazy.LARGE:
        return np.exp(x) if out is None else np.exp(x, out=out)
    from lucid_kernels.cpu import elementwise as kernels  # Numba is imported with the first large array

    return kernels.exp(x, out=out)


def _depthwise(name: str) -> Callable[..., Any]:
    """A function of `depthwise3d`, which is imported on the first call."""
    def call(*arrays: Any, **attributes: Any) -> Any:
        from lucid_kernels.cpu import depthwise3d

        return getattr(depthwise3d, name)(*arrays, **attributes)

    return call


TABLE |= {"lerp": _lerp, "add_scaled": _add_scaled, "where": _where, "masked_fill": _masked_fill, "power": _power}
TABLE["linear"] = _linear
TABLE["exp"] = _exp
TABLE |= reductions.table(TABLE)
TABLE |= scans.table(TABLE)
TABLE |= elementwise.table(np)
lazy.kernels("lucid_kernels.cpu", TABLE)
# Slices that conv3d stacks stay in the L3 cache: 0.65 of the time of all at once, for 16 channels.
TABLE |= convolution.table(np, TABLE, 4 << 20, (_depthwise("convolve"), _depthwise("grad_input")))
_weigh_small = resampling.weigh(np)
_LARGE_PLANES = 1 << 12  # elements; Numba is imported with the first planes of as many


def _weigh(x: np.ndarray, rows: Any, columns: Any) -> Any:
    """`resampling.weigh` by NumPy, or by our kernel for large planes."""
    if x.size < _LARGE_PLANES:
        return _weigh_small(x, rows, columns)
    from lucid_kernels.cpu import resampling as kernels

    return kernels.resample(x, *[band and kernels.Band(*band) for band in (rows, columns)])


TABLE |= resampling.table(np, TABLE, _weigh)
