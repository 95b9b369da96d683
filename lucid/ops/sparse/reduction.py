"""Sums, norms and softmax of sparse tensors. To softmax what is not kept is minus infinity."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.sparse_rules import rule
from ...backends.sparse import CooArray
from ...tensor import Tensor, wrap
from .._operands import canonical_dim, canonical_dims
from ..linalg.vector_norms import vector_norm
from ..sorting.unique import unique
from .coalescing import added_up, coalesced, numbered, places_of
from .layouts import to_sparse
from .parts import coordinates, is_sparse, recorded
from .values import assembled, stored


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over `dim`, all dimensions by default: a dense tensor if no sparse dimension is left, else a sparse one.

    The gradient is sparse, in the places of `input`.

    >>> lucid.sparse.sum(lucid.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse(), dim=0).to_dense()
    Tensor([3.0, 6.0], requires_grad=False)
    """
    input = input if dtype is None else input.to(dtype)
    if not is_sparse(input):
        raise RuntimeError("sparse.sum: the input must be a sparse tensor")
    source = coalesced(to_sparse(input))
    dims = canonical_dims(dim, source.ndim)
    values = stored(source) if source.dtype.kind in "fcV" else stored(source).long()
    if len(dims) == source.ndim:
        return values.sum()
    return _summed(source, values, dims)


def _summed(source: Tensor, values: Tensor, dims: Sequence[int]) -> Tensor:
    array = source._array
    sparse = array.indices.shape[0]
    inner = [dim - sparse + 1 for dim in dims if dim >= sparse]
    values = values.sum(inner) if inner else values
    left = [dim for dim in range(sparse) if dim not in dims]
    shape = tuple([length for dim, length in enumerate(array.shape) if dim not in dims])
    if not left:
        return values.sum(0)
    if len(left) == sparse:
        return assembled(values, CooArray(array.indices, array.values[:0], shape, True))
    lengths = [array.shape[dim] for dim in left]
    rows = coordinates(array)
    distinct, total = added_up(numbered([rows[dim] for dim in left], lengths), values)
    return assembled(total, CooArray(places_of(distinct, lengths)._array, array.values[:0], shape, True))


@rule("sum")
def _sum(input: Tensor, *, axis: Any = None, keepdims: bool = False, **attributes: Any) -> Tensor:
    dims = canonical_dims(axis, input.ndim)
    if keepdims or attributes.get("dtype") is not None:
        raise NotImplementedError("op 'sum' has no rule for sparse tensors with keepdim or dtype. Use sparse.sum or to_dense().")
    if len(dims) < input.ndim:
        return sum(input, dims)
    values, shape = wrap(input._array.values).sum(), input.shape
    return recorded("sum", values._array, (input,), lambda g, y: (g.expand(shape),))


@rule("norm", "norm2")
def _norm(input: Tensor, *, axis: Any = None, keepdims: bool = False, order: Any = 2) -> Tensor:
    return vector_norm(_of_all("norm", input, axis, keepdims), order)


@rule("any")
def _any(input: Tensor, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _of_all("any", input, axis, keepdims).any()


def _of_all(name: str, input: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """The values that all elements are reduced to one by."""
    if keepdims or len(canonical_dims(axis, input.ndim)) < input.ndim:
        raise NotImplementedError(f"op '{name}' has no rule for single dimensions of sparse tensors. Use to_dense() first.")
    return stored(coalesced(input))


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The softmax along `dim` of what is kept: its places are those of `input`.

    >>> x = lucid.tensor([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]]).to_sparse()
    >>> lucid.sparse.softmax(x, dim=1).to_dense()  # of the elements that are there
    Tensor([[0.5, 0.5, 0.0],
            [1.0, 0.0, 0.0]], requires_grad=False)
    """
    return _normalized("softmax", input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`.

    >>> x = lucid.tensor([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]]).to_sparse()
    >>> lucid.sparse.log_softmax(x, dim=1).to_dense()  # of the elements that are there
    Tensor([[-0.6931, -0.6931,  0.0000],
            [ 0.0000,  0.0000,  0.0000]], requires_grad=False)
    """
    return _normalized("log_softmax", input, dim, dtype, True)


def _normalized(name: str, input: Tensor, dim: int, dtype: Any, logarithm: bool) -> Tensor:
    if not is_sparse(input) or input._array.__class__ is not CooArray:
        raise NotImplementedError(f"sparse.{name}: expected a tensor of layout sparse_coo, but got {input.layout}")
    source = coalesced(input if dtype is None else input.to(dtype))
    array = source._array
    sparse = array.indices.shape[0]
    axis, values = canonical_dim(dim, source.ndim), stored(source)
    if axis >= sparse:
        found = values.log_softmax(axis - sparse + 1) if logarithm else values.softmax(axis - sparse + 1)
        return assembled(found, array)
    rows = coordinates(array)
    others = [row for place, row in enumerate(rows) if place != axis]
    lengths = [length for place, length in enumerate(array.shape[:sparse]) if place != axis]
    groups = numbered(others, lengths) if others else rows[0] * 0
    distinct, group = unique(groups, return_inverse=True)
    shape = (distinct._array.shape[0], *values._array.shape[1:])
    index = group.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    largest = values.detach().new_full(shape, float("-inf")).scatter_reduce(0, index, values.detach(), "amax")
    # A largest that is infinite would make NaN of what is smaller; PyTorch's result is NaN where it is +inf alone.
    shifted = values - largest.masked_fill(largest == float("-inf"), 0)[group]
    powers = shifted.exp()
    total = values.new_zeros(shape).index_add(0, group, powers)
    found = shifted - total.log()[group] if logarithm else powers / total[group]
    return assembled(found, array)
