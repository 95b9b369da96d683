"""Norms of matrices, and `linalg.norm`, of either."""
from __future__ import annotations

import math
from typing import Any

from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import canonical_dim, require_tensor
from .._out import accepts_out
from .matrices import require_matrix
from .qr_svd import svdvals
from .vector_norms import cast, vector_norm

MATRIX_ORDERS = (1, -1, 2, -2, math.inf, -math.inf)


@accepts_out
def matrix_norm(input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of matrices, which lie in the two dimensions `dim`.

    `ord` 'fro': the square root of the sum of squares; 'nuc': the sum of the singular values; 2 and -2: the largest and the
    smallest of them; 1 and -1: the largest and the smallest sum of sizes in a column; inf and -inf: in a row. Raises
    RuntimeError for another `ord`, wrong dimensions and integers.

    >>> x = lucid.tensor([[3.0, 0.0], [0.0, 4.0]])
    >>> lucid.linalg.matrix_norm(x), lucid.linalg.matrix_norm(x, ord=2)
    (Tensor(5.0, requires_grad=False), Tensor(4.0, requires_grad=False))
    """
    name = "linalg.matrix_norm"
    require_matrix(name, input)
    dims = tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    rows, columns = canonical_dim(dims[0], input.ndim), canonical_dim(dims[1], input.ndim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dims[0]}, {dims[1]})")
    if ord == "fro":
        return vector_norm(input, 2, (rows, columns), keepdim, dtype=dtype)
    if ord not in ("nuc", *MATRIX_ORDERS):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    input = cast(name, input, dtype)
    if ord in ("nuc", 2, -2):
        if input.itemsize < 4:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {type_name(input.dtype)}")
        values = svdvals(input.movedim((rows, columns), (-2, -1)))
        result = values.sum(-1, keepdim=True) if ord == "nuc" else _extremum(values, ord, -1)
        return result.unsqueeze(-1).movedim((-2, -1), (rows, columns)) if keepdim else result.squeeze(-1)
    inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
    result = _extremum(input.abs().sum(inner, keepdim=True), ord, outer)
    return result if keepdim else result.squeeze((rows, columns))


def _extremum(values: Tensor, ord: float, dim: int) -> Tensor:
    """The largest value over `dim` for a positive order, 0 of none, the smallest for a negative one; `dim` is kept."""
    if ord > 0 and values._array.shape[dim] == 0:
        return values.sum(dim, keepdim=True)
    return values.amax(dim, keepdim=True) if ord > 0 else values.amin(dim, keepdim=True)


@accepts_out
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`vector_norm` or `matrix_norm`, by the number of dimensions in `dim`, or without it, of `input`.

    Without `ord` it is the 2-norm of all elements, or of those along `dim`. Raises RuntimeError for an `ord` with neither
    one nor two dimensions.

    >>> lucid.linalg.norm(lucid.tensor([3.0, 4.0])), lucid.linalg.norm(lucid.tensor([3.0, -4.0]), ord=1)
    (Tensor(5.0, requires_grad=False), Tensor(7.0, requires_grad=False))
    """
    if dim is None and ord is None:
        return vector_norm(input, 2, None, keepdim, dtype=dtype)
    if dim is None:
        rank = require_tensor("linalg.norm", input).ndim
        if rank not in (1, 2):
            raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                               f"{rank}D.")
        dims: tuple[int, ...] = tuple(range(rank))
    else:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is not None and (len(dims) == 2 or isinstance(ord, str)):
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


