"""Sums, means, products, truth over dimensions. `dim` is None (all dimensions), a number or a tuple of them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import is_any_true, refuse_stored, require_tensor
from .._out import accepts_out
from ..elementwise.fused import fused_if_large
from .axes import Axes, count_along, kernel_axes, one_axis, spread, spread_over, total_dtype

METHODS = ("sum", "mean", "prod", "any", "all", "logsumexp", "count_nonzero", "nansum", "nanmean")


def _sum_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, dtype: Any) -> Vjp:
    shape, own = x._array.shape, x._array.dtype

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        g = spread_over(g, shape, axis, keepdims)
        return (g if g._array.dtype == own else g.to(own),)

    return vjp


def _mean_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    shape = x._array.shape
    return lambda g, y: (spread_over(g, shape, axis, keepdims, count_along(shape, axis)),)


def _prod_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, dtype: Any) -> Vjp:
    shape, own = x._array.shape, x._array.dtype

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        g, y = spread(g, shape, axis, keepdims), spread(y, shape, axis, keepdims)
        wide = x.to(y.dtype)
        others = _products_of_others(wide, axis) if is_any_true(wide == 0) else y / wide
        return ((g * others.conj()).to(own),)

    return vjp


def _products_of_others(x: Tensor, axis: Axes) -> Tensor:
    """For each element, the product of all others along `axis`: right where elements are 0, and differentiable."""
    from ..creation.creation import ones_like
    from ..manipulation.joining import cat

    if axis is None:
        return _products_of_others(x.reshape(-1), 0).reshape(x.shape)
    dim = axis if isinstance(axis, int) else axis[0]
    n = x.shape[dim]

    def before(t: Tensor) -> Tensor:
        """The product of all elements before each one, by doubling the distance."""
        t = cat([ones_like(t.narrow(dim, 0, 1)), t.narrow(dim, 0, n - 1)], dim)
        step = 1
        while step < n:
            t = cat([t.narrow(dim, 0, step), t.narrow(dim, step, n - step) * t.narrow(dim, 0, n - step)], dim)
            step *= 2
        return t

    return before(x) * before(x.flip((dim,))).flip((dim,))


_weighted = fused_if_large(lambda x, total, g: g * (x - total).exp().conj())


def _logsumexp_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    shape = x._array.shape

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        return (_weighted(x, spread(y, shape, axis, keepdims), spread(g, shape, axis, keepdims)),)

    return vjp


def _nansum_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    shape = x._array.shape

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        return (spread(g, shape, axis, keepdims) * (x == x),)

    return vjp


_sum = single_op("sum", _sum_rule, saves=False)
_mean = single_op("mean", _mean_rule, saves=False)
_prod = single_op("prod", _prod_rule, saved_outputs=True)
_nansum = single_op("nansum", _nansum_rule)
_any, _all = [single_op(name, attributes=("axis", "keepdims")) for name in ("any", "all")]
_UINT8 = np.dtype(np.uint8).num
_logsumexp = single_op("logsumexp", _logsumexp_rule, saved_outputs=True)


@accepts_out(in_its_dtype=True)
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim`. Integers and bools give int64 unless `dtype` is given; half precision is summed in float32.

    >>> lucid.sum(lucid.tensor([[1, 2], [3, 4]]))
    Tensor(10, requires_grad=False)
    >>> lucid.sum(lucid.tensor([[1, 2], [3, 4]]), dim=0)
    Tensor([4, 6], requires_grad=False)
    """
    axis = kernel_axes(dim, require_tensor("sum", input)._array.ndim)
    return _sum(input, axis=axis, keepdims=keepdim, dtype=total_dtype(input, dtype))


