"""Reductions of large CPU arrays on all threads: `table` wraps NumPy's, which serve the small and the unusual ones.

A launch, and Numba's import with the first, would cost more than a small sum.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.arrays import broadcast

from ..common.vectors import inner_product
from ..families import LARGE
from ..half_precision import HALVES, wide
from ..memory_format import inverse, memory_axes
from . import narrow_reductions

Array = Any
Kernel = Callable[..., Any]

_add_up, _largest, _smallest = map(narrow_reductions.reduction, (np.add, np.maximum, np.minimum))
_ONE_EXTREME = 1 << 20  # elements; of fewer NumPy finds the largest of all in 0.3 to 0.8 of the time
_ALL = 1 << 8  # elements; the sum of as many by a kernel takes 0.4 us, by NumPy 1
_ASKED = 1 << 10  # integers from which on their extremes tell sooner whether any, or all, are not 0
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_FEWEST = 16  # numbers that the first of two sums adds up: with fewer, the second has too much left
_LONGEST_SEQUENCE = 32  # float32 numbers that are added up one after the other
_FEWEST_HALVED = 1 << 13  # elements; of fewer a sum in float64 takes less time than several of float32
_FEWEST_HALVES = 64  # numbers of half precision along a row that are widened where they are folded, not all before
# Contiguous elements from which on our kernels reduce some of the axes: sums, norms and extremes of rows, logarithms of sums,
# variances, extremes of columns. Of 6,000 rows of ten numbers they take 0.1 to 0.2 of the time, of 128 of 64 0.7 to 0.95.
_SUMS, _LOGARITHMS, _SQUARES, _COLUMNS = 1 << 13, 1 << 12, 1 << 11, 1 << 15
_SHORT = 32  # elements of rows for whose sums NumPy takes three times as long as ours
_FEWEST_COMPARED, _MOST_COMPARED = 4, 24  # elements of rows whose largest NumPy takes up to 3 times as long to find
_INTEGERS = 1 << 13  # elements; of fewer NumPy takes no longer, of as many in rows of 8 or of 64 it takes 5 times as long


@functools.cache
def _kernels() -> Any:
    from lucid_kernels.cpu.reduction import reduction  # compiles with Numba: imported with the first large array

    return reduction


def _shaped(result: Array, x: Array, axis: Any, keepdims: bool, dtype: Any = None) -> Array:
    """A result (outer, inner) in `dtype`, that of `x` by default, and the shape of the reduction."""
    shaped = result.reshape(narrow_reductions.reduced_shape(x.shape, axis, keepdims))
    return shaped.astype(x.dtype if dtype is None else dtype, copy=False)


def _in_sequence(x: Array, axis: Any) -> bool:
    """Whether NumPy adds many numbers one after the other: it adds pairs of sums along the innermost axis only.

    PyTorch's errors are as small along all: of 30,000 rows of two NumPy's are 55 times as large.
    """
    if axis is None or x.ndim == 1:
        return False
    axes = (axis,) if isinstance(axis, int) else axis
    innermost = x.ndim - 1 if x.flags.c_contiguous else memory_axes(x)[-1]
    return math.prod([x.shape[a] for a in axes if a != innermost]) > _LONGEST_SEQUENCE


def _sum_of_rows(x: Array, axis: Any, keepdims: bool) -> Array:
    """The float32 sum where `_in_sequence`: halves of the rows are added to each other until few are left.

    In 0.1 to 0.7 of the time of a sum in float64 (1.2 of 256x128), which few elements and other axes than the first ones get.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(sorted(axis))
    if x.size < _FEWEST_HALVED or not x.flags.c_contiguous or axes != tuple(range(len(axes))):
        return _add_up(x, axis=axis, keepdims=keepdims, dtype=np.float64).astype(x.dtype)
    rows = x.reshape(math.prod(x.shape[: len(axes)]), -1)
    while len(rows) > _LONGEST_SEQUENCE // 2:
        half = len(rows) // 2
        odd = rows[2 * half :]
        rows = rows[:half] + rows[half : 2 * half]
        rows[: len(odd)] += odd
    return _shaped(_add_up(rows, axis=0), x, axis, keepdims)


def _dimensions(axis: Any) -> int:
    return 1 if isinstance(axis, int) else len(axis)


