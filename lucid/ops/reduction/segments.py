"""Reductions of segments: neighbouring slices along a dimension, of given lengths."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import canonical_dim, require_tensor
from ..creation.creation import arange
from ..elementwise.where import where
from ..indexing.index_slices import index_add
from ..indexing.scatter import scatter_reduce
from ..manipulation.repetition import repeat_interleave

_NAMES = {"sum": "sum", "prod": "prod", "mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin"}
_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -math.inf, "amin": math.inf}


def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
                   offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: Any = None) -> Tensor:
    """The 'sum', 'mean', 'prod', 'amax' or 'amin' of each segment of `data` along `axis`.

    `lengths` are those of the segments, or `offsets` where they begin and where the last ends, in the last dimension; the
    dimensions before are those of `data` before `axis`. A segment starts with `initial`, which an empty one is; without one they
    are 0, NaN, 1, -inf and inf. Unless `unsafe`, the lengths must add up to that of `data` along `axis`. Differentiable any
    number of times. Raises RuntimeError for what does not fit, NotImplementedError for integers.

    >>> lucid.segment_reduce(lucid.tensor([1.0, 2.0, 3.0]), "sum", lengths=lucid.tensor([2, 1]))
    Tensor([3.0, 3.0], requires_grad=False)
    """
    require_tensor("segment_reduce", data)
    if reduce not in _NAMES:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    given = lengths if offsets is None else offsets
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if not _dtypes.is_floating(data.dtype):
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{type_name(data.dtype)}'")
    if given.dtype not in (_dtypes.int64, _dtypes.int32):
        raise NotImplementedError(f"\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{type_name(given.dtype)}'")
    axis = canonical_dim(axis, data.ndim)
    name = "lengths" if offsets is None else "offsets"
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(f"segment_reduce(): Expected leading dimensions of data and {name} to match.")
    given = given.long()
    length, lead = data.shape[axis], math.prod(data.shape[:axis])
    if offsets is not None:
        first, counts = given[..., 0].reshape(lead), (given[..., 1:] - given[..., :-1]).reshape(lead, -1)
    else:
        first, counts = given.new_zeros(lead), given.reshape(lead, -1)
        _check(counts, length, unsafe)
    return _reduced(data, _NAMES[reduce], counts, first, axis, initial)


def _check(counts: Tensor, length: int, unsafe: bool) -> None:
    if not unsafe:
        if bool((counts < 0).any()):
            raise RuntimeError("lengths contains negative value!")
        if bool((counts.sum(1) != length).any()):
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                               "when !unsafe.")


def _reduced(data: Tensor, reduce: str, counts: Tensor, first: Tensor, axis: int, initial: Any) -> Tensor:
    lead, segments = counts.shape
    length, inner = data.shape[axis], data.shape[axis + 1:]
    flat = counts.reshape(-1)
    groups = repeat_interleave(flat)  # the segment of each element, with those of other rows counted on
    begin = (first.unsqueeze(1) + counts.cumsum(1) - counts + arange(lead, device=data.device).unsqueeze(1) * length).reshape(-1)
    place = (begin - (flat.cumsum(0) - flat))[groups] + arange(groups.shape[0], device=data.device)
    rows = data.reshape(lead * length, *inner)[place]
    start = data.new_full((lead * segments, *inner), _EMPTY[reduce] if initial is None else initial)
    if reduce in ("sum", "mean"):
        result = index_add(start, 0, groups, rows)
        if reduce == "mean":
            sizes = flat.reshape(-1, *[1] * len(inner)).to(data.dtype)
            result = result / sizes.clamp(min=1)
            if initial is None:
                result = result.masked_fill(sizes == 0, math.nan)
    else:
        index = groups.reshape(-1, *[1] * len(inner)).expand(rows.shape)
        result = scatter_reduce(start, 0, index, rows, reduce, include_self=reduce == "prod")
        if initial is not None and reduce != "prod":  # which has no share of the gradient where it is as large
            result = where((result < initial) if reduce == "amax" else (result > initial), float(initial), result)
    return result.reshape(*data.shape[:axis], segments, *inner)
