"""Triangles and diagonals of matrices. `diagonal` is a view."""
from __future__ import annotations

from typing import Any

from ... import _dtypes, backends
from ...autograd.calls import single_op, view_op
from ...autograd.op import Op, Vjp
from ...tensor import Tensor, wrap
from .._methods import register
from .._operands import canonical_dim, require_tensor, room_for
from .._out import accepts_out
from ..creation.creation import device_for

METHODS = ("tril", "triu", "diagonal", "diag", "diag_embed", "diagflat", "diagonal_scatter", "fill_diagonal_")
INPLACE_METHODS = ("tril", "triu")


def _diagonal_rule(needs: Any, x: Tensor, *, offset: int, axis1: int, axis2: int) -> Vjp:
    shape = x._array.shape
    return lambda g, y: (_diagonal_scatter(g, shape=shape, offset=offset, axis1=axis1, axis2=axis2),)


def _diagonal_scatter_rule(needs: Any, x: Tensor, *, shape: Any, offset: int, axis1: int, axis2: int) -> Vjp:
    return lambda g, y: (_diagonal(g, offset=offset, axis1=axis1, axis2=axis2),)


_tril: Op = single_op("tril", lambda needs, x, *, k: lambda g, y: (_tril(g, k=k),))
_triu: Op = single_op("triu", lambda needs, x, *, k: lambda g, y: (_triu(g, k=k),))
_diagonal = view_op("diagonal", _diagonal_rule)
_diagonal_scatter = single_op("diagonal_scatter", _diagonal_scatter_rule)


@accepts_out
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangles of matrices, zeros above diagonal number `diagonal`.

    >>> lucid.tril(lucid.ones(3, 3))
    Tensor([[1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0],
            [1.0, 1.0, 1.0]], requires_grad=False)
    >>> lucid.tril(lucid.ones(3, 3), diagonal=-1)
    Tensor([[0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0]], requires_grad=False)
    """
    _require_matrix("tril", input)
    return _tril(input, k=diagonal)


@accepts_out
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangles of matrices, zeros below diagonal number `diagonal`.

    >>> lucid.triu(lucid.ones(3, 3))
    Tensor([[1.0, 1.0, 1.0],
            [0.0, 1.0, 1.0],
            [0.0, 0.0, 1.0]], requires_grad=False)
    >>> lucid.triu(lucid.ones(3, 3), diagonal=1)
    Tensor([[0.0, 1.0, 1.0],
            [0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0]], requires_grad=False)
    """
    _require_matrix("triu", input)
    return _triu(input, k=diagonal)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The view of the diagonal of dimensions `dim1` and `dim2`, as the last dimension.

    `offset` counts upwards to the right. Raises RuntimeError if both dimensions are the same.

    >>> lucid.diagonal(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([1, 4], requires_grad=False)
    >>> lucid.diagonal(lucid.tensor([[1, 2], [3, 4]]), offset=1)
    Tensor([2], requires_grad=False)
    """
    ndim = require_tensor("diagonal", input).ndim
    axis1, axis2 = canonical_dim(dim1, ndim), canonical_dim(dim2, ndim)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diagonal(input, offset=offset, axis1=axis1, axis2=axis2)


@accepts_out
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with the vector `input` on diagonal number `diagonal`; of a matrix, a copy of that diagonal.

    >>> lucid.diag(lucid.tensor([1, 2]))
    Tensor([[1, 0],
            [0, 2]], requires_grad=False)
    >>> lucid.diag(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([1, 4], requires_grad=False)
    """
    ndim = require_tensor("diag", input).ndim
    if ndim == 2:
        return _diagonal(input, offset=diagonal, axis1=0, axis2=1).clone()
    if ndim != 1:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diag_embed(input, diagonal)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of zeros, in dimensions `dim1` and `dim2` of the result, with the last dimension of `input` on a diagonal.

    >>> lucid.diag_embed(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([[[1, 0],
             [0, 2]],
    <BLANKLINE>
            [[3, 0],
             [0, 4]]], requires_grad=False)
    """
    shape = require_tensor("diag_embed", input)._array.shape
    if not shape:
        raise IndexError("Dimension out of range: diag_embed needs a tensor of at least one dimension")
    axis1, axis2 = canonical_dim(dim1, len(shape) + 1), canonical_dim(dim2, len(shape) + 1)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    full, side = list(shape[:-1]), shape[-1] + abs(offset)
    for axis in sorted((axis1, axis2)):
        full.insert(axis, side)
    return _diagonal_scatter(input, shape=tuple(full), offset=offset, axis1=axis1, axis2=axis2)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of `input` on diagonal number `offset`.

    >>> lucid.diagflat(lucid.tensor([[1], [2]]))
    Tensor([[1, 0],
            [0, 2]], requires_grad=False)
    """
    return diag_embed(require_tensor("diagflat", input).reshape(-1), offset)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` on a diagonal. Raises RuntimeError if `src` has not its shape.

    >>> lucid.diagonal_scatter(lucid.zeros(2, 2), lucid.tensor([1.0, 2.0]))
    Tensor([[1.0, 0.0],
            [0.0, 2.0]], requires_grad=False)
    """
    result = room_for(input, src)
    view = diagonal(result, offset, dim1, dim2)
    if view.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the diagonal of self. src size = {list(src.shape)}, diagonal "
                           f"size = {list(view.shape)}")
    view.copy_(src)
    return result


def _require_matrix(name: str, input: Tensor) -> None:
    if require_tensor(name, input).ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number into the main diagonal: all elements whose indices are equal. Returns the tensor.

    `wrap` begins again below the end of the diagonal of a tall matrix, a row apart. Raises RuntimeError for less than two
    dimensions and for more than two of different lengths.

    >>> lucid.zeros(2, 3).fill_diagonal_(7)
    Tensor([[7.0, 0.0, 0.0],
            [0.0, 7.0, 0.0]], requires_grad=False)
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = self.shape[:2]
    for start in range(0, rows, columns + 1) if wrap and self.ndim == 2 else (0,):
        line = self[start:] if start else self
        while line.ndim > 1:
            line = diagonal(line, 0, 0, -1)
        line.fill_(fill_value)
    return self


def _triangle(name: str, row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
    for length, what in ((row, "row"), (col, "col")):
        if length < 0:
            raise RuntimeError(f"{what} must be non-negative, got {length}")
    chosen = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    if chosen not in (_dtypes.int64, _dtypes.int32):
        raise RuntimeError(f"\"{name}\" not implemented for '{chosen.name}'")
    attributes = {"rows": row, "columns": col, "offset": offset, "upper": name == "triu_indices", "dtype": chosen}
    return wrap(backends.create("triangle_indices", device_for(device), attributes))


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
                 requires_grad: bool = False) -> Tensor:
    """The row and column indices, a tensor (2, n), of the elements on and below diagonal number `offset`, row by row.

    >>> lucid.tril_indices(2, 2)
    Tensor([[0, 1, 1],
            [0, 0, 1]], requires_grad=False)
    """
    return _triangle("tril_indices", row, col, offset, dtype, device).requires_grad_(requires_grad)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
                 requires_grad: bool = False) -> Tensor:
    """The row and column indices, a tensor (2, n), of the elements on and above diagonal number `offset`, row by row.

    >>> lucid.triu_indices(2, 2)
    Tensor([[0, 0, 1],
            [0, 1, 1]], requires_grad=False)
    """
    return _triangle("triu_indices", row, col, offset, dtype, device).requires_grad_(requires_grad)


register(__name__)
