"""One element for each index along a dimension, read: `gather`, `take_along_dim`."""
from __future__ import annotations

from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, require_tensor
from .._out import accepts_out
from ..manipulation.broadcasting import broadcast_shapes
from .gather_scatter import check_along, gather_op
from .index import index_tensor, require_long

METHODS = ("gather", "take_along_dim")


@accepts_out
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: for each index, the element along `dim`.

    `index` has as many dimensions as `input` and is no longer, except along `dim`. Raises IndexError out of range.

    >>> lucid.gather(lucid.tensor([[1, 2, 3], [4, 5, 6]]), 1, lucid.tensor([[2, 0], [1, 1]]))
    Tensor([[3, 1],
            [5, 5]], requires_grad=False)
    """
    axis = canonical_dim(dim, require_tensor("gather", input)._array.ndim)
    index = index_tensor("gather", index, input)
    if input._array.ndim + index._array.ndim <= 1:  # a 0-d tensor counts as one of one element
        return gather(input.reshape(-1), 0, index.reshape(-1)).reshape(index.shape)
    check_along("gather", input, index, axis)
    return gather_op(input, index, axis=axis)


@accepts_out
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with broadcasting; without `dim`, from the flattened tensor.

    Along `dim` indices count modulo its length; without it, raises IndexError out of range.

    >>> x = lucid.tensor([[3, 1], [2, 5]])
    >>> lucid.take_along_dim(x, x.argsort(dim=1), dim=1)
    Tensor([[1, 3],
            [2, 5]], requires_grad=False)
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    require_long("take_along_dim", indices)
    axis = canonical_dim(dim, input._array.ndim)
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    mine, theirs = list(input._array.shape), list(indices._array.shape)
    length, count = mine[axis], theirs[axis]
    inside = indices.remainder(length) if length and indices._array.size else indices
    mine[axis] = theirs[axis] = 1
    if mine != theirs:
        mine = list(broadcast_shapes(mine, theirs))
        input = input.expand((*mine[:axis], length, *mine[axis + 1:]))
        inside = inside.expand((*mine[:axis], count, *mine[axis + 1:]))
    return gather(input, axis, inside)


register(__name__)
