"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu import _pool, blas

from . import (
    assembly,
    convolution,
    copies,
    elementwise,
    fourier,
    fractional_pooling,
    functions,
    half_formulas,
    indexing,
    lapack,
    large_elementwise,
    lazy,
    likelihood,
    linear,
    masks,
    movement,
    ordering,
    padding,
    poisson,
    reductions,
    resampling,
    scans,
    small_formulas,
    sorting,
)
from .device import Device

DEVICE = Device("cpu")


def _multiply(a: np.ndarray, b: np.ndarray) -> Any:
    if a.dtype in functions.HALVES:  # BLAS has none of them, and sums belong in float32
        return (functions.wide(a) @ functions.wide(b)).astype(a.dtype)
    return blas.matmul(a, b)


TABLE: dict[str, Callable[..., Any]] = functions.table(np, indexing.scatter_add, _multiply) | lapack.table()
TABLE |= movement.table(np) | ordering.table(np) | fourier.table(np, _pool.empty)
TABLE |= copies.table(TABLE)
TABLE |= indexing.table(TABLE) | masks.table(TABLE)
TABLE |= sorting.table(TABLE)
_INT64 = np.dtype(np.int64).num  # to compare a dtype with the class np.int64 makes a dtype of that first
_plain_linear, _plain_increment = TABLE["linear"], TABLE["increment"]


def _linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> Any:
    """`linear`; large products add the bias while they write their result."""
    if bias is None or x.ndim < 2 or x.size == 0 or x.dtype in functions.HALVES or not x.dtype == weight.dtype == bias.dtype:
        return _plain_linear(x, weight, bias)
    bias = np.ascontiguousarray(bias)
    if x.ndim == 2:
        return blas.matmul(x, weight.T, bias)
    rows = blas.matmul(x.reshape(-1, x.shape[-1]), weight.T, bias)
    return rows.reshape(*x.shape[:-1], rows.shape[1])


