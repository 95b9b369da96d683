"""Reductions: sums, means, extrema, moments, norms. `dim` is None (all dimensions), a number or a tuple of them."""
from __future__ import annotations

import math
from typing import Any

from .. import _dtypes
from ..autograd.errors import type_name
from ..autograd.op import Op, Pull
from ..tensor import Tensor
from ._operands import array_api_names, canonical_dim, canonical_dims, require_tensor
from ._out import accepts_out
from ._selection import ValuesIndices, selected_rule

METHODS = ("sum", "mean", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "any", "all", "var", "std",
           "cumsum", "logsumexp", "norm", "count_nonzero")

Axes = int | tuple[int, ...] | None  # None: all dimensions


def _axes(dim: Any, ndim: int) -> Axes:
    """`dim` for a kernel: checked and counted from the front, None for all dimensions."""
    if dim is None:
        return None
    dims = canonical_dims(dim, ndim)
    return None if len(dims) == ndim else dims


def _one_axis(dim: int | None, ndim: int) -> int | None:
    """As `_axes` for functions that reduce along one dimension only."""
    if dim is None:
        return None
    axis = canonical_dim(dim, ndim)
    return axis if ndim else None


def _spread(t: Tensor, shape: tuple[int, ...], axis: Axes, keepdims: bool) -> Tensor:
    """A reduced tensor with the reduced dimensions put back, as dimensions of length 1."""
    if keepdims or not shape:
        return t
    reduced = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return t.reshape(tuple(1 if i in reduced else n for i, n in enumerate(shape)))


def _count(shape: tuple[int, ...], axis: Axes) -> int:
    """How many elements are reduced to one."""
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(shape[a] for a in axes)


def _sum_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, dtype: Any) -> Pull:
    shape, own = x._array.shape, x._array.dtype

    def pull(g: Tensor, y: Any) -> tuple[Tensor]:
        g = _spread(g, shape, axis, keepdims).expand(shape)
        return (g if g._array.dtype == own else g.to(own),)

    return pull


def _mean_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    shape = x._array.shape
    return lambda g, y: ((_spread(g, shape, axis, keepdims) / _count(shape, axis)).expand(shape),)


def _prod_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, dtype: Any) -> Pull:
    shape, own = x._array.shape, x._array.dtype

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        g, y = _spread(g, shape, axis, keepdims), _spread(y, shape, axis, keepdims)
        wide = x.to(y.dtype)
        others = _products_of_others(wide, axis) if (wide == 0).any() else y / wide
        return ((g * others.conj()).to(own),)

    return pull


def _products_of_others(x: Tensor, axis: Axes) -> Tensor:
    """For each element, the product of all others along `axis`: right where elements are 0, and differentiable."""
    from .joining import cat

    if axis is None:
        return _products_of_others(x.reshape(-1), 0).reshape(x.shape)
    dim = axis if isinstance(axis, int) else axis[0]
    n = x.shape[dim]

    def before(t: Tensor) -> Tensor:
        """The product of all elements before each one, by doubling the distance."""
        t = cat([t.narrow(dim, 0, 1) * 0 + 1, t.narrow(dim, 0, n - 1)], dim)
        step = 1
        while step < n:
            t = cat([t.narrow(dim, 0, step), t.narrow(dim, step, n - step) * t.narrow(dim, 0, n - step)], dim)
            step *= 2
        return t

    return before(x) * before(x.flip((dim,))).flip((dim,))


def _amax_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    """Elements that tie for the extremum share its gradient evenly."""
    shape = x._array.shape

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        chosen = (x == _spread(y.detach(), shape, axis, keepdims)).to(g.dtype)
        ties = chosen.sum(None if axis is None else axis, keepdim=True)
        return (_spread(g, shape, axis, keepdims) * chosen / ties,)

    return pull


def _max_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    """As `_amax_rule`; if the extremum is NaN, the NaN elements share."""

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        from .comparison import where

        peak = y.detach()
        chosen = (x == peak) | (x.isnan() & peak.isnan())
        return (where(chosen, g / chosen.sum().to(g.dtype), 0.0),)

    return pull


