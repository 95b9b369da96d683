"""Reductions, for NumPy and CuPy: `table(xp, reduce)` binds them to either."""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..half_precision import HALVES, in_float32, wide

Array = Any
Kernel = Callable[..., Any]


def unreduced(array: Array, ndim: int, axis: Any, keepdims: bool) -> Array:
    """A view of a reduced array with the reduced of `ndim` dimensions put back, unless all are reduced: then it broadcasts."""
    if keepdims or axis is None:
        return array
    axes = axis if isinstance(axis, tuple) else (axis,)
    return array[tuple([None if number in axes else slice(None) for number in range(ndim)])]


def table(xp: Any, reduce: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy); `reduce` has its functions `sum`, `prod`, `any`, `all`, `max` and `min`, or faster
    ones.
    """

    def sum(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None, out: Array | None = None) -> Array:
        """The sum; that of half-precision elements is accumulated in float32 and rounded once."""
        if (dtype or x.dtype) in HALVES:
            total = reduce.sum(in_float32(x), axis=axis, keepdims=keepdims).astype(dtype or x.dtype)
            if out is None:
                return total
            out[...] = total
            return out
        return reduce.sum(x, axis=axis, keepdims=keepdims, dtype=dtype, out=out)

    def mean(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """The mean; NaN of no elements."""
        total = reduce.sum(wide(x), axis=axis, keepdims=keepdims)
        if x.size == 0:
            return (total * np.nan).astype(x.dtype)
        return (total / (x.size // total.size)).astype(x.dtype, copy=False)

    def prod(x: Array, *, axis: Any, keepdims: bool, dtype: Any = None) -> Array:
        """The product; that of half-precision elements is accumulated in float32 and rounded once."""
        if (dtype or x.dtype) in HALVES:
            return reduce.prod(in_float32(x), axis=axis, keepdims=keepdims).astype(dtype or x.dtype)
        return reduce.prod(x, axis=axis, keepdims=keepdims, dtype=dtype)

    def nansum(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """The sum of the elements that are not NaN."""
        wider = wide(x)
        without_nan = xp.where(wider == wider, wider, wider.dtype.type(0))
        return reduce.sum(without_nan, axis=axis, keepdims=keepdims).astype(x.dtype, copy=False)

    def max(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """The largest element."""
        if x.dtype in HALVES:
            return reduce.max(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype)
        return reduce.max(x, axis=axis, keepdims=keepdims)

    def min(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """The smallest element."""
        if x.dtype in HALVES:
            return reduce.min(wide(x), axis=axis, keepdims=keepdims).astype(x.dtype)
        return reduce.min(x, axis=axis, keepdims=keepdims)

    def max_with_indices(x: Array, *, axis: int, keepdims: bool) -> tuple[Array, Array]:
        """The largest elements and where they are."""
        values, indices = max(x, axis=axis, keepdims=keepdims), argmax(x, axis=axis, keepdims=keepdims)
        return xp.asarray(values), xp.asarray(indices)  # NumPy gives scalars for a vector

    def min_with_indices(x: Array, *, axis: int, keepdims: bool) -> tuple[Array, Array]:
        """The smallest elements and where they are."""
        values, indices = min(x, axis=axis, keepdims=keepdims), argmin(x, axis=axis, keepdims=keepdims)
        return xp.asarray(values), xp.asarray(indices)  # NumPy gives scalars for a vector

    def any(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """Whether any element is true."""
        return reduce.any(x, axis=axis, keepdims=keepdims)

    def all(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """Whether all elements are true."""
        return reduce.all(x, axis=axis, keepdims=keepdims)

    def argmax(x: Array, *, axis: int | None, keepdims: bool) -> Array:
        """Where the largest element is."""
        return wide(x).argmax(axis=axis, keepdims=keepdims)

    def argmin(x: Array, *, axis: int | None, keepdims: bool) -> Array:
        """Where the smallest element is."""
        return wide(x).argmin(axis=axis, keepdims=keepdims)

    def var(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        """The variance, of as many degrees of freedom as there are elements less `correction`."""
        wider = wide(x)
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        count = math.prod([x.shape[a] for a in axes])
        centred = wider - reduce.sum(wider, axis=axis, keepdims=True) / float(count)
        squares = centred * centred if x.dtype.kind != "c" else xp.square(centred.real) + xp.square(centred.imag)
        total = reduce.sum(squares, axis=axis, keepdims=keepdims)
        result = total / float(builtins.max(count - correction, 0))  # NaN if no degree of freedom is left: 0 / 0
        return result.astype(total.dtype if x.dtype.kind == "c" else x.dtype, copy=False)

    def std(x: Array, *, axis: Any, keepdims: bool, correction: float) -> Array:
        """The square root of `var`."""
        return xp.sqrt(var(x, axis=axis, keepdims=keepdims, correction=correction))

    def var_mean(x: Array, *, axis: Any, keepdims: bool, correction: float) -> tuple[Array, Array]:
        """`var` and `mean`, as arrays: NumPy makes numbers of those without dimensions."""
        results = var(x, axis=axis, keepdims=keepdims, correction=correction), mean(x, axis=axis, keepdims=keepdims)
        return xp.asarray(results[0]), xp.asarray(results[1])

    def std_mean(x: Array, *, axis: Any, keepdims: bool, correction: float) -> tuple[Array, Array]:
        """`std` and `mean`, likewise."""
        results = std(x, axis=axis, keepdims=keepdims, correction=correction), mean(x, axis=axis, keepdims=keepdims)
        return xp.asarray(results[0]), xp.asarray(results[1])

    def logsumexp(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """``log(sum(exp(x)))``, which does not overflow."""
        wider = wide(x)
        if x.size == 0:
            peak = xp.zeros_like(wider.sum(axis=axis, keepdims=True))
        else:
            real = wider.real if wider.dtype.kind == "c" else wider  # the sum's own logarithm has its principal value
            peak = real.max(axis=axis, keepdims=True)
            peak = xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))
        exact = np.float64 if wider.dtype == np.float32 else None
        total = reduce.sum(xp.exp(wider - peak), axis=axis, keepdims=keepdims, dtype=exact)
        result = xp.log(total)  # of 0 where all elements are -inf
        return (result + peak.reshape(result.shape)).astype(x.dtype, copy=False)

    def norm2(x: Array, *, axis: Any, keepdims: bool) -> Array:
        """The Euclidean norm."""
        wider = wide(xp.abs(x) if x.dtype.kind == "c" else x)
        result = xp.sqrt(reduce.sum(wider * wider, axis=axis, keepdims=keepdims))
        return result if x.dtype.kind == "c" else result.astype(x.dtype, copy=False)

    def extreme(x: Array, *, axis: Any, keepdims: bool, smallest: bool, sizes: bool) -> tuple[Array, Array]:
        """The largest elements, or the `smallest`, or those of the `sizes` of the elements; and how many are equal to it, or NaN
        as it is, in the dtype of sums.
        """
        wider = wide(xp.abs(x) if sizes else x)
        peak = (reduce.min if smallest else reduce.max)(wider, axis=axis, keepdims=True)
        ties = reduce.sum((wider == peak) | ((wider != wider) & (peak != peak)), axis=axis, keepdims=True).astype(wider.dtype)
        if not keepdims:
            axes = tuple(range(x.ndim)) if axis is None else axis
            peak, ties = peak.squeeze(axes), ties.squeeze(axes)
        return xp.asarray(peak).astype(x.dtype, copy=False), xp.asarray(ties)

    def extreme_grad(g: Array, x: Array, y: Array, ties: Array, *, axis: Any, keepdims: bool, rule: str) -> Array:
        """The gradient `g` of `y`, the extremes of `x`, for its `ties`. `rule`: NaN share it ('max'), make all NaN ('amax'), or
        share it as the `sizes` do, each in its direction ('norm').
        """
        g, y, ties = (unreduced(array, x.ndim, axis, keepdims) for array in (g, y, ties))
        place = xp.abs(x) if rule == "norm" else x
        chosen = place == y
        if rule == "amax":
            ties = xp.where(y == y, ties, ties.dtype.type(0))
        else:
            chosen = chosen | ((place != place) & (y != y))
        share = (wide(g) / ties).astype(g.dtype, copy=False)
        if rule == "max":
            return xp.where(chosen, share, g.dtype.type(0))
        share = share * chosen.astype(g.dtype)
        return sign(x) * share if rule == "norm" else share

    def sign(x: Array) -> Array:
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)

    def norm_grad(g: Array, x: Array, y: Array, *, axis: tuple[int, ...] | None, keepdims: bool, order: float) -> Array:
        """The gradient `g` of the norms `y` of an order that is neither 0, 2 nor infinite, of real `x` along it."""
        g, y = (wide(unreduced(array, x.ndim, axis, keepdims)) for array in (g, y))
        size = wide(xp.abs(x))
        if order != 1:
            zero = y == 0
            size = xp.where(size == 0, size.dtype.type(1), size) if order < 2 else size
            g = xp.where(zero, g.dtype.type(0), g) if order < 0 else g
            g = (size / xp.where(zero, y.dtype.type(1), y)) ** (order - 1) * g
        return (sign(wide(x)) * g).astype(x.dtype, copy=False)

    def norm2_grad(g: Array, x: Array, y: Array, *, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
        """The gradient `g` of the norms `y` of real `x` along it: 0 where `y` is, as `x` is there."""
        g, y = (unreduced(array, x.ndim, axis, keepdims) for array in (g, y))
        return x / (y + (y == 0)) * g

    def norm(x: Array, *, axis: Any, keepdims: bool, order: float) -> Array:
        """The norm of an order that is neither 0 nor infinite."""
        size = wide(xp.abs(x))
        result = reduce.sum(size ** order, axis=axis, keepdims=keepdims) ** (1 / order)
        return result if x.dtype.kind == "c" else result.astype(x.dtype, copy=False)

    functions: tuple[Kernel, ...] = (all, any, argmax, argmin, extreme, extreme_grad, logsumexp, max, max_with_indices, mean, min,
                                     min_with_indices, nansum, norm, norm2, norm2_grad, norm_grad, prod, std, std_mean, sum, var,
                                     var_mean)
    return {function.__name__: function for function in functions}