def _product_and_sums(a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    return (_multiply(a, b), None) if a.dtype in functions.HALVES else blas.matmul_and_sums(a, b)


_small_lerp, _small_add_scaled, _small_power = TABLE["lerp"], TABLE["add_scaled"], TABLE["power"]
_small_cast = TABLE["cast"]
_NATIVE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_CASTS = 1 << 12  # elements; Numba is imported with the first conversion of as many
_STEPS = 1 << 12  # elements of which NumPy takes longer: 15 ns for each in `nextafter`, 13 in `cross`, 1 in the others


def _combined(*arrays: Any) -> bool:
    """Whether these are arrays of one native dtype and one shape, in row-major order, but for numbers."""
    first, like = arrays[0], [array for array in arrays if isinstance(array, np.ndarray)]
    return first.dtype in _NATIVE and all(array.dtype == first.dtype for array in like) and _is_plain(first.shape, *like)


def _lerp(x: np.ndarray, end: np.ndarray, weight: Any, *, out: np.ndarray | None = None) -> Any:
    if x.itemsize == 2 and x.size >= lazy.LARGE:
        numbers = {} if isinstance(weight, np.ndarray) else {"weight": weight}
        computed = half_formulas.of_halves("lerp", x, end, *(() if numbers else (weight,)), out=out, **numbers)
        if computed is not None:
            return computed
    if x.size < lazy.LARGE or not _combined(x, end, weight):
        return _small_lerp(x, end, weight, out=out)
    from lucid_kernels.cpu import combination as kernels

    return kernels.lerp(x, end, weight, out=out)


def _add_scaled(a: np.ndarray, b: np.ndarray, *, alpha: float, out: np.ndarray | None = None) -> Any:
    if a.itemsize == 2 and a.size >= lazy.LARGE:
        computed = half_formulas.of_halves("add_scaled", a, b, out=out, alpha=alpha)
        if computed is not None:
            return computed
    if a.size < lazy.LARGE or not _combined(a, b):
        return _small_add_scaled(a, b, alpha=alpha, out=out)
    from lucid_kernels.cpu import combination as kernels

    return kernels.add_scaled(a, b, alpha=alpha, out=out)


def _with_two(name: str, small: Callable[..., Any]) -> Callable[..., Any]:
    """`addcmul` or `addcdiv` by our kernel for large arrays."""
    def kernel(x: np.ndarray, a: np.ndarray, b: np.ndarray, *, value: float, out: np.ndarray | None = None) -> Any:
        if x.itemsize == 2 and x.size >= lazy.LARGE:
            computed = half_formulas.of_halves(name, x, a, b, out=out, value=value)
            if computed is not None:
                return computed
        if x.size < lazy.LARGE or not _combined(x, a, b):
            return small(x, a, b, value=value, out=out)
        from lucid_kernels.cpu import combination as kernels

        return getattr(kernels, name)(x, a, b, value=value, out=out)

    return kernel


def _leaky_relu(x: np.ndarray, *, slope: float, out: np.ndarray | None = None) -> Any:
    if x.size < _STEPS or not _combined(x):
        return _small_leaky_relu(x, slope=slope, out=out)
    from lucid_kernels.cpu import combination as kernels

    return kernels.leaky_relu(x, slope=slope, out=out)


def _angle(x: np.ndarray) -> Any:
    if x.size < _STEPS or not _combined(x):
        return _small_angle(x)
    from lucid_kernels.cpu import combination as kernels

    return kernels.angle(x)


def _nextafter(a: np.ndarray, b: np.ndarray) -> Any:
    if a.size < _STEPS or not _combined(a, b):
        return _small_nextafter(a, b)
    from lucid_kernels.cpu import combination as kernels

    return kernels.nextafter(a, b)


def _cross(a: np.ndarray, b: np.ndarray, *, axis: int) -> Any:
    if a.size < _STEPS or a.dtype not in _NATIVE:
        return _small_cross(a, b, axis=axis)
    from lucid_kernels.cpu import cross as kernels

    return kernels.cross(a, b, axis=axis)


def _is_plain(shape: tuple[int, ...], *arrays: np.ndarray) -> bool:
    return all(array.shape == shape and array.flags.c_contiguous for array in arrays)


def _power(a: Any, b: Any, *, out: np.ndarray | None = None) -> Any:
    """NumPy's; it takes 140 ns for each negative base, so integer powers are those of the size, with the sign."""
    number = b.__class__ in (int, float)
    if isinstance(a, np.ndarray) and a.itemsize == 2 and a.size >= lazy.LARGE:
        exponent = b if number else b.item() if b.ndim == 0 else None  # that of squares and roots takes no logarithm
        computed = (half_formulas.of_halves("power", a, b, out=out) if exponent is None
                    else half_formulas.of_halves("power", a, out=out, b=exponent))
        if computed is not None:
            return computed
    if not number or a.dtype not in _NATIVE:
        return _small_power(a, b, out=out)
    if b == 0.5:  # as in PyTorch, NaN of -inf
        return np.sqrt(a, out=out)
    if b == -0.5:
        return np.reciprocal(np.sqrt(a, out=out), out=out)
    if b != b // 1:
        return _small_power(a, b, out=out)
    if b == 3:
        square = np.asarray(a * a)
        return np.multiply(square, a, out=square if out is None else out)
    if b == -1:
        return np.reciprocal(a, out=out)
    size = _small_power(np.abs(a), b, out=None if b % 2 else out)
    return np.copysign(size, a, out=out) if b % 2 else size


def _cast(x: np.ndarray, *, dtype: np.dtype, out: np.ndarray | None = None) -> Any:
    """NumPy's, or our kernels for many elements from and to half precision: through float32, as PyTorch does."""
    if x.itemsize == 8 and dtype.itemsize == 2 and x.dtype.kind == "f":
        x = x.astype(np.float32)
    if x.size < _CASTS or out is not None or not x.flags.c_contiguous:
        return _small_cast(x, dtype=dtype, out=out)
    given = x.dtype
    if given not in functions.HALVES and dtype not in functions.HALVES:
        return _small_cast(x, dtype=dtype)
    from lucid_kernels.cpu import half_precision as kernels

    if any(kind in functions.HALVES and not kernels.converts(kind) for kind in (given, dtype)) or "c" in (given.kind, dtype.kind):
        return _small_cast(x, dtype=dtype)
    wide = kernels.widen(x) if given in functions.HALVES else x.astype(np.float32, copy=False)
    return kernels.narrow(wide, dtype) if dtype in functions.HALVES else wide.astype(dtype, copy=False)


def _increment(counter: np.ndarray) -> np.ndarray:
    """counter + 1, in place. A single number goes through Python, in a fifth of the time of NumPy's addition."""
    if counter.ndim or counter.dtype.num != _INT64:
        return _plain_increment(counter)
    counter[()] = counter.item() + 1
    return counter


def _exp(x: np.ndarray, *, out: np.ndarray | None = None) -> Any:
    """NumPy's, or our kernel for large arrays."""
    if x.size < lazy.LARGE:
        return np.exp(x) if out is None else np.exp(x, out=out)
    computed = half_formulas.of_halves("exp", x, out=out) if x.itemsize == 2 else None
    if computed is not None:
        return computed
    from lucid_kernels.cpu import elementwise as kernels  # Numba is imported with the first large array

    return kernels.exp(x, out=out)


def _volumes(module: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`convolve` and `grad_input` of a module for volumes, which is imported on the first call."""
    def of(name: str) -> Callable[..., Any]:
        def call(*arrays: Any, **attributes: Any) -> Any:
            return getattr(importlib.import_module(f"lucid_kernels.cpu.{module}"), name)(*arrays, **attributes)

        return call

    return of("convolve"), of("grad_input")


TABLE |= {name: _with_two(name, TABLE[name]) for name in ("addcmul", "addcdiv")}
TABLE |= {"lerp": _lerp, "add_scaled": _add_scaled, "power": _power, "cast": _cast}
TABLE["linear"] = _linear
TABLE["increment"] = _increment
TABLE["exp"] = _exp
TABLE |= reductions.table(TABLE)
TABLE |= linear.table(TABLE, _product_and_sums)
TABLE |= scans.table(TABLE)
TABLE |= elementwise.table(np) | fractional_pooling.table(np)
TABLE |= large_elementwise.table(TABLE)
_small_leaky_relu, TABLE["leaky_relu"] = TABLE["leaky_relu"], half_formulas.by_formula("leaky_relu", _leaky_relu)
TABLE |= half_formulas.table(TABLE)


def _pair_distances(x: np.ndarray, y: np.ndarray | None, *, p: int) -> Any:
    if _few_pairs(x, y):
        return _small_distances(x, y, p=p)
    from lucid_kernels.cpu import pair_distances as kernels

    found = kernels.distances(x, y, p=p)
    return found if y is None else found.reshape(x.shape[0], x.shape[1], y.shape[1])


def _pair_distances_grad(g: np.ndarray, distances: np.ndarray, x: np.ndarray, y: np.ndarray | None, *, p: int) -> Any:
    if _few_pairs(x, y):
        return _small_distances_grad(g, distances, x, y, p=p)
    from lucid_kernels.cpu import pair_distances as kernels

    shape = g.shape[0], math.prod(g.shape[1:])
    return kernels.distances_grad(g.reshape(shape), distances.reshape(shape), x, y, p=p)


def _few_pairs(x: np.ndarray, y: np.ndarray | None) -> bool:
    """Whether NumPy finds the distances: of few differences, and in half precision."""
    return x.dtype not in _NATIVE or x.size * (x if y is None else y).shape[1] < _STEPS


_small_distances, TABLE["pair_distances"] = TABLE["pair_distances"], _pair_distances
_small_distances_grad, TABLE["pair_distances_grad"] = TABLE["pair_distances_grad"], _pair_distances_grad
_small_cross, TABLE["cross"] = TABLE["cross"], _cross
_small_angle, TABLE["angle"] = TABLE["angle"], _angle
_small_nextafter, TABLE["nextafter"] = TABLE["nextafter"], _nextafter
lazy.kernels("lucid_kernels.cpu", TABLE, half_formulas.by_formula)
TABLE |= poisson.table(np, TABLE["gammaincc"])
TABLE |= small_formulas.table(TABLE) | likelihood.table(np, TABLE)


def _copy(target: np.ndarray, source: np.ndarray) -> None:
    """target[...] = source; by our kernel for large arrays."""
    if source.size < lazy.LARGE:
        np.copyto(target, source)
        return
    from lucid_kernels.cpu import strided_copy

    strided_copy.copy_into(target, source)


# Slices that conv3d stacks stay in the L3 cache: 0.65 of the time of all at once, for 16 channels.
TABLE |= convolution.table(np, TABLE, 4 << 20, _copy, _volumes("depthwise3d"), _volumes("direct3d"))
_weigh_small = resampling.weigh(np)
_LARGE_PLANES = 1 << 12  # elements; Numba is imported with the first planes of as many


def _weigh(x: np.ndarray, rows: Any, columns: Any) -> Any:
    """`resampling.weigh` by NumPy, or by our kernel for large planes."""
    if x.size < _LARGE_PLANES:
        return _weigh_small(x, rows, columns)
    from lucid_kernels.cpu import resampling as kernels

    return kernels.resample(x, *[band and kernels.Band(*band) for band in (rows, columns)])


TABLE |= resampling.table(np, TABLE, _weigh)
TABLE |= padding.table(np, _pool.empty, _copy) | assembly.table(np, _pool.empty, _copy)