def _total(x: Array, axis: Any) -> Array | None:
    """The sums over `axis` in float64, of any shape, in row-major order of the axes that stay; None where NumPy has to do it.

    Of axes with others in between, such as those of a convolution's bias, the last adjacent ones are summed first; that leaves
    few numbers.
    """
    kernels = _kernels()
    view = kernels.view_of(x, axis)
    if view is not None:
        return kernels.total(x, view)
    if not isinstance(axis, tuple) or len(axis) < 2:
        return None
    axes = sorted(axis)
    inner = max((place for place in range(1, len(axes)) if axes[place] - axes[place - 1] > 1), default=0)
    outer, last = tuple(axes[:inner]), tuple(axes[inner:])
    view = kernels.view_of(x, last)
    if view is None or view[1] < _FEWEST:
        return None
    left = [n for i, n in enumerate(x.shape) if i not in last]
    return kernels.total(x, view).reshape(left).sum(axis=outer)


def _sum_of_integers(x: Array, axis: Any) -> Array | None:
    """The sums (outer, inner) of integers, or of bools; None where NumPy has to do it."""
    view = _kernels().view_of(x, axis, others=True)
    if view is None or x.dtype == np.uint64:
        return None
    numbers = x.view(np.uint8) if x.dtype.kind == "b" else x
    if view[2] == 1:
        return _kernels().integer_total(numbers, view)
    # Sums of columns are those of float64, which has each of so many numbers of 32 bits exactly.
    return _kernels().total(numbers, view) if x.itemsize <= 4 and view[1] < 1 << 21 else None


def _is_view(x: Array) -> bool:
    """Whether `_of_view` is for the large array `x`: where each element is apart from the others a copy takes longer than NumPy's
    reduction.
    """
    return not x.flags.c_contiguous and (x.itemsize in x.strides or 0 in x.strides)


def _sum_of_gapped_rows(x: Array, axis: Any) -> Array | None:
    """The sum in float64 over `axis`, its dimensions kept, of an array with gaps between its rows; None where a copy without them
    has to be summed.
    """
    if x.flags.c_contiguous or (axis is not None and x.ndim - 1 not in axis):
        return None
    from lucid_kernels.cpu.reduction import strided_sum

    return strided_sum.row_sums(x)[..., None].sum(axis=axis, keepdims=True) if strided_sum.serves(x) else None


