"""Bags of rows of a table, summed, averaged or with their maxima: embeddings of bags of words."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from ..creation.creation import arange
from ..elementwise.where import where
from ..indexing.gather_scatter import gather_op
from ..indexing.index import IndexBoundsError, check_bounds
from ..manipulation.joining import cat
from .embedding import embedding_op, frequency_scale, renormalize, sparse_rows, sum_rows

__all__ = ()  # a function of nn.functional only
_INDICES = (_dtypes.int64, _dtypes.int32)
_WEIGHTS = (_dtypes.float32, _dtypes.float64, _dtypes.float16, _dtypes.bfloat16)


def _rule(needs: Sequence[bool], weight: Tensor, indices: Tensor, offsets: Tensor, factors: Tensor | None, scale: Tensor | None,
          *, sparse: bool) -> Vjp:
    needs_weight, _, _, needs_factors, _ = needs
    shape = weight._array.shape
    rows = shape[0]
    table = weight if needs_factors else None

    def vjp(g: Tensor, y: Any) -> Sequence[Any]:
        bags = _bag_indices(offsets, count=indices._array.shape[0])
        slopes, to_weight, to_factors = embedding_op(g, bags, padding_idx=None), None, None
        if table is not None:
            to_factors = (slopes * embedding_op(table, indices, padding_idx=None)).sum(1)
        if needs_weight:
            if factors is not None:
                slopes = slopes * factors.unsqueeze(1)
            slopes = slopes if scale is None else slopes * scale
            to_weight = (sparse_rows(slopes, indices, shape, None) if sparse else
                         sum_rows(slopes, indices, rows=rows, padding_idx=None))
        return to_weight, None, None, to_factors, None

    return vjp


# The sums of bags: of weight (V, D), indices (n,), the edges of the bags (B + 1,), factors (n,) or None, and what the gradient of
# each row is multiplied by, (n, 1) or None.
_bag_sums = operation("bag_sums", functools.partial(_rule, sparse=False))
# The same with a sparse gradient of the table.
_sparse_bag_sums = operation("bag_sums", functools.partial(_rule, sparse=True))
# The rows in which the maxima of bags stand, -1 for those of empty bags.
_bag_maxima = operation("bag_maxima")


_bag_indices, _bag_edges, _bag_lengths = operation("bag_indices"), operation("bag_edges"), operation("bag_lengths")


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None
                  ) -> Tensor:
    """The 'sum', 'mean' or 'max' of the rows of `weight` (V, D) that each bag of the indices `input` names: (B, D).

    The bags are the rows of `input` (B, n), or of `input` (n,) what is between `offsets` (B,), the first of which is 0; with
    `include_last_offset` these end with that of the last bag, and are (B + 1,). Rows are multiplied by `per_sample_weights`, of
    the shape of `input`, in sums only. The row `padding_idx` is left out of its bags, and has no gradient. Empty bags are zeros.
    With `scale_grad_by_freq` the gradient of a row is divided by the number of its occurrences. With `max_norm`, rows with a
    larger norm of order `norm_type` are first scaled down to it, in `weight` itself. The indices are int64 or int32.
    Differentiable any number of times.

    Raises ValueError and RuntimeError for shapes, dtypes and offsets that do not fit, IndexError (a RuntimeError too) for indices
    out of range, on a GPU at the next wait for the device; NotImplementedError for `per_sample_weights` of means and maxima. With
    `sparse` the gradient of `weight` is a sparse tensor of the rows that were named.

    >>> F.embedding_bag(lucid.tensor([0, 2, 1]), lucid.tensor([[1.0], [2.0], [4.0]]), offsets=lucid.tensor([0, 2]), mode="sum")
    Tensor([[5.0],
            [2.0]], requires_grad=False)
    """
    require_tensor("embedding_bag", input), require_tensor("embedding_bag", weight)
    if weight.dtype == _dtypes.int64 and input.is_floating_point():
        warnings.warn("embedding_bag(weight, input) has become embedding_bag(input, weight)", stacklevel=stacklevel())
        input, weight = weight, input
    in_rows = input.ndim == 2
    _check_shapes(input, weight, offsets, per_sample_weights)
    _check_mode(mode, scale_grad_by_freq, sparse)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights are only supported for mode='sum', not for '{mode}'")
    _check_dtypes(input, weight, offsets, per_sample_weights)
    indices, factors = (input.reshape(-1) if in_rows else input).long(), per_sample_weights
    rows = weight._array.shape[0]
    try:
        check_bounds(indices._array, 0, rows,
                     "embedding_bag: input takes value {value}, which is not in the valid range [0, {limit})")
    except IndexError as error:
        raise IndexBoundsError(*error.args) from None
    if max_norm is not None:
        renormalize(weight, indices, max_norm, norm_type)
    if in_rows:
        factors = None if factors is None else factors.reshape(-1)
        count, length = input._array.shape
        if not length:
            raise RuntimeError("step must be nonzero")
        edges = arange(0, (count + 1) * length, length, device=input.device)
    else:
        edges = _bag_edges(offsets, count=indices._array.shape[0], include_last=include_last_offset)
        if include_last_offset:
            used = int(edges[-1])
            indices, factors = indices[:used], None if factors is None else factors[:used]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                               f"{padding_idx}")
        indices, factors, edges = _without(padding_idx % rows, indices, factors, edges)
    if mode == "max" and indices.numel():
        rows_of_maxima = _bag_maxima(weight, indices, edges)
        return where(rows_of_maxima >= 0, gather_op(weight, rows_of_maxima.clamp(min=0), axis=0), 0)
    scale = frequency_scale(indices, weight) if scale_grad_by_freq and weight.requires_grad else None
    sums = (_sparse_bag_sums if sparse else _bag_sums)(weight, indices, edges, factors, scale)
    return sums if mode != "mean" else sums / _bag_lengths(edges, dtype=weight.dtype)


def of_bags(weight: Tensor, indices: Tensor, offsets: Tensor, include_last: bool, padding_idx: int | None, maxima: bool
            ) -> tuple[Tensor, Tensor, Tensor]:
    """The bag of each index, the lengths of bags, and the rows of the maxima, or the lengths again."""
    edges = _bag_edges(offsets, count=indices._array.shape[0], include_last=include_last)
    bags = _bag_indices(edges, count=indices._array.shape[0])
    if padding_idx is not None:
        indices, _, edges = _without(padding_idx, indices, None, edges)
    lengths = edges[1:] - edges[:-1]
    rows = _bag_maxima(weight.detach(), indices, edges).clamp(min=0) if maxima else lengths
    return bags, lengths, rows


def _without(padding_idx: int, indices: Tensor, factors: Tensor | None, edges: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Indices, factors and edges of the bags without their padding."""
    keep = indices != padding_idx
    before = cat([edges.new_zeros(1), keep.long().cumsum(0)])
    return indices[keep], None if factors is None else factors[keep], before[edges]


def _check_shapes(input: Tensor, weight: Tensor, offsets: Tensor | None, factors: Tensor | None) -> None:
    if factors is not None and input.shape != factors.shape:
        raise ValueError(f"embedding_bag: per_sample_weights ({factors.shape}) must have the same shape as the input "
                         f"({input.shape})")
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                         f"sequences. However, found offsets of type {type(offsets)}")
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")


def _check_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if sparse and scale_grad_by_freq:
        raise RuntimeError("embedding_bag: scale_grad_by_freq not supported with sparse gradients")


def _check_dtypes(input: Tensor, weight: Tensor, offsets: Tensor | None, factors: Tensor | None) -> None:
    for tensor in (input, offsets):
        if tensor is not None and tensor.dtype not in _INDICES:
            raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
                               f"but got {type_name(tensor.dtype)} instead (while checking arguments for embedding_bag)")
    if weight.dtype not in _WEIGHTS:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
                           f"Float, Double; but got {type_name(weight.dtype)} instead (while checking arguments for "
                           "embedding_bag)")
    if factors is not None and factors.dtype != weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {type_name(weight.dtype)} does not equal {type_name(factors.dtype)} "
                           "(while checking arguments for embedding_bag)")
