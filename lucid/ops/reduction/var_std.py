"""Variances and standard deviations, covariances and correlations."""
from __future__ import annotations

import math
import warnings
from typing import Any

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...autograd.calls import operation, single_op
from ...autograd.op import Op, Rule, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import is_any_true, require_tensor
from .._out import accepts_out
from ..elementwise.fused import fused_if_large
from .axes import Axes, count_along, kernel_axes, spread, spread_over
from .reduction import mean

METHODS = ("var", "std", "cov", "corrcoef")


_scaled_distance = fused_if_large(lambda x, centre, g: (x - centre) * g)


def _var_gradient(g: Tensor, x: Tensor, axis: Axes, keepdims: bool, correction: float) -> Tensor:
    shape = x._array.shape
    freedom = count_along(shape, axis) - correction
    return _scaled_distance(x, mean(x, axis, True), spread(g * (2 / freedom if freedom > 0 else math.nan), shape, axis, keepdims))


def _before_root(g: Tensor, y: Tensor) -> Tensor:
    """The gradient of a variance from that of its root `y`. At 0 the slope is infinite: the gradient there is defined as 0."""
    return (g / (y * 2)).masked_fill(y == 0, 0)


def _var_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, correction: float) -> Vjp:
    return lambda g, y: (_var_gradient(g, x, axis, keepdims, correction),)


def _std_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, correction: float) -> Vjp:
    return lambda g, y: (_var_gradient(_before_root(g, y), x, axis, keepdims, correction),)


def _pair_rule(is_root: bool) -> Rule:
    def rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool, correction: float) -> Vjp:
        shape = x._array.shape

        def vjp(gg: Any, y: Any) -> tuple[Any]:
            g, g_mean = (*gg, None)[:2]  # without one for the mean the list ends before
            total = None
            if g is not None:
                g = _before_root(g, y[0]) if is_root else g
                total = _var_gradient(g, x, axis, keepdims, correction)
            if g_mean is not None:
                part = spread_over(g_mean, shape, axis, keepdims, count_along(shape, axis))
                total = part if total is None else total + part
            return (total,)

        return vjp

    return rule


_var = single_op("var", _var_rule)
_std = single_op("std", _std_rule, saved_outputs=True)
_var_mean = operation("var_mean", _pair_rule(False))
_std_mean = operation("std_mean", _pair_rule(True), saved_outputs=(0,))


def _moment(op: Op, input: Tensor, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None) -> Any:
    if isinstance(dim, bool):  # var(input, unbiased)
        dim, unbiased = None, dim
    if not _dtypes.is_differentiable(require_tensor(op.name, input)._array.dtype):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    axis = kernel_axes(dim, input._array.ndim)
    return op(input, axis=axis, keepdims=keepdim, correction=correction)


@accepts_out(castable=True)
def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None) -> Tensor:
    """The variance over `dim`: the squares of the distances from the mean, divided by ``n - correction`` (1 by
    default).

    NaN if no degree of freedom is left. Raises RuntimeError for integers and bools.

    >>> lucid.var(lucid.tensor([1.0, 2.0, 3.0]))
    Tensor(1.0, requires_grad=False)
    >>> lucid.var(lucid.tensor([[1.0, 3.0], [2.0, 8.0]]), dim=1, correction=0)
    Tensor([1.0, 9.0], requires_grad=False)
    """
    result: Tensor = _moment(_var, input, dim, unbiased, keepdim, correction)
    return result


@accepts_out(castable=True)
def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None) -> Tensor:
    """The square root of `var`; where it is 0, so is the gradient.

    >>> lucid.std(lucid.tensor([1.0, 2.0, 3.0]))
    Tensor(1.0, requires_grad=False)
    >>> lucid.std(lucid.tensor([1.0, 2.0, 3.0]), correction=0)
    Tensor(0.8165, requires_grad=False)
    """
    result: Tensor = _moment(_std, input, dim, unbiased, keepdim, correction)
    return result


def var_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Tensor, Tensor]:
    """The pair (`var`, `mean`).

    >>> lucid.var_mean(lucid.tensor([1.0, 2.0, 3.0]))
    (Tensor(1.0, requires_grad=False), Tensor(2.0, requires_grad=False))
    """
    pair: tuple[Tensor, Tensor] = _moment(_var_mean, input, dim, unbiased, keepdim, correction)
    return pair


def std_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Tensor, Tensor]:
    """The pair (`std`, `mean`).

    >>> lucid.std_mean(lucid.tensor([1.0, 2.0, 3.0]))
    (Tensor(1.0, requires_grad=False), Tensor(2.0, requires_grad=False))
    """
    pair: tuple[Tensor, Tensor] = _moment(_std_mean, input, dim, unbiased, keepdim, correction)
    return pair


def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of variables, the rows of `input`, over observations, its columns; of a vector, the variance.

    `fweights` are integers, how many times each observation counts, `aweights` its importance. Raises RuntimeError
    for more than two dimensions, for bools and for weights of other shapes and dtypes or below 0.

    >>> lucid.cov(lucid.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Tensor([[ 1.0, -1.0],
            [-1.0,  1.0]], requires_grad=False)
    """
    if require_tensor("cov", input).ndim > 2:
        raise RuntimeError("cov(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.ndim} dimensions")
    if input.dtype == _dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.ndim < 2 else input
    count = x._array.shape[1]
    _check_weights("fweights", fweights, count, "iu")
    _check_weights("aweights", aweights, count, "fV")
    if not _dtypes.is_differentiable(x.dtype):
        x = x.to(_dtypes.get_default_dtype())
    given = [w for w in (fweights, aweights) if w is not None]
    if not given:
        total: Any = count
        centre = x.mean(1, keepdim=True) if count else x.sum(1, keepdim=True)
    else:
        weights = math.prod(given[1:], start=given[0])
        total = weights.sum()
        centre = (x * weights).sum(1, keepdim=True) / total
    if aweights is not None and correction != 0:
        degrees = total - correction * (weights * aweights).sum() / total
    else:
        degrees = total - correction
    if is_any_true(degrees <= 0) if isinstance(degrees, Tensor) else degrees <= 0:
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
                      stacklevel=stacklevel())
        degrees = degrees * (degrees > 0)
    centred = x - centre
    other = centred if not given else centred * weights
    return (centred.matmul(other.t().conj()) / (degrees if isinstance(degrees, Tensor) else float(degrees))).squeeze()


def _check_weights(name: str, weights: Tensor | None, count: int, kinds: str) -> None:
    if weights is None:
        return
    if weights.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                           f"{weights.ndim} dimensions")
    if weights.dtype.kind not in kinds:
        expected = "integral" if kinds == "iu" else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {expected} dtype but got {name} with {weights.dtype.name} dtype")
    if weights.numel() != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                           f"{weights.numel()} != {count}")
    if count and is_any_true(weights < 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def corrcoef(input: Tensor) -> Tensor:
    """The Pearson correlation coefficients of the rows of `input`, clipped to [-1, 1].

    >>> lucid.corrcoef(lucid.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Tensor([[ 1.0, -1.0],
            [-1.0,  1.0]], requires_grad=False)
    """
    if require_tensor("corrcoef", input).ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().real.sqrt()
    c = c / deviation.unsqueeze(-1) / deviation
    if c.is_complex():
        return c.real.clamp(-1, 1) + 1j * c.imag.clamp(-1, 1)
    return c.clamp(-1, 1)


register(__name__)
