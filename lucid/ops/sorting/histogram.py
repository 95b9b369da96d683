"""Counts: of elements in bins, of integers, and the different elements. No gradient flows through them."""
from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._methods import register
from .._operands import is_any_true, require_tensor
from .._out import accepts_out
from ..creation.creation import linspace
from .search import searchsorted

METHODS = ("histc", "histogram", "bincount")

_bincount = operation("bincount")
_count_bins = operation("count_bins")


class Histogram(NamedTuple):
    """The result of `histogram`."""

    hist: Tensor
    bin_edges: Tensor


def _equal_edges(x: Tensor, bins: int, range: Any, axis: int) -> Tensor:
    """The edges of `bins` equal bins in `range`, by default that of the elements `x` of dimension `axis`; not of no width."""
    if range is not None:
        low, high = range
    else:
        low, high = (x.min().item(), x.max().item()) if x.numel() and not x.is_meta else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {axis}'s range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension {axis}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _floating(name: str, input: Tensor) -> Tensor:
    if not _dtypes.is_floating(require_tensor(name, input).dtype):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{type_name(input.dtype)}'")
    return input.detach().reshape(-1)


@accepts_out(leaf=True)
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of `bins` equal bins between `min` and `max`, in the dtype of `input`.

    Where `min` and `max` are equal, the smallest and the largest element take their place. Elements outside and NaN do not
    count; the last bin includes its right edge. Raises NotImplementedError for integers.

    >>> lucid.histc(lucid.tensor([1.0, 2.0, 2.5, 4.0]), bins=3, min=1, max=4)
    Tensor([1.0, 2.0, 1.0], requires_grad=False)
    """
    x = _floating("histc", input)
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    low, high = min, max
    if low == high and x.numel() and not x.is_meta:
        low, high = float(x.min().item()), float(x.max().item())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return _count_bins(x, None, low=low, high=high, bins=bins).to(input.dtype)


def histogram(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False,
              out: Any = None) -> Histogram:
    """The named tuple (hist, bin_edges): how many elements, or how much of `weight`, fall into each bin.

    `bins` is the number of equal bins in `range` (by default from the smallest to the largest element) or a vector of
    ascending edges. The last bin includes its right edge. With `density` the integral of the result is 1.

    >>> lucid.histogram(lucid.tensor([1.0, 2.0, 2.5, 4.0]), bins=3, range=(1.0, 4.0))
    Histogram(hist=Tensor([1.0, 2.0, 1.0], requires_grad=False), bin_edges=Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=False))
    """
    x = _floating("histogram", input)
    if isinstance(bins, Tensor):
        if bins.ndim != 1 or bins.numel() < 1:
            raise RuntimeError("torch.histogramdd(): bins must be a vector of edges")
        if bins.dtype != input.dtype:
            raise RuntimeError("torch.histogramdd(): input tensor and bins tensors should have the same dtype")
        edges = bins.clone()
    else:
        if bins <= 0:
            raise RuntimeError(f"torch.histogramdd(): bins must be > 0, but got {bins}")
        edges = _equal_edges(x, bins, range, 0)
    if weight is not None:
        if weight.shape != input.shape:
            raise RuntimeError("torch.histogramdd(): if weight tensor is provided it should have the same shape as the input")
        if weight.dtype != input.dtype:
            raise RuntimeError("torch.histogramdd(): if weight tensor is provided, input tensor and weight tensor should have "
                               "the same dtype")
    count = edges.numel() - 1
    if weight is None and not isinstance(bins, Tensor):
        low, high = (0.0, 1.0) if edges.is_meta else (edges[0].item(), edges[-1].item())
        return _histogram(_count_bins(x, edges, low=low, high=high, bins=bins), edges, density, input.dtype, out)
    inside = (x >= edges[0]) & (x <= edges[-1])
    indices = (searchsorted(edges, x[inside], right=True) - 1).clamp(max=max(count - 1, 0))
    weights = None if weight is None else weight.detach().reshape(-1)[inside]
    return _histogram(_bincount(indices, weights, minlength=count)[:count], edges, density, input.dtype, out)


def _histogram(counts: Tensor, edges: Tensor, density: bool, dtype: Any, out: Any) -> Histogram:
    hist = counts.to(dtype)
    if density:
        hist = hist / hist.sum() / (edges[1:] - edges[:-1])
    result = Histogram(hist, edges)
    return result if out is None else accepts_out(lambda: result)(out=out)


class HistogramDD(NamedTuple):
    """The result of `histogramdd`."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def _edges(x: Tensor, bins: Any, range: Any) -> list[Tensor]:
    """The edges of the bins in each dimension of the points `x`."""
    count = x.shape[1]
    if isinstance(bins, (tuple, list)) and any(isinstance(edges, Tensor) for edges in bins):
        if not all(isinstance(edges, Tensor) for edges in bins):
            raise TypeError("histogramdd(): bins must be all numbers or all tensors")
        if len(bins) != count:
            raise RuntimeError(f"torch.histogramdd: expected {count} sequences of bin edges for a {count}-dimensional histogram "
                               f"but got {len(bins)}")
        for axis, edges in enumerate(bins):
            if edges.dtype != x.dtype:
                raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input "
                                   f"with dtype {x.dtype.name} and bins for dimension {axis} with dtype {edges.dtype.name}")
        return list(bins)
    numbers = [bins] * count if isinstance(bins, int) else list(bins)
    if len(numbers) != count:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(f"torch.histogramdd: for a {count}-dimensional histogram range should have {2 * count} elements, but "
                           f"got {len(range)}")
    found = []
    for axis, number in enumerate(numbers):
        if number <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {number} for dimension {axis}")
        found.append(_equal_edges(x[:, axis], number, None if range is None else range[2 * axis:2 * axis + 2], axis))
    return found


