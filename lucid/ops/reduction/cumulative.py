"""Scans along a dimension: running sums, products, extrema and log-sums, differences and integrals by the trapezoidal rule."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.grad_mode import LEVELS, is_composed
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, is_any_true, require_tensor
from .._out import accepts_out
from ..creation.creation import eye
from ..elementwise.where import where
from ..indexing.gather_scatter import place_op
from .axes import total_dtype
from .selection import ValuesIndices

METHODS = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
INPLACE_METHODS = ("cumsum", "cumprod", "cumsum")


def _cumsum_rule(needs: Any, x: Tensor, *, axis: int, dtype: Any) -> Vjp:
    own = x._array.dtype

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        return (_cumsum(g.flip((axis,)), axis=axis, dtype=None).flip((axis,)).to(own),)

    return vjp


def _rest_sum(t: Tensor, axis: int) -> Tensor:
    """For each element, the sum of it and all after it."""
    return cumsum(t.flip(axis), axis).flip(axis)


def _cumprod_rule(needs: Any, x: Tensor, *, axis: int, dtype: Any) -> Vjp:
    own = x._array.dtype

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        factors, zero = x.to(y.dtype), x == 0
        if not is_any_true(zero):
            return ((_rest_sum(g * y.conj(), axis) / factors.conj()).to(own),)
        if not is_composed():  # behind the first zero all products have it as a factor, also without another one
            count = zero.cumsum(axis)
            first = zero & (count == 1)
            # Products are 0 from there on, unless they are NaN, which is not to reach what is before.
            before = _rest_sum((g * y.conj()).masked_fill(count > 0, 0), axis) / factors.masked_fill(zero, 1).conj()
            others = cumprod(factors.masked_fill(first, 1), axis).conj()
            without_it = _rest_sum((g * others).masked_fill(count > 1, 0), axis)
            return (where(first, without_it, before.masked_fill(count > 0, 0)).to(own),)
        # To be differentiated again, the products without each single factor: n products of n factors.
        length = x._array.shape[axis]
        moved = factors.movedim(axis, -1).unsqueeze(-2)
        without = where(eye(length, dtype=_dtypes.bool_, device=x.device), 1.0, moved.expand(*moved.shape[:-2], length, length))
        terms = cumprod(without, -1).conj() * g.movedim(axis, -1).unsqueeze(-2)
        return (terms.triu().sum(-1).movedim(-1, axis).to(own),)

    return vjp


def _running_rule(needs: Any, x: Tensor, *, axis: int) -> Vjp:
    shape = x._array.shape
    return lambda g, y: (place_op(g, y[0], shape=shape, axis=axis),)


def _logcumsumexp_rule(needs: Any, x: Tensor, *, axis: int) -> Vjp:
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        if x.is_complex():
            return ((_rest_sum(g * (-y).exp().conj(), axis) * x.exp().conj()),)
        if grad_mode.get() & LEVELS:  # logarithms of zeros have no tangents: each pair of elements, whose share is at most 1
            inputs, totals, upstream = (t.movedim(axis, -1) for t in (x, y, g))
            shares = (inputs.unsqueeze(-1) - totals.unsqueeze(-2)).triu().exp().triu()
            return ((shares * upstream.unsqueeze(-2)).sum(-1).movedim(-1, axis),)
        # In logarithms, the positive and the negative part of the gradient each by itself: exp(x) alone may overflow.
        def share(part: Tensor) -> Tensor:
            log = where(part > 0, where(part > 0, part, 1.0).log() - y, float("-inf"))
            return (_logcumsumexp(log.flip(axis), axis=axis).flip(axis) + x).exp()

        return (share(g) - share(-g),)

    return vjp


_cumsum = single_op("cumsum", _cumsum_rule)
_cumprod = single_op("cumprod", _cumprod_rule, saved_outputs=True)
_cummax = operation("cummax", _running_rule, saved_outputs=(1,), outputs=(0,))
_cummin = operation("cummin", _running_rule, saved_outputs=(1,), outputs=(0,))
_logcumsumexp = single_op("logcumsumexp", _logcumsumexp_rule, saved_outputs=True)


def _total_so_far(op: Op, input: Tensor, dim: int, dtype: Any) -> Tensor:
    axis = canonical_dim(dim, require_tensor(op.name, input)._array.ndim)
    chosen = total_dtype(input, dtype)
    if input._array.ndim == 0:
        return input.to(input.dtype if chosen is None else chosen, copy=True)
    result: Tensor = op(input, axis=axis, dtype=chosen)
    return result


@accepts_out(in_its_dtype=True)
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sums of the elements up to each one along `dim`. Integers and bools give int64, unless `dtype` is given.

    >>> lucid.cumsum(lucid.tensor([[1, 2], [3, 4]]), dim=1)
    Tensor([[1, 3],
            [3, 7]], requires_grad=False)
    """
    return _total_so_far(_cumsum, input, dim, dtype)


@accepts_out(in_its_dtype=True)
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The products of the elements up to each one along `dim`. Integers and bools give int64, unless `dtype` is given.

    >>> lucid.cumprod(lucid.tensor([1, 2, 3, 4]), dim=0)
    Tensor([ 1,  2,  6, 24], requires_grad=False)
    """
    return _total_so_far(_cumprod, input, dim, dtype)


def _running(op: Op, input: Tensor, dim: int) -> ValuesIndices:
    axis = canonical_dim(dim, require_tensor(op.name, input)._array.ndim)
    if input.is_complex():
        raise NotImplementedError(f'"{op.name}_cpu" not implemented for complex tensors')
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return ValuesIndices(*op(input, axis=axis))


@accepts_out
def cummax(input: Tensor, dim: int) -> ValuesIndices:
    """The largest elements up to each one along `dim`, and the int64 indices of the last of them; NaN is the largest.

    The gradient goes to the elements at the indices.

    >>> lucid.cummax(lucid.tensor([1, 3, 2, 4]), dim=0)
    ValuesIndices(values=Tensor([1, 3, 3, 4], requires_grad=False), indices=Tensor([0, 1, 1, 3], requires_grad=False))
    """
    return _running(_cummax, input, dim)


@accepts_out
def cummin(input: Tensor, dim: int) -> ValuesIndices:
    """The smallest elements up to each one along `dim`, and the int64 indices of the last of them; NaN is the smallest.

    >>> lucid.cummin(lucid.tensor([3, 1, 2, 0]), dim=0)
    ValuesIndices(values=Tensor([3, 1, 1, 0], requires_grad=False), indices=Tensor([0, 1, 1, 3], requires_grad=False))
    """
    return _running(_cummin, input, dim)


@accepts_out
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the sums of ``exp`` up to each element along `dim`, without overflow.

    Raises NotImplementedError for integers and bools.

    >>> lucid.logcumsumexp(lucid.zeros(3), dim=0).exp()
    Tensor([1.0, 2.0, 3.0], requires_grad=False)
    """
    axis = canonical_dim(dim, require_tensor("logcumsumexp", input)._array.ndim)
    if not _dtypes.is_differentiable(input.dtype):
        raise NotImplementedError(f'"logcumsumexp_out_cpu" not implemented for {input.dtype.name}')
    return input.clone() if input._array.ndim == 0 else _logcumsumexp(input, axis=axis)


register(__name__)
