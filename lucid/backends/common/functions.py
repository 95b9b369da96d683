"""Operations that NumPy and CuPy both have, written once: `table(xp)` binds them to either module.

Kernels of our own (Numba, CUDA) are added by `cpu.py` and `gpu.py`. Keyword names are NumPy's (`axis`, `keepdims`): the
functions of `lucid.ops` translate PyTorch's.
"""
from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..cpu import narrow_reductions
from ..half_precision import HALVES, in_float32, wide
from ..memory_format import in_memory_order, inverse
from ..sizes import LARGE

Array = Any
Kernel = Callable[..., Any]

# Functions of the same name and meaning in both modules, called as they are.
SAME = "arange argsort eye linspace roll take take_along_axis tril triu where".split()

_WHOLE, _BACKWARDS = slice(None), slice(None, None, -1)
_INT64 = np.dtype(np.int64).num  # to compare a dtype with the class np.int64 makes a dtype of that first
_SORTED = 512  # elements of an array that is sorted in less time than its largest are found and sorted


def table(xp: Any, scatter_add: Kernel, multiply: Kernel) -> dict[str, Kernel]:
    """The shared operations on `xp` (numpy or cupy).

    `scatter_add(array, index, values)` adds in place with repeated indices, `multiply(a, b)` is the product of
    matrices, on a CPU but for those in half precision.
    """

    entries: dict[str, Kernel] = {name: getattr(xp, name) for name in SAME}

    def entry(function: Kernel) -> Kernel:
        entries[function.__name__] = function
        return function

    def write(value: Array, out: Array | None) -> Array:
        if out is None:
            return value
        out[...] = value
        return out

    @entry
    def empty(*, shape: Sequence[int], dtype: Any) -> Array:
        return xp.empty(shape, dtype)

    @entry
    def full(*, shape: Sequence[int], fill_value: Any, dtype: Any) -> Array:
        return xp.full(shape, fill_value, dtype)

    @entry
    def increment(counter: Array) -> Array:
        if xp is np and not counter.ndim and counter.dtype.num == _INT64:
            counter[()] = counter.item() + 1  # through Python, in a fifth of the time of NumPy's addition
        else:
            counter += 1
        return counter

    @entry
    def triangle_indices(*, rows: int, columns: int, offset: int, upper: bool, dtype: Any) -> Array:
        """The rows and columns (2, n) of the elements of a matrix on and above, or below, a diagonal, row by row."""
        # A row after the other: a tenth of the time of asking for each element, which side it is on. By NumPy, as CuPy's `repeat`
        # takes no array of counts.
        numbers = np.arange(rows)
        first = np.clip(numbers + offset, 0, columns) if upper else np.zeros(rows, np.int64)
        counts = columns - first if upper else np.clip(numbers + offset + 1, 0, columns)
        ends = counts.cumsum()
        places = np.empty((2, counts.sum()), dtype)
        places[0] = np.repeat(numbers, counts)
        places[1] = np.arange(places.shape[1])
        places[1] -= np.repeat(ends - counts - first, counts).astype(dtype, copy=False)
        return xp.asarray(places)

    @entry
    def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Array:
        return write(in_memory_order(x, lambda array: array.astype(dtype, order="C")), out)

    @entry
    def copy(x: Array, *, axes: tuple[int, ...] | None = None, out: Array | None = None) -> Array:
        """`axes` are the dimensions from the outermost in memory to the innermost; None is row-major order."""
        if out is None:
            return x.copy() if axes is None else x.transpose(axes).copy().transpose(inverse(axes))
        out[...] = x
        return out

    @entry
    def flip(x: Array, *, axis: Any) -> Array:
        turned = x[tuple([_BACKWARDS if dim in axis else _WHOLE for dim in range(x.ndim)])]
        return turned.copy() if x.flags.c_contiguous else in_memory_order(turned, lambda array: array.copy())

    @entry
    def fill(x: Array, *, value: Any, out: Array | None = None) -> Array:
        """`value`, a number, in the shape of `x`."""
        return write(value, xp.empty_like(x) if out is None else out)

    @entry
    def real(x: Array) -> Array:
        return x.real

    @entry
    def imag(x: Array) -> Array:
        return x.imag

    @entry
    def contiguous(x: Array) -> Array:
        return xp.ascontiguousarray(x).reshape(x.shape)  # NumPy's makes 0-d arrays 1-d

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
        view = xp.broadcast_to(x, shape)
        if xp is np and x.flags.writeable:
            view.flags.writeable = True  # NumPy makes it read-only: elements of a part may have memory of their own
        return view

    def accumulate_at(target: Array, index: Any, values: Array) -> None:
        """Add in place with repeated indices; half-precision numbers in float32, rounded once."""
        if target.dtype in HALVES:
            total = target.astype(np.float32)
            scatter_add(total, index, values.astype(np.float32))
            target[...] = total
        else:
            scatter_add(target, index, values)

    def spot(indices: Array, axis: int) -> tuple[Array, ...]:
        """The index of the elements that `take_along_axis(x, indices, axis)` reads."""
        index: list[Array] = []
        for dim, length in enumerate(indices.shape):
            positions = [1] * indices.ndim
            positions[dim] = length
            index.append(indices if dim == axis else xp.arange(length).reshape(positions))
        return tuple(index)

    def along(x: Array, indices: Array, axis: int) -> Array:
        """`take_along_axis` for indices that may be shorter than `x` along the other axes."""
        shape = indices.shape
        if xp is not np or axis != x.ndim - 1 or axis > 1 or not x.size or not x.flags.c_contiguous:
            return x[spot(indices, axis)]
        if axis and shape[0] != 1:  # of a few rows, numbers in memory take half of the time
            indices = indices + np.arange(0, shape[0] * x.shape[1], x.shape[1])[:, None]
        return x.take(indices)

    @entry
    def getitem(x: Array, *, index: tuple[Any, ...]) -> Array:
        if len(index) == 1 and hasattr(index[0], "dtype") and index[0].dtype.kind != "b":
            return x.take(index[0], axis=0)  # rows: a third of the time of x[index]
        *lead, last = index
        whole = lead and builtins.all(item.__class__ is slice and item == slice(None) for item in lead)
        if whole and hasattr(last, "dtype") and last.dtype.kind != "b":  # columns: a sixth; of a view it would copy all first
            return x.take(last, axis=len(lead)) if x.flags.c_contiguous else xp.ascontiguousarray(x[index])
        return x[index]

    @entry
    def index_put(x: Array, values: Any, *, index: Any, accumulate: bool = False, out: Array | None = None) -> Array:
        """`x` with `values` (or a Python number) at `index`; `accumulate` adds them to what is there."""
        result = x.copy() if out is None else out
        if accumulate:
            accumulate_at(result, index, values)
        else:
            result[index] = values
        return result

    @entry
    def scatter_new(values: Array, *, shape: tuple[int, ...], index: Any, unique: bool) -> Array:
        """Zeros of `shape` with `values` added at `index`; `unique` says that no element is named twice."""
        result = xp.zeros(shape, values.dtype)
        if unique:
            result[index] = values
        else:
            accumulate_at(result, index, values)
        return result

    @entry
    def index_select(x: Array, indices: Array, *, axis: int) -> Array:
        return x.take(indices, axis=axis)  # the module's function takes 0.5 us more

    @entry
    def index_select_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
        """Zeros of `shape` with the slices of `g` added where `index_select` would read."""
        return scatter_new(g, shape=shape, index=(*(slice(None),) * axis, indices), unique=False)

    @entry
    def embedding(weight: Array, indices: Array, *, padding_idx: int | None) -> Array:
        """The rows of `weight` named by `indices` of any shape; `padding_idx` matters to the gradient only."""
        return weight.take(indices, axis=0)

    @entry
    def bag_numbers(offsets: Array, *, count: int) -> Array:
        """The bag that each of `count` elements is in; bag b begins at offsets[b] and ends before offsets[b + 1]."""
        return xp.cumsum(xp.bincount(offsets[1:-1], minlength=count + 1)[:count])

    @entry
    def bag_edges(offsets: Array, *, count: int, include_last: bool) -> Array:
        """The int64 edges (B + 1,) of bags of `count` elements. On the CPU RuntimeError for offsets that are none."""
        if xp is np and offsets.size:
            if offsets[0] != 0:
                raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                                   f"position 0. However, got {offsets[0]}")
            if offsets[-1] > count:
                raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
                                   f"{offsets[-1]}")
            if (offsets[1:] < offsets[:-1]).any():
                raise RuntimeError("embedding_bag: offsets must not decrease")
        if not include_last:
            offsets = xp.concatenate([offsets, xp.full(1, count, offsets.dtype)])
        elif not offsets.size:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        return offsets.astype(np.int64, copy=False)

    @entry
    def bag_lengths(offsets: Array, *, dtype: Any) -> Array:
        """What the sums (B, D) of bags are divided by to be means: a column; 1 for empty bags."""
        return xp.maximum(offsets[1:] - offsets[:-1], 1)[:, None].astype(dtype)

    @entry
    def bag_sums(weight: Array, indices: Array, offsets: Array, factors: Array | None, scale: Array | None) -> Array:
        """The sums (B, D) of the rows of `weight` in each bag, times their `factors`; `scale` matters to the gradient only."""
        rows = wide(weight.take(indices, axis=0))
        total = xp.zeros((offsets.size - 1, weight.shape[1]), rows.dtype)
        scatter_add(total, bag_numbers(offsets, count=indices.size), rows if factors is None else rows * wide(factors)[:, None])
        return total.astype(weight.dtype, copy=False)

    @entry
    def bag_maxima(weight: Array, indices: Array, offsets: Array) -> Array:
        """The rows (B, D) of `weight` in which the maxima of bags stand, -1 for those of empty bags.

        The first of equal ones; NaN is larger than nothing, but stays where it comes first, as in PyTorch.
        """
        lengths, shape = offsets[1:] - offsets[:-1], (offsets.size - 1, weight.shape[1])
        if 0 in (*shape, indices.size):
            return xp.full(shape, -1, np.int64)
        places = offsets[:-1, None] + xp.arange(int(lengths.max()))
        numbers = indices[xp.minimum(places, indices.size - 1)]
        values = wide(weight.take(numbers.reshape(-1), axis=0)).reshape(*numbers.shape, -1)
        values = xp.where(xp.isnan(values) | (places >= offsets[1:, None])[..., None], values.dtype.type(-np.inf), values)
        values[:, 0] = xp.where(xp.isnan(wide(weight.take(numbers[:, 0], axis=0))), values.dtype.type(np.inf), values[:, 0])
        best = xp.take_along_axis(numbers, values.argmax(axis=1), 1)
        return xp.where((lengths > 0)[:, None], best, -1)

    @entry
    def index_add(x: Array, indices: Array, source: Array, *, axis: int, out: Array | None = None) -> Array:
        result = x.copy() if out is None else out
        accumulate_at(result, (slice(None),) * axis + (indices,), source)
        return result

    @entry
    def gather(x: Array, indices: Array, *, axis: int) -> Array:
        """`take_along_axis` for indices that may be shorter than `x` along the other axes."""
        return along(x, indices, axis)

    @entry
    def gather_grad(g: Array, indices: Array, *, shape: tuple[int, ...], axis: int) -> Array:
        """Zeros of `shape` with `g` added where `gather` would read."""
        result = xp.zeros(shape, g.dtype)
        accumulate_at(result, spot(indices, axis), g)
        return result

    @entry
    def scatter(x: Array, indices: Array, source: Any, *, axis: int, accumulate: bool = False,
                out: Array | None = None) -> Array:
        """`x` with `source` (or a Python number) where `gather` would read; `accumulate` adds to what is there."""
        result = x.copy() if out is None else out
        if accumulate:
            accumulate_at(result, spot(indices, axis), source if hasattr(source, "dtype") else xp.full((), source, x.dtype))
        else:
            result[spot(indices, axis)] = source
        return result

    @entry
    def masked_fill(x: Array, mask: Array, value: Any, *, out: Array | None = None) -> Array:
        result = x.copy() if out is None else out
        if not hasattr(value, "dtype"):
            value = x.dtype.type(value) if xp is np else xp.full((), value, x.dtype)  # a fifth of the time
        xp.copyto(result, value, where=mask)
        return result

    @entry
    def nonzero(x: Array) -> tuple[Array, ...]:
        return xp.nonzero(x)

    def order(x: Array, axis: int, descending: bool) -> Array:
        """The stable sorting permutation; NaN counts as the largest number."""
        keys = wide(x)
        if not descending:
            return xp.argsort(keys, axis=axis, kind="stable")
        reverse = (*(slice(None),) * axis, slice(None, None, -1))
        return x.shape[axis] - 1 - xp.argsort(keys[reverse], axis=axis, kind="stable")[reverse]

    @entry
    def sort(x: Array, *, axis: int, descending: bool) -> tuple[Array, Array]:
        indices = order(x, axis, descending)
        return along(x, indices, axis), indices

    @entry
    def topk(x: Array, *, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
        lead, length = (slice(None),) * axis, x.shape[axis]
        if xp is np and 0 < 4 * k < length and x.size > _SORTED:  # CuPy partitions by sorting
            keys = wide(x)
            parts = (np.argpartition(keys, length - k, axis)[(*lead, slice(length - k, None))] if largest else
                     np.argpartition(keys, k - 1, axis)[(*lead, slice(k))])
            parts = np.sort(parts, axis)  # so that equal elements come in the order of their indices
            indices = along(parts, order(along(x, parts, axis), axis, largest), axis)
        else:
            indices = order(x, axis, largest)[(*lead, slice(k))]
        return along(x, indices, axis), indices

    def matrix_product(a: Array, b: Array) -> Array:
        if xp is np and a.dtype in HALVES:  # BLAS has none of them, and sums belong in float32
            return multiply(wide(a), wide(b)).astype(a.dtype)
        return multiply(a, b)

    @entry
    def matmul(a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
        """The product of matrices, or of stacks of them, with the last two axes of `a` or `b` swapped on request; a vector stands
        for a row as `a`, for a column as `b`, whose axis the result does not have.
        """
        if a.ndim == 1 or b.ndim == 1:
            if a.ndim < 3 and b.ndim < 3 and a.size < LARGE and b.size < LARGE:
                return matrix_product(a.T if transpose_a else a, b.T if transpose_b else b)
            product = matmul(a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b,
                             transpose_a=transpose_a and a.ndim > 1, transpose_b=transpose_b and b.ndim > 1)
            rows, columns = product.shape[-2:-1] if a.ndim > 1 else (), product.shape[-1:] if b.ndim > 1 else ()
            return product.reshape((*product.shape[:-2], *rows, *columns))
        if a.ndim > 2 and b.ndim == 2 and not transpose_a:
            # One product, not one for each matrix of the stack.
            rows = matrix_product(a.reshape(math.prod(a.shape[:-1]), a.shape[-1]), b.T if transpose_b else b)
            return rows.reshape(*a.shape[:-1], rows.shape[1])
        return matrix_product(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)

    @entry
    def concatenate(*arrays: Array, axis: int) -> Array:
        return xp.concatenate(arrays, axis=axis)

    @entry
    def stack(*arrays: Array, axis: int) -> Array:
        shape = (*arrays[0].shape[:axis], 1, *arrays[0].shape[axis:])
        return xp.concatenate([array.reshape(shape) for array in arrays], axis=axis)  # half of the time of xp.stack

    @entry
    def split(x: Array, *, boundaries: tuple[int, ...], axis: int) -> tuple[Array, ...]:
        lead = (slice(None),) * axis
        edges = (0, *boundaries, x.shape[axis])
        return tuple([x[(*lead, slice(a, b))] for a, b in itertools.pairwise(edges)])

    @entry
    def unbind(x: Array, *, axis: int) -> tuple[Array, ...]:
        lead = (slice(None),) * axis
        return tuple([x[(*lead, place, ...)] for place in range(x.shape[axis])])  # with Ellipsis: an element is a view, too

    add_up, multiply_up, any_of, all_of, largest_of, smallest_of = map(narrow_reductions.reduction, (
        np.add, np.multiply, np.logical_or, np.logical_and, np.maximum, np.minimum)) if xp is np else (
        xp.sum, xp.prod, xp.any, xp.all, xp.max, xp.min)

    # Sums of half-precision numbers are accumulated in float32 and rounded once.
    @entry
    def sum(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
        if (dtype or x.dtype) in HALVES:
            return write(add_up(in_float32(x), axis=axis, keepdims=keepdims).astype(dtype or x.dtype), out)
        return add_up(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)

    @entry
    def mean(x: Array, *, axis: Any, keepdims: bool) -> Array:
        total = add_up(wide(x), axis=axis, keepdims=keepdims)
        if x.size == 0:
            return (total * np.nan).astype(x.dtype)
        return (total / (x.size // total.size)).astype(x.dtype, copy=False)

    @entry
    def prod(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None) -> Array:
        if (dtype or x.dtype) in HALVES:
            return multiply_up(in_float32(x), axis=axis, keepdims=keepdims).astype(dtype or x.dtype)
        return multiply_up(x, axis=axis, keepdims=keepdims, dtype=dtype)

    @entry
    def nansum(x: Array, *, axis: Any, keepdims: bool) -> Array:
        wider = wide(x)
        numbers = xp.where(wider == wider, wider, wider.dtype.type(0))
        return add_up(numbers, axis=axis, keepdims=keepdims).astype(x.dtype, copy=False)

    @entry
    def max(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if x.dtype in HALVES:
            return largest_of(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype)
        return largest_of(x, axis=axis, keepdims=keepdims)

    @entry
    def min(x: Array, *, axis: Any, keepdims: bool) -> Array:
        if x.dtype in HALVES:
            return smallest_of(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype)
        return smallest_of(x, axis=axis, keepdims=keepdims)

    @entry
    def max_with_indices(x: Array, *, axis: int, keepdims: bool) -> tuple[Array, Array]:
        values, indices = max(x, axis=axis, keepdims=keepdims), argmax(x, axis=axis, keepdims=keepdims)
        return xp.asarray(values), xp.asarray(indices)  # NumPy gives scalars for a vector

    @entry
    def min_with_indices(x: Array, *, axis: int, keepdims: bool) -> tuple[Array, Array]:
        values, indices = min(x, axis=axis, keepdims=keepdims), argmin(x, axis=axis, keepdims=keepdims)
        return xp.asarray(values), xp.asarray(indices)  # NumPy gives scalars for a vector

    @entry
    def any(x: Array, *, axis: Any, keepdims: bool) -> Array:
        return any_of(x, axis=axis, keepdims=keepdims)

    @entry
    def all(x: Array, *, axis: Any, keepdims: bool) -> Array:
        return all_of(x, axis=axis, keepdims=keepdims)

    @entry
    def argmax(x: Array, *, axis: int | None, keepdims: bool) -> Array:
        return wide(x).argmax(axis=axis, keepdims=keepdims)

    @entry
    def argmin(x: Array, *, axis: int | None, keepdims: bool) -> Array:
        return wide(x).argmin(axis=axis, keepdims=keepdims)

    @entry
    def var(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        wider = wide(x)
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        count = math.prod(x.shape[a] for a in axes)
        centred = wider - mean(wider, axis=axis, keepdims=True)
        squares = centred * centred if x.dtype.kind != "c" else xp.square(centred.real) + xp.square(centred.imag)
        total = add_up(squares, axis=axis, keepdims=keepdims)
        result = total / builtins.max(count - correction, 0)  # NaN if no degree of freedom is left: 0 / 0
        return result.astype(total.dtype if x.dtype.kind == "c" else x.dtype, copy=False)

    @entry
    def std(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        return xp.sqrt(var(x, axis=axis, keepdims=keepdims, correction=correction))

    @entry
    def cumsum(x: Array, *, axis: int, dtype: Any = None) -> Array:
        if (dtype or x.dtype) in HALVES:
            return in_float32(x).cumsum(axis=axis).astype(dtype or x.dtype)
        return x.cumsum(axis=axis, dtype=dtype)

    @entry
    def logsumexp(x: Array, *, axis: Any, keepdims: bool) -> Array:
        wider = wide(x)
        if x.size == 0:
            peak = xp.zeros_like(wider.sum(axis=axis, keepdims=True))
        else:
            real = wider.real if wider.dtype.kind == "c" else wider  # the sum's own logarithm has its principal value
            peak = real.max(axis=axis, keepdims=True)
            peak = xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))
        exact = np.float64 if wider.dtype == np.float32 else None
        total = add_up(xp.exp(wider - peak), axis=axis, keepdims=keepdims, dtype=exact)
        result = xp.log(total)  # of 0 where all elements are -inf
        return (result + peak.reshape(result.shape)).astype(x.dtype, copy=False)

    @entry
    def norm2(x: Array, *, axis: Any, keepdims: bool) -> Array:
        wider = wide(xp.abs(x) if x.dtype.kind == "c" else x)
        result = xp.sqrt(add_up(wider * wider, axis=axis, keepdims=keepdims))
        return result if x.dtype.kind == "c" else result.astype(x.dtype, copy=False)

    @entry
    def norm2_grad(g: Array, x: Array, y: Array, *, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
        """The gradient `g` of the norms `y` of real `x` along it: 0 where `y` is, as `x` is there."""
        if not keepdims and axis is not None:
            places = tuple([None if number in axis else slice(None) for number in range(x.ndim)])
            g, y = g[places], y[places]
        return x / (y + (y == 0)) * g

    @entry
    def norm(x: Array, *, axis: Any, keepdims: bool, order: float) -> Array:
        """The norm of an order that is neither 0 nor infinite."""
        size = wide(xp.abs(x))
        result = add_up(size ** order, axis=axis, keepdims=keepdims) ** (1 / order)
        return result if x.dtype.kind == "c" else result.astype(x.dtype, copy=False)

    @entry
    def diagonal_scatter(x: Array, *, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Array:
        """Zeros of `shape` with `x` on a diagonal of axes `axis1` and `axis2`."""
        result = xp.zeros(shape, x.dtype)
        n = x.shape[-1]
        steps = xp.arange(n)
        moved = xp.moveaxis(result, (axis1, axis2), (-2, -1))  # a view
        moved[..., steps + builtins.max(-offset, 0), steps + builtins.max(offset, 0)] = x
        return result

    return entries
