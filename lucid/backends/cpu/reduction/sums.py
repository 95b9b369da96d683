"""Sums, means, variances, norms and products of CPU arrays: small and unusual ones by NumPy, large ones on all threads.

A launch, and Numba's import with the first, would cost more than a small sum.
"""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import sizes
from ...common import reductions
from ...half_precision import HALVES, wide
from ...memory_format import memory_axes
from .. import vectors
from . import narrow
from .layouts import is_view, kernels, of_view, shaped

Array = Any
Kernel = Callable[..., Any]

_FEWEST = 16  # elements that the first of two sums adds up: with fewer, the second has too much left
_LONGEST_SEQUENCE = 32  # float32 elements that are added up one after the other

_shared = SimpleNamespace(**reductions.table(np, narrow))


def sum(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
    """The sum; that of half-precision elements is accumulated in float32 and rounded once."""
    few = x.size < (sizes.SUM_OF_ALL_FROM if axis is None else sizes.SUM_FROM)
    if few and dtype is None and x.dtype.char in "fd" and (
            axis is None or x.itemsize == 8 or out is not None or not _in_sequence(x, axis)):
        return narrow.sum(x, axis, keepdims, None, out)  # without the questions below, which take as long
    if dtype is None and out is None and _are_all(x, axis):
        return _one(kernels().total_of_all(x), x, keepdims)
    if x.size >= sizes.LARGE and is_view(x) and out is None:
        return of_view(sum, x, axis, keepdims, dtype=dtype)
    plainly = x.dtype.char == "f" and out is None and dtype is None
    ours = x.size >= sizes.LARGE or (x.size >= sizes.SUM_FROM and x.flags.c_contiguous
                                     and (x.dtype.char in "fd" or x.dtype in HALVES))
    if plainly and not ours and _in_sequence(x, axis):
        return _sum_of_rows(x, axis, keepdims)
    if axis is None and x.dtype.kind == "b" and dtype == np.int64 and out is None:
        count = np.asarray(np.count_nonzero(x))  # a word at a time: a fiftieth of the time
        return count.reshape((1,) * x.ndim) if keepdims else count
    if x.size >= sizes.SUM_OF_INTEGERS_FROM and x.dtype.kind in "biu" and dtype == np.int64 and out is None:
        integers = _sum_of_integers(x, axis)
        if integers is not None:
            return shaped(integers, x, axis, keepdims, dtype)
    if not ours:
        if (dtype or x.dtype) in HALVES:
            return _shared.sum(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)
        return narrow.sum(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)
    if x.dtype in HALVES and out is None and (dtype is None or dtype == x.dtype):
        found = _fold(x, axis, keepdims, "total")
        return sum(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype) if found is None else found  # rounded once
    total = _total(x, axis) if out is None and (dtype is None or dtype == x.dtype) else None
    if total is None and plainly and _in_sequence(x, axis):
        return _sum_of_rows(x, axis, keepdims)
    if total is None:
        return _shared.sum(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)
    return shaped(total, x, axis, keepdims)


def is_row_by_row(x: Array) -> bool:
    """Whether `sum` adds the rows of the small matrix `x` one after the other, as ``np.add.reduce(x, 0)``."""
    return (x.ndim == 2 and x.size < sizes.SUM_FROM and x.dtype.char in "fd" and x.shape[0] > 0 and x.shape[1] > 1
            and x.flags.c_contiguous and not (x.dtype.char == "f" and _in_sequence(x, 0)) and narrow.transposed(x, 0) is None)


def length_of_rows(shape: tuple[int, ...], axis: Any) -> int | None:
    """How many elements, which lie side by side, `sum` and `mean` add up in one piece for each result, of a large contiguous
    array of float32 or float64; 0 if all, None if they do it otherwise.
    """
    from lucid_kernels.cpu.reduction.fused_totals import is_added_in_one_piece

    if axis is None:
        return 0
    view = kernels().view_of_shape(shape, axis)
    return view[1] if view is not None and view[2] == 1 and is_added_in_one_piece(view[1]) else None


def mean(x: Array, *, axis: Any, keepdims: bool) -> Array:
    """The mean; NaN of no elements."""
    few = 0 < x.size < (sizes.SUM_OF_ALL_FROM if axis is None else sizes.SUM_FROM)
    if few and x.dtype.char in "fd" and (axis is None or x.itemsize == 8 or not _in_sequence(x, axis)):
        total = narrow.sum(x, axis, keepdims)
        return total / (x.size if axis is None else x.size // total.size)
    if _are_all(x, axis):
        return _one(kernels().total_of_all(x) / x.size, x, keepdims)
    if x.size >= sizes.LARGE and is_view(x):
        return of_view(mean, x, axis, keepdims)
    if x.size >= sizes.SUM_FROM and x.dtype in HALVES:
        found = _fold(x, axis, keepdims, "mean")
        return mean(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype) if found is None else found
    total = _total(x, axis) if x.size >= sizes.SUM_FROM else None
    if total is None and x.dtype.char == "f" and _in_sequence(x, axis):
        total = _sum_of_rows(x, axis, False)
    if total is None:
        return _shared.mean(x, axis=axis, keepdims=keepdims)
    return shaped(total / (x.size // total.size), x, axis, keepdims)


def var(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
    """The variance, of as many degrees of freedom as there are elements less `correction`."""
    if x.size >= sizes.LARGE and is_view(x):
        return of_view(var, x, axis, keepdims, correction=correction)
    view = kernels().view_of(x, axis) if x.size >= sizes.VARIANCE_FROM else None
    if view is None and x.dtype.char == "f":
        return _shared.var(x.astype(np.float64), axis=axis, keepdims=keepdims, correction=correction).astype(x.dtype)
    if view is None:
        return _shared.var(x, axis=axis, keepdims=keepdims, correction=correction)
    with np.errstate(all="ignore"):  # no degree of freedom is left: 0 / 0
        return shaped(kernels().square_total(x, view) / builtins.max(view[1] - correction, 0), x, axis, keepdims)


def std(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
    """The square root of `var`."""
    return np.sqrt(var(x, axis=axis, keepdims=keepdims, correction=correction))


def logsumexp(x: Array, *, axis: Any, keepdims: bool) -> Array:
    """``log(sum(exp(x)))``, which does not overflow."""
    if x.size >= sizes.LARGE and is_view(x):
        return of_view(logsumexp, x, axis, keepdims)
    view = kernels().view_of(x, axis) if x.size >= sizes.LOGSUMEXP_FROM else None
    if view is None or view[2] != 1:
        return _shared.logsumexp(x, axis=axis, keepdims=keepdims)
    return shaped(kernels().logsumexp(x, view), x, axis, keepdims)


def norm2(x: Array, *, axis: Any, keepdims: bool) -> Array:
    """The Euclidean norm; that of all elements is an inner product, with no array of squares."""
    if x.size >= sizes.LARGE and is_view(x):
        return of_view(norm2, x, axis, keepdims)
    if not (axis is None or (1 if isinstance(axis, int) else len(axis)) == x.ndim) or x.dtype.char not in "fd":
        found = _fold(x, axis, keepdims, "squares")
        if found is None and x.size >= sizes.SUM_FROM and x.shape[-1] <= sizes.SUM_SHORT_ROW and x.dtype.char in "fd":
            with np.errstate(over="ignore"):
                found = np.sqrt(sum(x * x, axis=axis, keepdims=keepdims))
        return _shared.norm2(x, axis=axis, keepdims=keepdims) if found is None else found
    flat = x.reshape(-1)
    dot = np.dot if x.size < sizes.SUM_OF_ALL_FROM else vectors.inner_product().dot
    square = dot(flat, flat)  # inf where that is too large
    return _one(math.sqrt(square), x, keepdims)


def prod(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None) -> Array:
    """The product; that of half-precision elements is accumulated in float32 and rounded once."""
    if x.size >= sizes.LARGE and is_view(x):
        return of_view(prod, x, axis, keepdims, dtype=dtype)
    found = _fold(x, axis, keepdims, "product") if dtype is None or dtype == x.dtype else None
    return _shared.prod(x, axis=axis, keepdims=keepdims, dtype=dtype) if found is None else found


def nansum(x: Array, *, axis: Any, keepdims: bool) -> Array:
    """The sum of the elements that are not NaN."""
    if x.size >= sizes.LARGE and is_view(x):
        return of_view(nansum, x, axis, keepdims)
    found = _fold(x, axis, keepdims, "sum")
    if found is not None:
        return found
    if x.size >= sizes.LARGE and x.dtype.char in "fd" and x.flags.c_contiguous:
        from lucid_kernels.cpu.elementwise import operation

        return sum(operation.nan_to_zero(x), axis=axis, keepdims=keepdims)
    if x.dtype.char == "f":
        return sum(np.where(x == x, x, np.float32(0)), axis=axis, keepdims=keepdims)
    return _shared.nansum(x, axis=axis, keepdims=keepdims)


def _in_sequence(x: Array, axis: Any) -> bool:
    """Whether NumPy adds many elements one after the other: it adds pairs of sums along the innermost axis only.

    PyTorch's errors are as small along all: of 30,000 rows of two NumPy's are 55 times as large.
    """
    if axis is None or x.ndim == 1 or x.size <= _LONGEST_SEQUENCE:
        return False
    axes = (axis,) if isinstance(axis, int) else axis
    if len(axes) == 1 and x.shape[axes[0]] <= _LONGEST_SEQUENCE:
        return False
    innermost = x.ndim - 1 if x.flags.c_contiguous else memory_axes(x)[-1]
    return math.prod([x.shape[a] for a in axes if a != innermost]) > _LONGEST_SEQUENCE


def _sum_of_rows(x: Array, axis: Any, keepdims: bool) -> Array:
    """The float32 sum where `_in_sequence`: halves of the rows are added to each other until few are left.

    In 0.1 to 0.7 of the time of a sum in float64 (1.2 of 256x128), which few elements and other axes than the first ones get.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(sorted(axis))
    if x.size < sizes.SUM_IN_HALVES_FROM or not x.flags.c_contiguous or axes != tuple(range(len(axes))):
        return narrow.sum(x, axis=axis, keepdims=keepdims, dtype=np.float64).astype(x.dtype)
    rows = x.reshape(math.prod(x.shape[: len(axes)]), -1)
    while len(rows) > _LONGEST_SEQUENCE // 2:
        half = len(rows) // 2
        odd = rows[2 * half :]
        rows = rows[:half] + rows[half : 2 * half]
        rows[: len(odd)] += odd
    return shaped(narrow.sum(rows, axis=0), x, axis, keepdims)


def _total(x: Array, axis: Any) -> Array | None:
    """The sums over `axis` in float64, of any shape, in row-major order of the axes that stay; None where NumPy has to do it.

    Of axes with others in between, such as those of a convolution's bias, the last adjacent ones are summed first; that leaves
    few elements.
    """
    view = kernels().view_of(x, axis)
    if view is not None:
        return kernels().total(x, view)
    if not isinstance(axis, tuple) or len(axis) < 2:
        return None
    axes = sorted(axis)
    inner = builtins.max((place for place in range(1, len(axes)) if axes[place] - axes[place - 1] > 1), default=0)
    outer, last = tuple(axes[:inner]), tuple(axes[inner:])
    view = kernels().view_of(x, last)
    if view is None or view[1] < _FEWEST:
        return None
    left = [n for i, n in enumerate(x.shape) if i not in last]
    return kernels().total(x, view).reshape(left).sum(axis=outer)


def _sum_of_integers(x: Array, axis: Any) -> Array | None:
    """The sums (outer, inner) of integers, or of bools; None where NumPy has to do it."""
    view = kernels().view_of(x, axis, others=True)
    if view is None or x.dtype == np.uint64:
        return None
    integers = x.view(np.uint8) if x.dtype.kind == "b" else x
    if view[2] == 1:
        return kernels().integer_total(integers, view)
    # Sums of columns are those of float64, which has each of so many integers of 32 bits exactly.
    return kernels().total(integers, view) if x.itemsize <= 4 and view[1] < 1 << 21 else None


def var_mean(x: Array, *, axis: Any, keepdims: bool, correction: float) -> tuple[Array, Array]:
    """`var` and `mean`, as arrays: NumPy makes numbers of those without dimensions."""
    results = var(x, axis=axis, keepdims=keepdims, correction=correction), mean(x, axis=axis, keepdims=keepdims)
    return np.asarray(results[0]), np.asarray(results[1])


def std_mean(x: Array, *, axis: Any, keepdims: bool, correction: float) -> tuple[Array, Array]:
    """`std` and `mean`, likewise."""
    results = std(x, axis=axis, keepdims=keepdims, correction=correction), mean(x, axis=axis, keepdims=keepdims)
    return np.asarray(results[0]), np.asarray(results[1])


def _are_all(x: Array, axis: Any) -> bool:
    """Whether a kernel adds up what is to be reduced: all elements, as they lie in memory."""
    return axis is None and x.size >= sizes.SUM_OF_ALL_FROM and x.dtype.char in "fd" and bool(x.flags.c_contiguous)


def _one(value: float, x: Array, keepdims: bool) -> Array:
    """The result of a reduction of all elements of `x`."""
    result = np.asarray(value, x.dtype)
    return result.reshape((1,) * x.ndim) if keepdims else result


def _fold(x: Array, axis: Any, keepdims: bool, of: str) -> Array | None:
    """The rows of a large array folded by `reduction.fold`, rounded; None where NumPy has to do it."""
    if x.size < sizes.SUM_FROM:
        return None
    is_half = x.dtype in HALVES and kernels().half_precision.converts(x.dtype)
    view = kernels().view_of(x, axis, is_half)
    if view is None or view[2] != 1 or view[1] < (sizes.SUM_LEAST_ROW_OF_HALF_PRECISION if is_half else kernels().LEAST_FOLDED):
        return None
    total = kernels().fold(x, view, "total" if of == "mean" else of)
    total = np.sqrt(total) if of == "squares" else total / view[1] if of == "mean" else total
    return shaped(total, x, axis, keepdims)


_FUNCTIONS: Sequence[Kernel] = (
    logsumexp, mean, nansum, _shared.norm, norm2, _shared.norm2_grad, _shared.norm_grad, prod, std, std_mean, sum, var,
    var_mean)
TABLE: dict[str, Kernel] = {function.__name__: function for function in _FUNCTIONS}