def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False) -> HistogramDD:
    """The named tuple (hist, bin_edges) of points ``(..., D)``: how many, or how much of `weight`, fall into each bin of a grid.

    `bins` is the number of equal bins in each dimension, or a list of them, or of vectors of ascending edges; `range` lists the
    least and the largest edge of each dimension in turn. Otherwise as `histogram`.

    >>> lucid.histogramdd(lucid.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    Tensor([[1.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    if require_tensor("histogramdd", input).ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if input.dtype not in (_dtypes.float32, _dtypes.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{type_name(input.dtype)}'")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                           f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with "
                           f"shape {list(weight.shape)}")
    x = input.detach().reshape(-1, input.shape[-1])
    edges = _edges(x, bins, range)
    inside, index = x.new_ones(x.shape[0], dtype=_dtypes.bool_), x.new_zeros(x.shape[0], dtype=_dtypes.int64)
    for axis, line in enumerate(edges):
        column, count = x[:, axis].contiguous(), line.numel() - 1
        inside = inside & (column >= line[0]) & (column <= line[-1])
        index = index * count + (searchsorted(line, column, right=True) - 1).clamp(0, max(count - 1, 0))
    shape = [line.numel() - 1 for line in edges]
    weights = None if weight is None else weight.detach().reshape(-1)[inside]
    hist = _bincount(index[inside], weights, minlength=math.prod(shape))[:math.prod(shape)].to(input.dtype).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for axis, line in enumerate(edges):
            hist = hist / line.diff().reshape([-1 if d == axis else 1 for d in builtins.range(len(edges))])
    return HistogramDD(hist, tuple(edges))


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 to the largest of the vector `input`, at least up to ``minlength - 1``, appears in it.

    With `weights`, the sums of them: float64, or float32 if they are. Raises RuntimeError for negative elements and for other
    shapes than a vector.

    >>> lucid.bincount(lucid.tensor([0, 1, 1, 3]))
    Tensor([1, 2, 0, 1], requires_grad=False)
    >>> lucid.bincount(lucid.tensor([0, 1, 1]), weights=lucid.tensor([1.0, 0.5, 0.25]))
    Tensor([1.00, 0.75], requires_grad=False)
    """
    if require_tensor("bincount", input).ndim != 1 and input.numel():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if input.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{type_name(input.dtype)}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if input.numel() and is_any_true(input < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    return _bincount(input.reshape(-1).to(_dtypes.int64), None if weights is None else weights.detach(), minlength=minlength)


register(__name__)
