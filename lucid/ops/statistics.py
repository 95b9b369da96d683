"""Order statistics (median, mode, quantiles), reductions that ignore NaN, and covariances."""
from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

from .. import _dtypes
from ..autograd.op import Op, Pull
from ..tensor import Tensor
from ._operands import array_api_names, canonical_dim, require_tensor
from ._out import accepts_out
from ._selection import ValuesIndices
from .comparison import where
from .creation import arange, as_tensor
from .gather_scatter import gather
from .reduction import _refuse_empty, _refuse_unordered, amax, amin, mean, norm, sum
from .scan import cummax
from .sorting import sort
from .ternary import lerp
from .unary import ceil, floor, round

METHODS = ("aminmax", "median", "nanmedian", "mode", "quantile", "nanquantile", "nansum", "nanmean", "dist", "cov", "corrcoef",
           "kthvalue")


class MinMax(NamedTuple):
    """The result of `aminmax`."""

    min: Tensor
    max: Tensor


def _median_rule(needs: Any, x: Tensor, *, ignore_nan: bool) -> Pull:
    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        value = y.detach()
        chosen = (x == value) | (x.isnan() & value.isnan())
        return (where(chosen, g / chosen.sum().to(g.dtype), 0.0),)

    return pull


_median = Op("median", _median_rule, keeps=True)


@accepts_out
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """The named tuple (min, max) of the smallest and largest elements along `dim`, or of all; NaN wins.

    Elements that tie share the gradient evenly.
    """
    _refuse_unordered("aminmax", input)
    if dim is not None:
        dim = canonical_dim(dim, input.ndim)
    dims = () if dim is None or not input.ndim else dim
    return MinMax(amin(input, dims, keepdim), amax(input, dims, keepdim))


def _ranked(input: Tensor, axis: int, keepdim: bool, rank: Any) -> ValuesIndices:
    """The elements along `axis` that ``rank(sorted elements)`` names in order, and where they are."""
    order = sort(input.detach(), axis)
    chosen = order.indices.gather(axis, rank(order.values))
    values = gather(input, axis, chosen)
    return ValuesIndices(values, chosen) if keepdim else ValuesIndices(values.squeeze(axis), chosen.squeeze(axis))


def _middle(name: str, input: Tensor, dim: int | None, keepdim: bool, ignore_nan: bool) -> Any:
    _refuse_unordered(name, input, "cb")
    if dim is None:
        if input._array.size == 0 and input.dtype.kind in "biu":
            raise RuntimeError(f"{name}() of an integer tensor needs at least one element")
        return _median(input, ignore_nan=ignore_nan)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    _refuse_empty(name, input, axis)
    length = input._array.shape[axis]

    def rank(ordered: Tensor) -> Tensor:
        missing = ordered.isnan().sum(axis, keepdim=True)
        middle = (length - 1 - missing).clamp(min=0) // 2 if ignore_nan else missing * 0 + (length - 1) // 2
        return middle if ignore_nan else where(missing > 0, length - missing, middle)

    return _ranked(input, axis, keepdim, rank)


