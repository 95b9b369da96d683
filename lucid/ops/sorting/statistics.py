"""Order statistics: medians, quantiles, the k-th smallest and the most frequent elements."""
from __future__ import annotations

from typing import Any, overload

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, is_any_true, require_tensor, room_for
from .._out import accepts_out
from ..creation.creation import arange, as_tensor
from ..elementwise.ternary import lerp
from ..elementwise.unary import ceil, floor, round
from ..elementwise.where import where
from ..indexing.gather import gather
from ..indexing.gather_scatter import gather_op
from ..reduction.axes import refuse_empty, refuse_unordered
from ..reduction.cumulative import cummax
from ..reduction.selection import ValuesIndices
from .sorting import sort

METHODS = ("median", "nanmedian", "mode", "quantile", "nanquantile", "kthvalue")


def _median_rule(needs: Any, x: Tensor, *, ignore_nan: bool) -> Vjp:
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        value = y.detach()
        chosen = (x == value) | (x.isnan() & value.isnan())
        return (where(chosen, g / chosen.sum().to(g.dtype), 0.0),)

    return vjp


_median = single_op("median", _median_rule, saved_outputs=True)


def _ranked(input: Tensor, axis: int, keepdim: bool, rank: Any) -> ValuesIndices:
    """The elements along `axis` in the places that ``rank(sorted elements, their places)`` chooses, and these places."""
    chosen = rank(*sort(input.detach(), axis))
    values = gather_op(input, chosen, axis=axis)
    return ValuesIndices(values, chosen) if keepdim else ValuesIndices(values.squeeze(axis), chosen.squeeze(axis))


def _middle(name: str, input: Tensor, dim: int | None, keepdim: bool, ignore_nan: bool) -> Any:
    refuse_unordered(name, input, "cb")
    if dim is None:
        if input._array.size == 0 and input.dtype.kind in "biu":
            raise RuntimeError(f"{name}() of an integer tensor needs at least one element")
        return _median(input, ignore_nan=ignore_nan)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    refuse_empty(name, input, axis)
    length = input._array.shape[axis]

    def rank(ordered: Tensor, indices: Tensor) -> Tensor:
        missing = ordered.isnan().sum(axis, keepdim=True)
        middle = (length - 1 - missing).clamp(min=0) // 2 if ignore_nan else (length - 1) // 2
        return gather_op(indices, middle if ignore_nan else where(missing > 0, length - missing, middle), axis=axis)

    return _ranked(input, axis, keepdim, rank)


@overload
def median(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...


@overload
def median(input: Tensor, dim: int, keepdim: bool = False) -> ValuesIndices: ...


@accepts_out
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements of all, or with `dim` the named tuple (values, indices) along it; NaN if there is one.

    Of all elements, those equal to the median share the gradient; with `dim` it goes to the element at the index.

    >>> lucid.median(lucid.tensor([3, 1, 2, 4]))
    Tensor(2, requires_grad=False)
    >>> lucid.median(lucid.tensor([[3, 1, 2]]), dim=1)
    ValuesIndices(values=Tensor([2], requires_grad=False), indices=Tensor([2], requires_grad=False))
    """
    return _middle("median", input, dim, keepdim, False)


@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...


@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = False) -> ValuesIndices: ...


@accepts_out
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """`median` of the elements that are not NaN; NaN if there are none.

    >>> lucid.nanmedian(lucid.tensor([1.0, float("nan"), 3.0]))
    Tensor(1.0, requires_grad=False)
    """
    return _middle("nanmedian", input, dim, keepdim, True)


@accepts_out
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The `k`-th smallest elements along `dim`, counted from 1, and their indices; NaN counts as the largest.

    Raises RuntimeError if `k` is out of range.

    >>> lucid.kthvalue(lucid.tensor([3, 1, 2]), 2)
    ValuesIndices(values=Tensor(2, requires_grad=False), indices=Tensor(2, requires_grad=False))
    """
    refuse_unordered("kthvalue", input, "cb")
    axis = canonical_dim(dim, input.ndim)
    refuse_empty("kthvalue", input, axis)
    if not 1 <= k <= (input._array.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if input.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return _ranked(input, axis, keepdim, lambda ordered, indices: indices.narrow(axis, k - 1, 1).clone())


@accepts_out
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The most frequent elements along `dim`, the smallest of several, and the indices of their last appearance.

    >>> lucid.mode(lucid.tensor([1, 2, 2, 3]))
    ValuesIndices(values=Tensor(2, requires_grad=False), indices=Tensor(2, requires_grad=False))
    """
    refuse_unordered("mode", input)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    refuse_empty("mode", input, axis)
    length = input._array.shape[axis]
    steps = arange(length, device=input.device).reshape([-1 if d == axis else 1 for d in range(input.ndim)])

    def rank(ordered: Tensor, indices: Tensor) -> Tensor:
        before = ordered.narrow(axis, 0, length - 1)
        starts = room_for(steps.expand(ordered.shape), ordered)
        later = starts.narrow(axis, 1, length - 1)
        later.masked_fill_(ordered.narrow(axis, 1, length - 1) == before, 0)
        return gather_op(indices, (steps - cummax(starts, axis).values).argmax(axis, keepdim=True), axis=axis)

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
    elif is_any_true((q < 0) | (q > 1) | q.isnan()):
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
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The quantiles `q` (a number or a vector in [0, 1], which becomes the first dimension) along `dim`, or of all elements.

    Between two elements, `interpolation` takes the 'lower', the 'higher', the 'nearest', their 'midpoint' or the 'linear'
    mixture. NaN if there is one. Raises RuntimeError for other dtypes than float32 and float64.

    >>> lucid.quantile(lucid.tensor([0.0, 1.0, 2.0, 3.0]), lucid.tensor([0.5, 0.9]))
    Tensor([1.5, 2.7], requires_grad=False)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@accepts_out
def nanquantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear") -> Tensor:
    """`quantile` of the elements that are not NaN; NaN if there are none.

    >>> lucid.nanquantile(lucid.tensor([1.0, float("nan"), 3.0]), 0.5)
    Tensor(2.0, requires_grad=False)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


register(__name__)