def _var_gradient(g: Tensor, x: Tensor, axis: Axes, keepdims: bool, correction: float) -> Tensor:
    shape = x._array.shape
    freedom = _count(shape, axis) - correction
    centred = x - _mean(x, axis=axis, keepdims=True)
    return _spread(g, shape, axis, keepdims) * centred * (2 / freedom if freedom > 0 else math.nan)


def _var_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, correction: float) -> Pull:
    return lambda g, y: (_var_gradient(g, x, axis, keepdims, correction),)


def _std_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, correction: float) -> Pull:
    # At 0 the slope of the root is infinite: the gradient there is defined as 0.
    return lambda g, y: (_var_gradient((g / (y * 2)).masked_fill(y == 0, 0), x, axis, keepdims, correction),)


def _cumsum_rule(needs: Any, x: Tensor, *, axis: int, dtype: Any) -> Pull:
    own = x._array.dtype

    def pull(g: Tensor, y: Any) -> tuple[Tensor]:
        return (_cumsum(g.flip((axis,)), axis=axis, dtype=None).flip((axis,)).to(own),)

    return pull


def _logsumexp_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    shape = x._array.shape

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        return (_spread(g, shape, axis, keepdims) * (x - _spread(y, shape, axis, keepdims)).exp(),)

    return pull


def _norm2_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Pull:
    shape = x._array.shape

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        g, y = _spread(g, shape, axis, keepdims), _spread(y, shape, axis, keepdims)
        return (x * (g / y).masked_fill(y == 0, 0),)

    return pull


_sum = Op("sum", _sum_rule)
_mean = Op("mean", _mean_rule)
_prod = Op("prod", _prod_rule, keeps=True)
_amax = Op("max", _amax_rule, keeps=True)
_amin = Op("min", _amax_rule, keeps=True)
_max_all = Op("max", _max_rule, keeps=True)
_min_all = Op("min", _max_rule, keeps=True)
_max_with_indices = Op("max_with_indices", selected_rule, keeps=(1,), outputs=(0,))
_min_with_indices = Op("min_with_indices", selected_rule, keeps=(1,), outputs=(0,))
_argmax, _argmin, _any, _all = Op("argmax"), Op("argmin"), Op("any"), Op("all")
_var = Op("var", _var_rule)
_std = Op("std", _std_rule, keeps=True)
_cumsum = Op("cumsum", _cumsum_rule)
_logsumexp = Op("logsumexp", _logsumexp_rule, keeps=True)
_norm2 = Op("norm2", _norm2_rule, keeps=True)


def _total_dtype(input: Tensor, dtype: Any) -> Any:
    """The dtype of a sum or product: the one asked for, int64 for integers and bools, else None (the tensor's own)."""
    if dtype is not None:
        return _dtypes.as_dtype(dtype)
    return _dtypes.int64 if input._array.dtype.kind in "biu" else None


def _refuse_unordered(name: str, input: Tensor, kinds: str = "c") -> None:
    """Raise NotImplementedError (a RuntimeError) for complex tensors, which have no order."""
    if require_tensor(name, input)._array.dtype.kind in kinds:
        kind = "bool" if input.dtype.kind == "b" else "complex"
        raise NotImplementedError(f"{name}(): does not support {kind} input")


def _refuse_empty(name: str, input: Tensor, dim: Any) -> None:
    """Raise if an extremum of no elements is asked for."""
    shape = input._array.shape
    if input._array.size:
        return
    if dim is None or dim == ():
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")
    for axis in canonical_dims(dim, len(shape)):
        if shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


