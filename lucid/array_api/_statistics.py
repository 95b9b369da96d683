"""Sums, extremes and the like along axes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lucid

from .. import Tensor
from ._operands import axes_of, promoted

__all__ = ["all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std", "sum", "var"]

_Axis = int | tuple[int, ...] | None


def sum(x: Tensor, /, *, axis: _Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sums; of integers in int64.

    >>> from lucid import array_api as xp
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    Tensor([4, 6], requires_grad=False)
    """
    return _over(lambda y, axes: lucid.sum(y, axes, keepdims, dtype=dtype), x, axis)


def _over(reduce: Callable[[Tensor, tuple[int, ...]], Tensor], x: Tensor, axis: _Axis) -> Tensor:
    """`reduce` over axes; over none of them it is `reduce` over a new axis of length 1."""
    axes = axes_of(axis, x.ndim)
    if axes:
        return reduce(x, axes)
    return reduce(x.unsqueeze(-1), (x.ndim,)).reshape(x.shape)


def prod(x: Tensor, /, *, axis: _Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Products; of integers in int64.

    >>> from lucid import array_api as xp
    >>> xp.prod(xp.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([ 2, 12], requires_grad=False)
    """

    def reduce(y: Tensor, axes: tuple[int, ...]) -> Tensor:
        for one in sorted(axes, reverse=True):
            y = lucid.prod(y, one, keepdims, dtype=dtype)
        return y

    return _over(reduce, x, axis)


def max(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The largest elements; NaN where there is one.

    >>> from lucid import array_api as xp
    >>> xp.max(xp.asarray([[1, 5], [7, 0]]), axis=1)
    Tensor([5, 7], requires_grad=False)
    """
    return _over(lambda y, axes: lucid.amax(y, axes, keepdims), x, axis)


def min(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest elements; NaN where there is one.

    >>> from lucid import array_api as xp
    >>> xp.min(xp.asarray([[1, 5], [7, 0]]), axis=1)
    Tensor([1, 0], requires_grad=False)
    """
    return _over(lambda y, axes: lucid.amin(y, axes, keepdims), x, axis)


def mean(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """Means.

    >>> from lucid import array_api as xp
    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 6.0]]), axis=0)
    Tensor([2.0, 4.0], requires_grad=False)
    """
    return _over(lambda y, axes: lucid.mean(y, axes, keepdims), x, axis)


def var(x: Tensor, /, *, axis: _Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Variances: squared deviations, summed and divided by the number of elements less `correction`.

    >>> from lucid import array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]))
    Tensor(1.0, requires_grad=False)
    """
    return _over(lambda y, axes: lucid.var(y, axes, correction=correction, keepdim=keepdims), x, axis)


def std(x: Tensor, /, *, axis: _Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Standard deviations, the square roots of `var`.

    >>> from lucid import array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0]))
    Tensor(1.0, requires_grad=False)
    """
    return _over(lambda y, axes: lucid.std(y, axes, correction=correction, keepdim=keepdims), x, axis)


def all(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are true.

    >>> from lucid import array_api as xp
    >>> xp.all(xp.asarray([[True, True], [True, False]]), axis=1)
    Tensor([ True, False], requires_grad=False)
    """
    return _over(lambda y, axes: lucid.all(y, axes, keepdims), x.to(lucid.bool), axis)


def any(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """Whether an element is true.

    >>> from lucid import array_api as xp
    >>> xp.any(xp.asarray([[False, True], [False, False]]), axis=1)
    Tensor([ True, False], requires_grad=False)
    """
    return _over(lambda y, axes: lucid.any(y, axes, keepdims), x.to(lucid.bool), axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """The sums up to each element along `axis`, which may be left out for one dimension; with a 0 before the first.

    >>> from lucid import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], requires_grad=False)
    """
    return _cumulative(lucid.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """The products up to each element along `axis`, which may be left out for one dimension; with a 1 before the first.

    >>> from lucid import array_api as xp
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    Tensor([1, 2, 6], requires_grad=False)
    """
    return _cumulative(lucid.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(accumulate: Callable[..., Tensor], start: int, x: Tensor, axis: int | None, dtype: Any, initial: bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"an array of {x.ndim} dimensions needs an axis to accumulate along")
        axis = 0
    (axis,) = axes_of(axis, x.ndim)
    result = accumulate(x, axis, dtype=dtype)
    if not initial:
        return result
    shape = [*result.shape]
    shape[axis] = 1
    return lucid.cat([result.new_full(shape, start), result], axis)


def diff(x: Tensor, /, n: int = 1, *, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along `axis`, `n` times. `n` may be given without its name, as scikit-learn does.

    >>> from lucid import array_api as xp
    >>> xp.diff(xp.asarray([1, 4, 9, 16]))
    Tensor([3, 5, 7], requires_grad=False)
    """
    given = [part for part in (prepend, x, append) if part is not None]
    dtype = promoted(*[part.dtype for part in given])
    joined = lucid.cat([part.to(dtype) for part in given], axis) if len(given) > 1 else x
    return lucid.diff(joined, n, axis)
