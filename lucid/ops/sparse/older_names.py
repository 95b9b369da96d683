"""Sparse results of products of a sparse matrix and a dense one, by names that stand in PyTorch's own namespace only."""
from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...backends.sparse import CooArray
from ...tensor import Tensor
from .._out import accepts_out
from ..creation.creation import arange
from ..linalg.matmul import matmul
from ..manipulation.joining import stack
from ..manipulation.repetition import repeat_interleave
from ..sorting.unique import unique
from .coalescing import coalesced
from .parts import coordinates, is_sparse
from .values import assembled


def _kept_rows(name: str, input: Tensor, mat: Tensor) -> tuple[Tensor, Tensor]:
    """The dense product, and the rows in which `input` keeps something."""
    if not is_sparse(input) or is_sparse(mat):
        raise RuntimeError(f"{name}: a sparse matrix and a dense one are expected")
    product = matmul(input, mat)
    with no_grad():
        return product, unique(coordinates(input._array)[0]).long()


def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one as a sparse one, which keeps the rows in which `input` keeps something.

    >>> lucid.smm(lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse(), lucid.ones(2, 2)).coalesce().indices()
    Tensor([[0, 0],
            [0, 1]], requires_grad=False)
    """
    product, rows = _kept_rows("smm", input, mat2)
    width = product.shape[1]
    with no_grad():
        columns = arange(width, device=rows.device).repeat(len(rows))
        indices = stack([repeat_interleave(rows, width), columns])
    values = product[rows].reshape(-1)
    return assembled(values, CooArray(indices._array, values._array[:0], tuple(product.shape), True))


@accepts_out
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """`smm` with whole rows as its elements: one sparse dimension, and one that is dense.

    >>> lucid.hspmm(lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse(), lucid.ones(2, 2)).coalesce().values()
    Tensor([[2.0, 2.0]], requires_grad=False)
    """
    product, rows = _kept_rows("hspmm", mat1, mat2)
    values = product[rows]
    return assembled(values, CooArray(rows[None]._array, values._array[:0], tuple(product.shape), True))


def hsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`hspmm`.

    >>> lucid.hsmm(lucid.eye(2).to_sparse(), lucid.ones(2, 1)).to_dense()
    Tensor([[1.0],
            [1.0]], requires_grad=False)
    """
    return hspmm(input, mat2)


@accepts_out
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * smm(mat1, mat2)`` of a sparse matrix `input`.

    >>> a = lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    >>> lucid.sspaddmm(a, a, lucid.ones(2, 2), alpha=3).to_dense()
    Tensor([[6.0, 8.0],
            [0.0, 0.0]], requires_grad=False)
    """
    if not is_sparse(input):
        raise RuntimeError("sspaddmm: Argument #1: Expected a sparse input")
    return coalesced(input * beta + smm(mat1, mat2) * alpha)