@accepts_out(in_its_dtype=True)
@array_api_names
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim`. Integers and bools give int64 unless `dtype` is given; halves are summed in float32."""
    axis = _axes(dim, require_tensor("sum", input)._array.ndim)
    return _sum(input, axis=axis, keepdims=keepdim, dtype=_total_dtype(input, dtype))


@accepts_out(in_its_dtype=True)
@array_api_names
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim`; NaN for no elements. Raises RuntimeError for integers and bools without `dtype`."""
    if dtype is not None:
        input = require_tensor("mean", input).to(_dtypes.as_dtype(dtype))
    if not _dtypes.is_differentiable(require_tensor("mean", input)._array.dtype):
        what = "Input" if dtype is None else "Output"
        raise RuntimeError(f"mean(): could not infer output dtype. {what} dtype must be either a floating point "
                           f"or complex dtype. Got: {type_name(input.dtype)}")
    return _mean(input, axis=_axes(dim, input._array.ndim), keepdims=keepdim)


@accepts_out(in_its_dtype=True)
@array_api_names
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all elements, or along one dimension. Integers and bools give int64, unless `dtype` is given."""
    axis = _one_axis(dim, require_tensor("prod", input)._array.ndim)
    return _prod(input, axis=axis, keepdims=keepdim, dtype=_total_dtype(input, dtype))


def _extremum(name: str, whole: Op, along: Op, elementwise: Any, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, Tensor):
        return elementwise(input, dim)
    _refuse_unordered(name, input)
    if dim is None:
        _refuse_empty(name, input, None)
        return whole(input, axis=None, keepdims=False)
    axis = canonical_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    _refuse_empty(name, input, axis)
    return ValuesIndices(*along(input, axis=axis, keepdims=keepdim))


@accepts_out(castable=True)
@array_api_names
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; with `dim`, a named tuple (values, indices) along it; with a second tensor, `maximum`.

    NaN counts as the largest. Elements that tie share the gradient; with `dim` it goes to the element at the index.
    Raises RuntimeError for a tensor without elements, IndexError along a dimension of length 0.
    """
    from .arithmetic import maximum

    return _extremum("max", _max_all, _max_with_indices, maximum, input, dim if other is None else other, keepdim)


@accepts_out(castable=True)
@array_api_names
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; with `dim`, a named tuple (values, indices) along it; with a second tensor, `minimum`.

    NaN counts as the smallest. Otherwise as `max`.
    """
    from .arithmetic import minimum

    return _extremum("min", _min_all, _min_with_indices, minimum, input, dim if other is None else other, keepdim)


@accepts_out
@array_api_names
def amax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The largest elements over `dim`; NaN wins. Elements that tie share the gradient evenly."""
    _refuse_unordered("amax", input)
    _refuse_empty("amax", input, dim)
    return _amax(input, axis=_axes(dim, input._array.ndim), keepdims=keepdim)


@accepts_out
@array_api_names
def amin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The smallest elements over `dim`; NaN wins. Elements that tie share the gradient evenly."""
    _refuse_unordered("amin", input)
    _refuse_empty("amin", input, dim)
    return _amin(input, axis=_axes(dim, input._array.ndim), keepdims=keepdim)


def _arg_extremum(name: str, op: Op, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    _refuse_unordered(name, input, "cb")
    axis = _one_axis(dim, input._array.ndim)
    if input._array.size == 0 and axis is None:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    if axis is not None:
        _refuse_empty(name, input, axis)
    return op(input, axis=axis, keepdims=keepdim)


@accepts_out
@array_api_names
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The int64 index of the first largest element along `dim`, or of the flattened tensor; NaN is the largest."""
    return _arg_extremum("argmax", _argmax, input, dim, keepdim)


@accepts_out
@array_api_names
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The int64 index of the first smallest element along `dim`, or of the flattened tensor; NaN is the smallest."""
    return _arg_extremum("argmin", _argmin, input, dim, keepdim)


def _truth(op: Op, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    # No dimensions, given as (), means just that here, unlike in `sum`.
    axis = () if dim == () else _axes(dim, require_tensor(op.name, input)._array.ndim)
    result = op(input, axis=axis, keepdims=keepdim)
    # uint8 was PyTorch's bool once, and stays uint8.
    return result.to(_dtypes.uint8) if input._array.dtype == _dtypes.uint8 else result


@accepts_out(also=(_dtypes.uint8,))
@array_api_names
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element over `dim` is not zero, as bool (uint8 for uint8)."""
    return _truth(_any, input, dim, keepdim)


@accepts_out(also=(_dtypes.uint8,))
@array_api_names
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements over `dim` are not zero, as bool (uint8 for uint8)."""
    return _truth(_all, input, dim, keepdim)


def _moment(op: Op, input: Tensor, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None) -> Tensor:
    if isinstance(dim, bool):  # var(input, unbiased)
        dim, unbiased = None, dim
    if not _dtypes.is_differentiable(require_tensor(op.name, input)._array.dtype):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    axis = _axes(dim, input._array.ndim)
    return op(input, axis=axis, keepdims=keepdim, correction=correction)


@accepts_out(castable=True)
@array_api_names
def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None) -> Tensor:
    """The variance over `dim`: the squares of the distances from the mean, divided by ``n - correction`` (1 by
    default).

    NaN if no degree of freedom is left. Raises RuntimeError for integers and bools.
    """
    return _moment(_var, input, dim, unbiased, keepdim, correction)


@accepts_out(castable=True)
@array_api_names
def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None) -> Tensor:
    """The square root of `var`; where it is 0, so is the gradient."""
    return _moment(_std, input, dim, unbiased, keepdim, correction)