def _of_view(function: Kernel, x: Array, axis: Any, keepdims: bool, **options: Any) -> Array:
    """A reduction for which the order of elements does not matter: of a large array that is not in row-major order, or has gaps,
    it gets one that is, or has none.

    NumPy's sums of views take up to 6 times as long, and of float32 have up to 20 times PyTorch's error: along some axes it adds
    number after number.
    """
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    additive = function.__name__ in ("sum", "mean")
    if broadcast.repeats(x) and additive and x.dtype not in HALVES:
        few = broadcast.distinct(x)
        result = function(few, axis=axis, keepdims=True, **options)
        if function.__name__ == "sum":
            result = result * math.prod([x.shape[dim] // few.shape[dim] for dim in axes])
        result = broadcast.written_out(result, tuple([1 if dim in axes else n for dim, n in enumerate(x.shape)]))
    else:
        from lucid_kernels.cpu.arrays import layout as arrays_layout

        order = memory_axes(x)
        in_order = x.transpose(order)
        places = None if axis is None else tuple([place for place, dim in enumerate(order) if dim in axes])
        total = _sum_of_gapped_rows(in_order, places) if additive and options.get("dtype") in (None, x.dtype) else None
        if total is None:
            result = function(arrays_layout.contiguous(in_order), axis=places, keepdims=True, **options)
        else:
            result = (total if function.__name__ == "sum" else total / (x.size // total.size)).astype(x.dtype)
        result = result.transpose(inverse(order))
    return result if keepdims else result.reshape([n for dim, n in enumerate(x.shape) if dim not in axes])


def _are_all(x: Array, axis: Any) -> bool:
    """Whether a kernel adds up what is to be reduced: all elements, as they lie in memory."""
    return axis is None and x.size >= _ALL and x.dtype.char in "fd" and bool(x.flags.c_contiguous)


def _one(value: float, x: Array, keepdims: bool) -> Array:
    """The result of a reduction of all elements of `x`."""
    result = np.asarray(value, x.dtype)
    return result.reshape((1,) * x.ndim) if keepdims else result


def _fold(x: Array, axis: Any, keepdims: bool, of: str) -> Array | None:
    """The rows of a large array folded by `reduction.fold`, rounded; None where NumPy has to do it."""
    if x.size < _SUMS:
        return None
    halves = x.dtype in HALVES and _kernels().half_precision.converts(x.dtype)
    view = _kernels().view_of(x, axis, halves)
    if view is None or view[2] != 1 or view[1] < (_FEWEST_HALVES if halves else _kernels().LEAST_FOLDED):
        return None
    total = _kernels().fold(x, view, "total" if of == "mean" else of)
    total = np.sqrt(total) if of == "squares" else total / view[1] if of == "mean" else total
    return _shaped(total, x, axis, keepdims)


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """`sum`, `mean`, `var`, `std`, `logsumexp`, `norm2`, `prod` and `nansum` for NumPy arrays; `plain` has those for all arrays.

    A norm of all elements is an inner product, with no array of squares.
    """
    names = ("sum", "mean", "var", "logsumexp", "norm2", "prod", "nansum")
    plain_sum, plain_mean, plain_var, plain_logsumexp, plain_norm2, plain_prod, plain_nansum = (plain[name] for name in names)

    def sum(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
        if dtype is None and out is None and _are_all(x, axis):
            return _one(_kernels().total_of_all(x), x, keepdims)
        if x.size >= LARGE and _is_view(x) and out is None:
            return _of_view(sum, x, axis, keepdims, dtype=dtype)
        plainly = x.dtype.char == "f" and out is None and dtype is None
        ours = x.size >= LARGE or (x.size >= _SUMS and x.flags.c_contiguous and (x.dtype.char in "fd" or x.dtype in HALVES))
        if plainly and not ours and _in_sequence(x, axis):
            return _sum_of_rows(x, axis, keepdims)
        if axis is None and x.dtype.kind == "b" and dtype == np.int64 and out is None:
            count = np.asarray(np.count_nonzero(x))  # a word at a time: a fiftieth of the time
            return count.reshape((1,) * x.ndim) if keepdims else count
        if x.size >= _INTEGERS and x.dtype.kind in "biu" and dtype == np.int64 and out is None:
            integers = _sum_of_integers(x, axis)
            if integers is not None:
                return _shaped(integers, x, axis, keepdims, dtype)
        if not ours:
            if (dtype or x.dtype) in HALVES:
                return plain_sum(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)
            return _add_up(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)
        if x.dtype in HALVES and out is None and (dtype is None or dtype == x.dtype):
            found = _fold(x, axis, keepdims, "total")
            return sum(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype) if found is None else found  # rounded once
        total = _total(x, axis) if out is None and (dtype is None or dtype == x.dtype) else None
        if total is None and plainly and _in_sequence(x, axis):
            return _sum_of_rows(x, axis, keepdims)
        if total is None:
            return plain_sum(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)
        return _shaped(total, x, axis, keepdims)

    def mean(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if _are_all(x, axis):
            return _one(_kernels().total_of_all(x) / x.size, x, keepdims)
        if x.size >= LARGE and _is_view(x):
            return _of_view(mean, x, axis, keepdims)
        if x.size >= _SUMS and x.dtype in HALVES:
            found = _fold(x, axis, keepdims, "mean")
            return mean(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype) if found is None else found
        total = _total(x, axis) if x.size >= _SUMS else None
        if total is None and x.dtype.char == "f" and _in_sequence(x, axis):
            total = _sum_of_rows(x, axis, False)
        if total is None:
            return plain_mean(x, axis=axis, keepdims=keepdims)
        return _shaped(total / (x.size // total.size), x, axis, keepdims)

    def var(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        if x.size >= LARGE and _is_view(x):
            return _of_view(var, x, axis, keepdims, correction=correction)
        view = _kernels().view_of(x, axis) if x.size >= _SQUARES else None
        if view is None and x.dtype.char == "f":
            return plain_var(x.astype(np.float64), axis=axis, keepdims=keepdims, correction=correction).astype(x.dtype)
        if view is None:
            return plain_var(x, axis=axis, keepdims=keepdims, correction=correction)
        with np.errstate(all="ignore"):  # no degree of freedom is left: 0 / 0
            return _shaped(_kernels().square_total(x, view) / max(view[1] - correction, 0), x, axis, keepdims)

    def std(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        return np.sqrt(var(x, axis=axis, keepdims=keepdims, correction=correction))

    def logsumexp(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if x.size >= LARGE and _is_view(x):
            return _of_view(logsumexp, x, axis, keepdims)
        view = _kernels().view_of(x, axis) if x.size >= _LOGARITHMS else None
        if view is None or view[2] != 1:
            return plain_logsumexp(x, axis=axis, keepdims=keepdims)
        return _shaped(_kernels().logsumexp(x, view), x, axis, keepdims)

    def norm2(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if x.size >= LARGE and _is_view(x):
            return _of_view(norm2, x, axis, keepdims)
        if not (axis is None or _dimensions(axis) == x.ndim) or x.dtype.char not in "fd":
            found = _fold(x, axis, keepdims, "squares")
            if found is None and x.size >= _SUMS and x.shape[-1] <= _SHORT and x.dtype.char in "fd":
                with np.errstate(over="ignore"):
                    found = np.sqrt(sum(x * x, axis=axis, keepdims=keepdims))
            return plain_norm2(x, axis=axis, keepdims=keepdims) if found is None else found
        flat = x.reshape(-1)
        square = np.dot(flat, flat) if x.size < _ALL else inner_product().dot(flat, flat)  # inf where that is too large
        return _one(math.sqrt(square), x, keepdims)

    def prod(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None) -> Array:
        if x.size >= LARGE and _is_view(x):
            return _of_view(prod, x, axis, keepdims, dtype=dtype)
        found = _fold(x, axis, keepdims, "product") if dtype is None or dtype == x.dtype else None
        return plain_prod(x, axis=axis, keepdims=keepdims, dtype=dtype) if found is None else found

    def nansum(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if x.size >= LARGE and _is_view(x):
            return _of_view(nansum, x, axis, keepdims)
        found = _fold(x, axis, keepdims, "sum")
        if found is not None:
            return found
        if x.size >= LARGE and x.dtype.char in "fd" and x.flags.c_contiguous:
            from lucid_kernels.cpu.elementwise import operation as kernels

            return sum(kernels.numbers(x), axis=axis, keepdims=keepdims)
        if x.dtype.char == "f":
            return sum(np.where(x == x, x, np.float32(0)), axis=axis, keepdims=keepdims)
        return plain_nansum(x, axis=axis, keepdims=keepdims)

    kernels = (sum, mean, var, std, logsumexp, norm2, prod, nansum)
    return {function.__name__: function for function in kernels} | _extremes(plain) | _truths(plain)


def _truths(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """`any` and `all`: of integers, NumPy finds the largest and the smallest in half of the time that it asks each for."""
    plain_any, plain_all = plain["any"], plain["all"]

    def any(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if axis is None and x.size >= _ASKED and x.dtype.kind in "iu":
            return _largest(x.view(_UNSIGNED[x.itemsize]), axis=None, keepdims=keepdims) != 0
        return plain_any(x, axis=axis, keepdims=keepdims)

    def all(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if axis is None and x.size >= _ASKED and x.dtype.kind in "iu":
            return _smallest(x.view(_UNSIGNED[x.itemsize]), axis=None, keepdims=keepdims) != 0
        return plain_all(x, axis=axis, keepdims=keepdims)

    return {"any": any, "all": all}


def _extremes(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """`max`, `argmax`, `max_with_indices` and the same for `min`."""
    plain = dict(plain)  # the caller puts the results into the table that it passes

    def found(x: Array, axis: Any, smallest: bool, located: bool) -> tuple[Array, Any] | None:
        view = _kernels().view_of(x, axis) if x.size >= _SUMS else None
        if view is None or max(view[1:]) >= 1 << 31 or (view[2] != 1 and x.size < _COLUMNS):
            return None
        if view[0] == view[2] == 1 and not located and x.size < _ONE_EXTREME:
            return None
        from lucid_kernels.cpu.reduction import max_min

        if not max_min.serves(view, located=located):
            return None
        if view[2] != 1 and not located:
            return max_min.extreme_values(x, view, smallest=smallest), None
        result: tuple[Array, Any] = max_min.extremes(x, view, smallest=smallest, located=located)
        return result

    def three(name: str) -> dict[str, Kernel]:
        smallest = name == "min"

        def value(x: Array, *, axis: Any, keepdims: bool) -> Array:
            if x.size >= LARGE and _is_view(x):
                return _of_view(value, x, axis, keepdims)
            both = found(x, axis, smallest, False)
            return plain[name](x, axis=axis, keepdims=keepdims) if both is None else _shaped(both[0], x, axis, keepdims)

        def position(x: Array, *, axis: int | None, keepdims: bool) -> Array:
            # Along rows NumPy on one thread is as fast as ours on two: it compares and remembers in one pass; but it needs some
            # time for each.
            rows = axis is None or axis == x.ndim - 1
            by_numpy = rows and (axis is None or not _FEWEST_COMPARED <= x.shape[-1] <= _MOST_COMPARED)
            both = None if by_numpy else found(x, axis, smallest, True)
            if both is None:
                return plain[f"arg{name}"](x, axis=axis, keepdims=keepdims)
            return _shaped(both[1], x, axis, keepdims, np.int64)

        def both(x: Array, *, axis: int, keepdims: bool) -> tuple[Array, Array]:
            pair = found(x, axis, smallest, True)
            if pair is None:
                return plain[f"{name}_with_indices"](x, axis=axis, keepdims=keepdims)
            return _shaped(pair[0], x, axis, keepdims), _shaped(pair[1], x, axis, keepdims, np.int64)

        return {name: value, f"arg{name}": position, f"{name}_with_indices": both}

    return three("max") | three("min")