@accepts_out
@array_api_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements of all, or with `dim` the named tuple (values, indices) along it; NaN if there is one.

    Of all elements, those equal to the median share the gradient; with `dim` it goes to the element at the index.
    """
    return _middle("median", input, dim, keepdim, False)


@accepts_out
@array_api_names
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """`median` of the elements that are not NaN; NaN if there are none."""
    return _middle("nanmedian", input, dim, keepdim, True)


@accepts_out
@array_api_names
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The `k`-th smallest elements along `dim`, counted from 1, and their indices; NaN counts as the largest.

    Raises RuntimeError if `k` is out of range.
    """
    _refuse_unordered("kthvalue", input, "cb")
    axis = canonical_dim(dim, input.ndim)
    _refuse_empty("kthvalue", input, axis)
    if not 1 <= k <= (input._array.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if input.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return _ranked(input, axis, keepdim, lambda ordered: ordered.narrow(axis, 0, 1).new_full(
        ordered.narrow(axis, 0, 1).shape, k - 1, dtype=_dtypes.int64))


@accepts_out
@array_api_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The most frequent elements along `dim`, the smallest of several, and the indices of their last appearance."""
    _refuse_unordered("mode", input)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    _refuse_empty("mode", input, axis)
    length = input._array.shape[axis]
    places = arange(length, device=input.device).reshape([-1 if d == axis else 1 for d in range(input.ndim)])

    def rank(ordered: Tensor) -> Tensor:
        before = ordered.narrow(axis, 0, length - 1)
        starts = places.expand(ordered.shape).clone()
        later = starts.narrow(axis, 1, length - 1)
        later.masked_fill_(ordered.narrow(axis, 1, length - 1) == before, 0)
        return (places - cummax(starts, axis).values).argmax(axis, keepdim=True)

    return _ranked(input, axis, keepdim, rank)


_ROUNDING = {"lower": floor, "higher": ceil, "nearest": round}


def _quantile(name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool) -> Tensor:
    if require_tensor(name, input).dtype not in (_dtypes.float32, _dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in ("linear", "midpoint", *_ROUNDING):
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                           f"{interpolation}")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = as_tensor(float(q), dtype=input.dtype, device=input.device)
    elif q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    elif q.device != input.device:
        raise RuntimeError(f"{name}() q tensor must be on the same device as the input tensor")
    elif q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    elif not q.is_meta and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    axis = None if dim is None else canonical_dim(dim, input.ndim)
    rows = input.reshape(-1) if axis is None or not input.ndim else input.movedim(axis, -1)
    ordered = sort(rows, -1).values
    last = rows._array.shape[-1] - 1
    missing = ordered.isnan()
    if ignore_nan:
        ranks = q.reshape(-1) * (last - missing.sum(-1, keepdim=True)).clamp(min=0).to(input.dtype)
    else:
        ranks = where(missing.any(-1, keepdim=True), float(last), q.reshape(-1) * last)
    if interpolation in _ROUNDING:
        ranks = _ROUNDING[interpolation](ranks)
    below = ranks.detach().floor()
    values = gather(ordered, -1, below.to(_dtypes.int64))
    if interpolation in ("linear", "midpoint"):
        above = gather(ordered, -1, ranks.detach().ceil().to(_dtypes.int64))
        weights = ranks - below if interpolation == "linear" else below * 0 + 0.5
        values = lerp(values, above, weights)
    shape = [1 if axis is None or d == axis else n for d, n in enumerate(input.shape)]
    result = values.movedim(-1, 0)
    if q.ndim == 0:
        result = result.squeeze(0)
    if keepdim:
        return result.reshape((*q.shape, *shape))
    return result


@accepts_out
@array_api_names
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The quantiles `q` (a number or a vector in [0, 1], which becomes the first dimension) along `dim`, or of all elements.

    Between two elements, `interpolation` takes the 'lower', the 'higher', the 'nearest', their 'midpoint' or the 'linear'
    mixture. NaN if there is one. Raises RuntimeError for other dtypes than float32 and float64.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@accepts_out
@array_api_names
def nanquantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear") -> Tensor:
    """`quantile` of the elements that are not NaN; NaN if there are none."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


@accepts_out(castable=True, refusal=NotImplementedError)
@array_api_names
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over `dim` with NaN taken as 0."""
    if require_tensor("nansum", input).is_complex():
        raise RuntimeError("nansum does not support complex inputs")
    return sum(_without_nan(input), dim, keepdim, dtype=dtype)


def _without_nan(input: Tensor) -> Tensor:
    return input.masked_fill(input.isnan(), 0) if _dtypes.is_differentiable(input.dtype) else input


@accepts_out(castable=True, refusal=NotImplementedError)
@array_api_names
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over `dim` of the elements that are not NaN; NaN if there are none.

    Raises RuntimeError for integers and complex tensors.
    """
    if require_tensor("nanmean", input).is_complex():
        raise RuntimeError("nanmean does not support complex inputs")
    if not _dtypes.is_differentiable(require_tensor("nanmean", input).dtype):
        return mean(input, dim, keepdim, dtype=dtype)  # which says what is wrong
    count = sum(~input.detach().isnan(), dim, keepdim)
    total = sum(_without_nan(input), dim, keepdim, dtype=dtype)
    return total / count


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of order `p` of ``input - other``."""
    return norm(require_tensor("dist", input) - other, p)


def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of variables, the rows of `input`, over observations, its columns; of a vector, the variance.

    `fweights` are the integer numbers of times that each observation counts, `aweights` its importance. Raises RuntimeError
    for more than two dimensions, for bools and for weights of other shapes and dtypes or below 0.
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
    if not input.is_meta and bool(degrees <= 0):
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
                      stacklevel=2)
        degrees = degrees * 0
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
    if not weights.is_meta and count and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def corrcoef(input: Tensor) -> Tensor:
    """The Pearson correlation coefficients of the rows of `input`, clipped to [-1, 1]."""
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