@array_api_names
def var_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Tensor, Tensor]:
    """The pair (`var`, `mean`)."""
    variance = var(input, dim, unbiased, keepdim, correction=correction)
    return variance, mean(input, None if isinstance(dim, bool) else dim, keepdim)


@array_api_names
def std_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Tensor, Tensor]:
    """The pair (`std`, `mean`)."""
    deviation = std(input, dim, unbiased, keepdim, correction=correction)
    return deviation, mean(input, None if isinstance(dim, bool) else dim, keepdim)


@accepts_out(in_its_dtype=True)
@array_api_names
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sums of the elements up to each one along `dim`. Integers and bools give int64, unless `dtype` is given."""
    axis = canonical_dim(dim, require_tensor("cumsum", input)._array.ndim)
    chosen = _total_dtype(input, dtype)
    if input._array.ndim == 0:
        return input.to(input.dtype if chosen is None else chosen, copy=True)
    return _cumsum(input, axis=axis, dtype=chosen)


@accepts_out(castable=True)
@array_api_names
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` over `dim` without overflow; -inf for no elements."""
    if not _dtypes.is_differentiable(require_tensor("logsumexp", input)._array.dtype):
        input = input.to(_dtypes.get_default_dtype())
    return _logsumexp(input, axis=_axes(dim, input._array.ndim), keepdims=keepdim)


@accepts_out
@array_api_names
def norm(input: Tensor, p: float | str | None = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Tensor:
    """The vector norm of order `p` over `dim`: any number, inf, -inf, or 'fro', which is 2. 'nuc' is the matrix norm over two
    dimensions, the sum of the singular values.

    Raises RuntimeError for integers and bools, and for 'nuc' over another number of dimensions.
    """
    if dtype is not None:
        input = input.to(_dtypes.as_dtype(dtype))
    if not _dtypes.is_differentiable(require_tensor("norm", input)._array.dtype):
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{type_name(input.dtype)}")
    if p is None or p == "fro":
        p = 2
    elif isinstance(p, str):
        from .linear_algebra_norms import matrix_norm

        return matrix_norm(input, p, canonical_dims(dim, input._array.ndim), keepdim)
    axis = _axes(dim, input._array.ndim)
    if p == 2:
        return _norm2(input, axis=axis, keepdims=keepdim)
    size = input.abs()
    if p == 1:
        return sum(size, axis, keepdim)
    if p == math.inf:
        return amax(size, axis, keepdim)
    if p == -math.inf:
        return amin(size, axis, keepdim)
    from .comparison import where

    zero = size == 0
    if p == 0:
        return sum(where(zero, size * 0, 1.0), axis, keepdim)
    if not size.requires_grad:
        return sum(size ** p, axis, keepdim) ** (1 / p)
    # Powers and roots at 0 may have infinite slopes: the gradient there is defined as 0.
    bottom = 0.0 if p > 0 else math.inf
    total = sum(where(zero, bottom, where(zero, 1.0, size) ** p), axis, keepdim)
    nothing = total == bottom
    return where(nothing, 0.0, where(nothing, 1.0, total) ** (1 / p))


@array_api_names
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements over `dim` are not zero, as int64."""
    return sum(require_tensor("count_nonzero", input) != 0, dim)