@accepts_out(in_its_dtype=True)
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim`; NaN for no elements. Raises RuntimeError for integers and bools without `dtype`.

    >>> lucid.mean(lucid.tensor([[1.0, 2.0], [3.0, 6.0]]))
    Tensor(3.0, requires_grad=False)
    >>> lucid.mean(lucid.tensor([[1.0, 2.0], [3.0, 6.0]]), dim=0, keepdim=True)
    Tensor([[2.0, 4.0]], requires_grad=False)
    """
    if dtype is not None:
        input = require_tensor("mean", input).to(_dtypes.as_dtype(dtype))
    if not _dtypes.is_differentiable(require_tensor("mean", input)._array.dtype):
        what = "Input" if dtype is None else "Output"
        raise RuntimeError(f"mean(): could not infer output dtype. {what} dtype must be either a floating point "
                           f"or complex dtype. Got: {type_name(input.dtype)}")
    return _mean(input, axis=kernel_axes(dim, input._array.ndim), keepdims=keepdim)


@accepts_out(in_its_dtype=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all elements, or along one dimension. Integers and bools give int64, unless `dtype` is given.

    >>> lucid.prod(lucid.tensor([[1, 2], [3, 4]]), dim=1)
    Tensor([ 2, 12], requires_grad=False)
    """
    axis = one_axis(dim, require_tensor("prod", input)._array.ndim)
    return _prod(input, axis=axis, keepdims=keepdim, dtype=total_dtype(input, dtype))


def _truth(op: Op, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    # No dimensions, given as (), means just that here, unlike in `sum`.
    axis = () if dim == () else kernel_axes(dim, require_tensor(op.name, input)._array.ndim)
    result = op(input, axis=axis, keepdims=keepdim)
    if input._array.dtype.num != _UINT8:
        return result
    # uint8 was PyTorch's bool once, and stays uint8. A conversion takes as long as the rest.
    array = result._array
    if array.__class__ is not np.ndarray:
        return result.to(_dtypes.uint8)
    result._array = array.view(np.uint8)
    return result


@accepts_out(also=(_dtypes.uint8,))
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element over `dim` is not zero, as bool (uint8 for uint8).

    >>> lucid.any(lucid.tensor([[False, True], [False, False]]), dim=1)
    Tensor([ True, False], requires_grad=False)
    """
    return _truth(_any, input, dim, keepdim)


@accepts_out(also=(_dtypes.uint8,))
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements over `dim` are not zero, as bool (uint8 for uint8).

    >>> lucid.all(lucid.tensor([[True, True], [True, False]]), dim=1)
    Tensor([ True, False], requires_grad=False)
    """
    return _truth(_all, input, dim, keepdim)


@accepts_out(castable=True)
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` over `dim` without overflow; -inf for no elements.

    >>> lucid.logsumexp(lucid.tensor([[0.0, 0.0], [1000.0, 1000.0]]), dim=1)
    Tensor([   0.6931, 1000.6932], requires_grad=False)
    """
    if not _dtypes.is_differentiable(require_tensor("logsumexp", input)._array.dtype):
        input = input.to(_dtypes.get_default_dtype())
    return _logsumexp(input, axis=kernel_axes(dim, input._array.ndim), keepdims=keepdim)


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements over `dim` are not zero, as int64.

    >>> lucid.count_nonzero(lucid.tensor([[0, 1], [2, 3]]), dim=0)
    Tensor([1, 2], requires_grad=False)
    """
    refuse_stored("count_nonzero", require_tensor("count_nonzero", input)._array.dtype)
    return sum(input != 0, dim)


@accepts_out(castable=True, refusal=NotImplementedError)
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim` with NaN taken as 0.

    >>> lucid.nansum(lucid.tensor([1.0, float("nan"), 3.0]))
    Tensor(4.0, requires_grad=False)
    """
    if require_tensor("nansum", input).is_complex():
        raise RuntimeError("nansum does not support complex inputs")
    return _sum_of_numbers(input, dim, keepdim, dtype)


def _sum_of_numbers(input: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    if not _dtypes.is_differentiable(input._array.dtype):
        return sum(input, dim, keepdim, dtype=dtype)
    if dtype is not None:
        return sum(input.masked_fill(input.isnan(), 0), dim, keepdim, dtype=dtype)
    return _nansum(input, axis=kernel_axes(dim, input._array.ndim), keepdims=keepdim)


@accepts_out(castable=True, refusal=NotImplementedError)
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim` of the elements that are not NaN; NaN if there are none.

    Raises RuntimeError for integers and complex tensors.

    >>> lucid.nanmean(lucid.tensor([1.0, float("nan"), 3.0]))
    Tensor(2.0, requires_grad=False)
    """
    if require_tensor("nanmean", input).is_complex():
        raise RuntimeError("nanmean does not support complex inputs")
    refuse_stored("nanmean", input.dtype if dtype is None else _dtypes.as_dtype(dtype))
    if not _dtypes.is_differentiable(require_tensor("nanmean", input).dtype):
        return mean(input, dim, keepdim, dtype=dtype)  # which says what is wrong
    count = sum(input.detach() == input.detach(), dim, keepdim)
    wanted = input._array.dtype if dtype is None else _dtypes.as_dtype(dtype)
    if wanted.itemsize == 2:  # half precision holds neither large counts nor sums of many
        return (_sum_of_numbers(input, dim, keepdim, _dtypes.float32) / count).to(wanted)
    return _sum_of_numbers(input, dim, keepdim, dtype) / count


register(__name__)
