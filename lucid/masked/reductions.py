"""Sums, extremes, means and norms of the elements that a mask keeps."""
from __future__ import annotations

import builtins
import math
from typing import Any

from .. import _dtypes
from .._limits import iinfo
from ..autograd.errors import type_name
from ..ops.elementwise.where import where
from ..ops.reduction import max_min, reduction
from ..tensor import Tensor


def cast(name: str, input: Tensor, dtype: Any) -> Tensor:
    """`input` in `dtype`, if that is given."""
    return input if dtype is None else input.to(_dtypes.as_dtype(dtype))


def delivered(result: Tensor, values: Tensor) -> Tensor:
    """A result in the dtype of what it was computed of, also under autocast; sums of integers stay int64."""
    return result.to(values.dtype) if _dtypes.is_differentiable(values.dtype) else result


def filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """`input` with `value` where the mask is False. Raises RuntimeError where the mask cannot be broadcast to it."""
    return input if mask is None else where(kept(input, mask), input, input.new_full((), value))


def kept(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as bools in the shape of `input`."""
    return mask.to(_dtypes.bool_).expand(input.shape)


def dims_of(input: Tensor, dim: Any) -> tuple[int, ...]:
    """The dimensions that are reduced: all for None and for an empty tuple."""
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def lowest(dtype: Any) -> Any:
    """What no element of that dtype is below."""
    return -math.inf if _dtypes.is_floating(dtype) else 0 if dtype == _dtypes.bool_ else iinfo(dtype).min


def highest(dtype: Any) -> Any:
    """What no element of that dtype is above."""
    return math.inf if _dtypes.is_floating(dtype) else 1 if dtype == _dtypes.bool_ else iinfo(dtype).max


def sum(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The sum of the elements that `mask` keeps.

    >>> lucid.masked.sum(lucid.tensor([1.0, 2.0, 6.0]), mask=lucid.tensor([True, False, True]))
    Tensor(7.0, requires_grad=False)
    """
    values = filled(cast("sum", input, dtype), mask, 0)
    return delivered(reduction.sum(values, dims_of(input, dim), builtins.bool(keepdim)), values)


def prod(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The product of the elements that `mask` keeps.

    >>> lucid.masked.prod(lucid.tensor([1.0, 2.0, 6.0]), mask=lucid.tensor([True, False, True]))
    Tensor(6.0, requires_grad=False)
    """
    values = result = filled(cast("prod", input, dtype), mask, 1)
    for each in sorted((axis % max(input.ndim, 1) for axis in dims_of(input, dim)), reverse=True):
        result = reduction.prod(result, each, builtins.bool(keepdim))
    return delivered(result, values)


def amax(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The largest of the elements that `mask` keeps; the lowest value of the dtype where there is none.

    >>> lucid.masked.amax(lucid.tensor([1.0, 9.0, 6.0]), mask=lucid.tensor([True, False, True]))
    Tensor(6.0, requires_grad=False)
    """
    values = cast("amax", input, dtype)
    return max_min.amax(filled(values, mask, lowest(values.dtype)), dims_of(input, dim), builtins.bool(keepdim))


def amin(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The smallest of the elements that `mask` keeps; the highest value of the dtype where there is none.

    >>> lucid.masked.amin(lucid.tensor([3.0, 1.0, 6.0]), mask=lucid.tensor([True, False, True]))
    Tensor(3.0, requires_grad=False)
    """
    values = cast("amin", input, dtype)
    return max_min.amin(filled(values, mask, highest(values.dtype)), dims_of(input, dim), builtins.bool(keepdim))


def argmax(input: Tensor, dim: int | None = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None
           ) -> Tensor:
    """Where the largest of the elements that `mask` keeps stands, in the dtype of `input` as in PyTorch.

    >>> lucid.masked.argmax(lucid.tensor([1, 9, 6]), mask=lucid.tensor([True, False, True]))
    Tensor(2, requires_grad=False)
    """
    values = cast("argmax", input, dtype)
    found: Tensor = max_min.argmax(filled(values, mask, lowest(values.dtype)), dim, builtins.bool(keepdim))
    return found.to(values.dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None
           ) -> Tensor:
    """Where the smallest of the elements that `mask` keeps stands, in the dtype of `input` as in PyTorch.

    >>> lucid.masked.argmin(lucid.tensor([3, 1, 6]), mask=lucid.tensor([True, False, True]))
    Tensor(0, requires_grad=False)
    """
    values = cast("argmin", input, dtype)
    found: Tensor = max_min.argmin(filled(values, mask, highest(values.dtype)), dim, builtins.bool(keepdim))
    return found.to(values.dtype)


def _count(input: Tensor, dims: tuple[int, ...], keepdim: builtins.bool, mask: Tensor | None) -> Tensor:
    ones = input.new_ones(()).expand(input.shape) if mask is None else kept(input, mask).to(input.dtype)
    return reduction.sum(ones, dims, keepdim)


def mean(input: Tensor, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The mean of the elements that `mask` keeps; NaN where there is none. Raises ValueError for integers without `dtype`.

    >>> lucid.masked.mean(lucid.tensor([1.0, 2.0, 6.0]), mask=lucid.tensor([True, False, True]))
    Tensor(3.5, requires_grad=False)
    """
    values = cast("mean", input, dtype)
    if not _dtypes.is_differentiable(values.dtype):
        raise ValueError("mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                         f"Got: {values.dtype}")
    dims, keeps = dims_of(input, dim), builtins.bool(keepdim)
    return delivered(reduction.sum(filled(values, mask, 0), dims, keeps) / _count(values, dims, keeps, mask), values)


def _variance(name: str, input: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: Any, dtype: Any, mask: Tensor | None
              ) -> Tensor:
    if unbiased is not None and correction is not None:
        raise ValueError(f"{name}(): unbiased and correction say the same: give one of them")
    less = correction if correction is not None else 1 if unbiased is None or unbiased else 0
    if dtype is None and not _dtypes.is_differentiable(input.dtype):
        dtype = "float32"
    values = cast(name, input, dtype)
    dims, keeps = dims_of(input, dim), builtins.bool(keepdim)
    center = mean(values, dims, keepdim=True, mask=mask)
    squares = filled((values - center).abs() ** 2, mask, 0)
    count = _count(squares, dims, keeps, mask)
    result = reduction.sum(squares, dims, keeps) / (count - less).clamp(min=0)
    return delivered(where(count == 0, result.new_full((), math.nan), result), values)


def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The variance of the elements that `mask` keeps, by default unbiased; float32 for integers.

    >>> lucid.masked.var(lucid.tensor([1.0, 9.0, 3.0]), mask=lucid.tensor([True, False, True]))
    Tensor(2.0, requires_grad=False)
    """
    return _variance("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: int | None = None,
        keepdim: Any = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The standard deviation of the elements that `mask` keeps, by default unbiased.

    >>> lucid.masked.std(lucid.tensor([1.0, 9.0, 1.0]), mask=lucid.tensor([True, False, True]))
    Tensor(0.0, requires_grad=False)
    """
    result = _variance("std", input, dim, unbiased, correction, keepdim, dtype, mask)
    return delivered(result.sqrt(), result)


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The median of the elements that `mask` keeps along `dim`, the lower one of two; NaN where there is none, and ValueError for
    integers.

    >>> lucid.masked.median(lucid.tensor([3.0, 1.0, 2.0]), mask=lucid.tensor([True, False, True]))
    Tensor(2.0, requires_grad=False)
    """
    values = cast("median", input, dtype)
    if _dtypes.is_floating(values.dtype):
        found: Tensor = filled(values, mask, math.nan).nanmedian(dim, keepdim).values
        return found
    if mask is None:
        return values.median(dim, keepdim).values
    chosen = kept(input, mask)
    if not chosen.any(dim).all():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    order = filled(values, mask, highest(values.dtype)).sort(dim).values
    middle = (reduction.sum(chosen, dim, True) - 1) // 2
    result = order.gather(dim, middle)
    return result if keepdim else result.squeeze(dim)


def norm(input: Tensor, ord: float | None = 2.0, dim: Any = None, *, keepdim: Any = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """`linalg.vector_norm` of the elements that `mask` keeps; of none, 0, or infinity if `ord` is negative. Of a
    negative `ord` but -infinity PyTorch's is 0 wherever an element is left out.

    >>> lucid.masked.norm(lucid.tensor([3.0, 9.0, 4.0]), mask=lucid.tensor([True, False, True]))
    Tensor(5.0, requires_grad=False)
    """
    from ..ops.linalg.vector_norms import vector_norm

    values = cast("norm", input, dtype)
    if not _dtypes.is_differentiable(values.dtype):
        raise RuntimeError(f"norm(): expected floating-point or complex elements, got {type_name(values.dtype)}")
    order = 2.0 if ord is None else ord
    chosen = filled(values, mask, math.inf if order < 0 else 0)
    result: Tensor = vector_norm(chosen, order, dims_of(input, dim), builtins.bool(keepdim))
    return result if values.is_complex() else delivered(result, values)


def logsumexp(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials of the elements that `mask` keeps; -infinity where there is none.

    >>> lucid.masked.logsumexp(lucid.tensor([0.0, 9.0, 0.0]), 0, mask=lucid.tensor([True, False, True]))
    Tensor(0.6931, requires_grad=False)
    """
    values = cast("logsumexp", input, dtype)
    least = -math.inf if _dtypes.is_differentiable(values.dtype) else lowest(values.dtype)
    return reduction.logsumexp(filled(values, mask, least), dims_of(input, dim), keepdim).to(values.dtype)
