"""Finding values: in sorted sequences, and among others. No gradient flows through it."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import as_operand, common_dtype, require_tensor
from .._out import accepts_out
from ..creation.creation import as_tensor, tensor
from .sorting import sort

_searchsorted = operation("searchsorted")


@accepts_out
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                 sorter: Tensor | None = None) -> Tensor:
    """Where each number of `input` would keep the innermost dimension of `sorted_sequence` in order.

    The index before equal elements, or with ``right=True`` or ``side='right'`` after them; NaN goes after all. A sequence of
    one dimension serves inputs of any shape, otherwise the dimensions but the last are the same. `sorter` is an int64 tensor
    of the shape of the sequence that sorts it. int64, or int32 with `out_int32`.

    >>> lucid.searchsorted(lucid.tensor([1, 3, 5]), lucid.tensor([0, 3, 9]))
    Tensor([0, 1, 3], requires_grad=False)
    >>> lucid.searchsorted(lucid.tensor([1, 3, 5]), lucid.tensor([3]), right=True)
    Tensor([2], requires_grad=False)
    """
    name = "torch.searchsorted()"
    edges = require_tensor("searchsorted", sorted_sequence).detach()
    values = input.detach() if isinstance(input, Tensor) else as_tensor(input, device=edges.device)
    dtype = _dtypes.promote_types(edges.dtype, values.dtype) if isinstance(input, Tensor) else common_dtype([edges, input])
    if dtype.kind in "bc":
        raise NotImplementedError(f'"searchsorted" not implemented for \'{type_name(dtype)}\'')
    edges, values = edges.to(dtype), values.to(dtype)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
    if edges.ndim == 0:
        raise RuntimeError(f"{name}: input value can be a scalar, but sorted_sequence must have at least one dimension")
    if edges.ndim > 1 and (values.ndim != edges.ndim or values.shape[:-1] != edges.shape[:-1]):
        raise RuntimeError(f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
                           f"and input value tensor must match, but we got boundaries tensor {list(edges.shape)} and input "
                           f"value tensor {list(values.shape)}")
    if sorter is not None:
        if sorter.shape != edges.shape:
            raise RuntimeError(f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                               f"{list(edges.shape)} and got sorter tensor {list(sorter.shape)}")
        if sorter.dtype != _dtypes.int64:
            raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {sorter.dtype.name}")
        edges = edges.gather(-1, sorter)
    if edges.ndim > 1:
        shape, rows = values.shape, math.prod(edges.shape[:-1])
        edges, values = edges.reshape(rows, edges.shape[-1]), values.reshape(rows, values.shape[-1])
        positions = _searchsorted(edges, values, right=right or side == "right").reshape(shape)
    else:
        positions = _searchsorted(edges, values, right=right or side == "right")
    return positions.to(_dtypes.int32) if out_int32 else positions


@accepts_out
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket of each element between ascending `boundaries`: `searchsorted` in one dimension.

    A bucket includes its right boundary, with `right` its left one instead.

    >>> lucid.bucketize(lucid.tensor([0.5, 1.0, 9.0]), lucid.tensor([1.0, 5.0]))
    Tensor([0, 0, 2], requires_grad=False)
    >>> lucid.bucketize(lucid.tensor([1.0]), lucid.tensor([1.0, 5.0]), right=True)
    Tensor([1], requires_grad=False)
    """
    if require_tensor("bucketize", boundaries).ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@accepts_out
def isin(elements: Any = None, test_elements: Any = None, *, assume_unique: bool = False, invert: bool = False,
         element: Any = None, test_element: Any = None) -> Tensor:
    """Whether each element is among `test_elements`, or with `invert` is not; NaN is among none.

    One of the two may be a number, then also by the name `element` or `test_element`. `assume_unique` is accepted: it changes
    nothing here.

    >>> lucid.isin(lucid.tensor([1, 2, 3]), lucid.tensor([2, 3, 5]))
    Tensor([False,  True,  True], requires_grad=False)
    """
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    given = [as_operand("isin", value) for value in (elements, test_elements)]
    if not any(isinstance(value, Tensor) for value in given):
        raise TypeError("isin() needs a tensor as elements or as test_elements")
    for value in given:
        if isinstance(value, Tensor) and value.dtype.kind in "cb":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {type_name(value.dtype)}")
    device = next(value.device for value in given if isinstance(value, Tensor))
    dtype = common_dtype([value.reshape(-1) if isinstance(value, Tensor) else value for value in given])
    x, pool = [(value.detach() if isinstance(value, Tensor) else tensor(value, device=device)).to(dtype) for value in given]
    pool = sort(pool.reshape(-1), 0).values
    if pool.numel() == 0:
        return x.new_full(x.shape, invert, dtype=_dtypes.bool_)
    positions = _searchsorted(pool, x, right=False).clamp(max=pool.numel() - 1)
    found = pool[positions.reshape(-1)].reshape(x.shape)
    return found != x if invert else found == x


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The int64 indices in each dimension of a tensor of `shape` of the elements with the flat `indices` in row-major order.

    Indices outside wrap around. Raises TypeError for indices and lengths that are not integers, ValueError for negative
    lengths.

    >>> lucid.unravel_index(lucid.tensor([0, 5]), (2, 3))
    (Tensor([0, 1], requires_grad=False), Tensor([0, 2], requires_grad=False))
    """
    if not isinstance(indices, Tensor) or indices.dtype.kind not in "iu":
        kind = indices.dtype if isinstance(indices, Tensor) else type(indices).__name__
        raise TypeError(f"expected 'indices' to be integer dtype, but got {kind}")
    lengths = [shape] if isinstance(shape, int) else list(shape)
    for length in lengths:
        if not isinstance(length, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(length)}")
    if any(length < 0 for length in lengths):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(lengths)}")
    if 0 in lengths and indices.numel():
        raise RuntimeError(f"unravel_index: a tensor of shape {lengths} has no elements")
    found, rest = [], indices.to(_dtypes.int64)
    for length in reversed(lengths):
        found.append(rest.remainder(max(length, 1)))
        rest = rest.div(max(length, 1), rounding_mode="floor")
    return tuple(reversed(found))
