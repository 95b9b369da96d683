"""The methods of Tensor for sparse tensors; what they need is imported with the first call."""
from __future__ import annotations

import importlib
from typing import Any

from .._layout import Layout
from ..tensor import Tensor, wrap
from ._methods import register


def _from(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"lucid.ops.sparse.{module}"), name)


def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """A dense tensor with zeros where a sparse one keeps nothing; of a dense one, itself.

    >>> lucid.tensor([0.0, 5.0]).to_sparse().to_dense()
    Tensor([0.0, 5.0], requires_grad=False)
    """
    return _from("layouts", "to_dense")(input, dtype, masked_grad=masked_grad)


def to_sparse(input: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: int | None = None) -> Tensor:
    """The elements that are not zero, in a sparse layout, COO by default; `sparse_dim` dimensions are sparse, by default all.

    >>> lucid.tensor([0.0, 5.0, 0.0]).to_sparse()
    Tensor(indices=Tensor([[1]]),
           values=Tensor([5.0]),
           size=(3,), nnz=1, layout=lucid.sparse_coo, requires_grad=False)
    """
    return _from("layouts", "to_sparse")(input, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_coo(input: Tensor) -> Tensor:
    """`to_sparse` with the layout `sparse_coo`.

    >>> lucid.tensor([0.0, 5.0, 0.0]).to_sparse_coo().indices()
    Tensor([[1]], requires_grad=False)
    """
    return _from("layouts", "to_sparse")(input)


def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix by rows (`sparse_csr`).

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().values()
    Tensor([5.0, 6.0], requires_grad=False)
    """
    return _from("layouts", "to_sparse_csr")(input, dense_dim)


def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix by columns (`sparse_csc`).

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csc().values()
    Tensor([6.0, 5.0], requires_grad=False)
    """
    return _from("layouts", "to_sparse_csc")(input, dense_dim)


def coalesce(input: Tensor) -> Tensor:
    """A COO tensor with each place once, in order; gradients pass through.

    >>> x = lucid.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    >>> x.coalesce().values()
    Tensor([3.0], requires_grad=False)
    """
    _require_coo("coalesce", input)
    return _from("layouts", "coalesce")(input)


def is_coalesced(input: Tensor) -> bool:
    """Whether each place stands once and in order.

    >>> lucid.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).is_coalesced()
    False
    """
    _require_coo("is_coalesced", input)
    return bool(input._array.coalesced)


def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of `input` in the places that `mask`, a sparse tensor of its shape, keeps.

    >>> mask = lucid.tensor([1.0, 0.0, 1.0]).to_sparse()
    >>> lucid.tensor([5.0, 6.0, 7.0]).sparse_mask(mask).to_dense()
    Tensor([5.0, 0.0, 7.0], requires_grad=False)
    """
    return _from("layouts", "sparse_mask")(input, mask)


def values(input: Tensor) -> Tensor:
    """The elements that a coalesced or compressed tensor keeps. Raises RuntimeError for others.

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().values()
    Tensor([5.0, 6.0], requires_grad=False)
    """
    if input.layout is Layout.strided:
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    return _from("layouts", "stored_of")(input, "values")


def indices(input: Tensor) -> Tensor:
    """The indices (d, nnz) of a coalesced COO tensor. Raises RuntimeError for others.

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse().indices()
    Tensor([[0, 1],
            [1, 0]], requires_grad=False)
    """
    _require_coo("indices", input)
    if not input._array.coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return wrap(input._array.indices)


def _values(self: Tensor) -> Tensor:
    """The values as they are, coalesced or not; no gradient flows through it."""
    if self.layout is Layout.strided:
        raise NotImplementedError("op '_values' has no rule for dense tensors")
    return wrap(self._array.values)


def _indices(self: Tensor) -> Tensor:
    """The indices as they are, coalesced or not."""
    _require_coo("_indices", self)
    return wrap(self._array.indices)


def _nnz(self: Tensor) -> int:
    """How many elements are kept."""
    if self.layout is Layout.strided:
        raise NotImplementedError("op '_nnz' has no rule for dense tensors")
    return int(self._array.nnz)


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say that a tensor is coalesced, or not."""
    _require_coo("_coalesced_", self)
    self._array.coalesced = bool(coalesced)
    return self


def sparse_dim(input: Tensor) -> int:
    """How many dimensions are sparse; 0 for a dense tensor.

    >>> lucid.zeros(2, 3).to_sparse(1).sparse_dim()
    1
    """
    if input.layout is Layout.strided:
        return 0
    return int(input._array.indices.shape[0]) if input.layout is Layout.sparse_coo else 2


def dense_dim(input: Tensor) -> int:
    """How many dimensions are dense, behind the sparse ones.

    >>> lucid.zeros(2, 3).to_sparse(1).dense_dim()
    1
    """
    return input.ndim - sparse_dim(input)


def crow_indices(input: Tensor) -> Tensor:
    """Where the rows of a CSR matrix begin, and where the last ends.

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().crow_indices()
    Tensor([0, 1, 2], requires_grad=False)
    """
    return wrap(_of_layout("crow_indices", "row", Layout.sparse_csr, input).compressed)


def col_indices(input: Tensor) -> Tensor:
    """The columns of the elements of a CSR matrix.

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().col_indices()
    Tensor([1, 0], requires_grad=False)
    """
    return wrap(_of_layout("col_indices", "row", Layout.sparse_csr, input).plain)


def ccol_indices(input: Tensor) -> Tensor:
    """Where the columns of a CSC matrix begin, and where the last ends.

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csc().ccol_indices()
    Tensor([0, 1, 2], requires_grad=False)
    """
    return wrap(_of_layout("ccol_indices", "column", Layout.sparse_csc, input).compressed)


def row_indices(input: Tensor) -> Tensor:
    """The rows of the elements of a CSC matrix.

    >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csc().row_indices()
    Tensor([1, 0], requires_grad=False)
    """
    return wrap(_of_layout("row_indices", "column", Layout.sparse_csc, input).plain)


def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one as a sparse one.

    >>> lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse().smm(lucid.ones(2, 1)).values()
    Tensor([2.0], requires_grad=False)
    """
    return _from("older_names", "smm")(input, mat2)


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * smm(mat1, mat2)`` of a sparse matrix.

    >>> a = lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    >>> a.sspaddmm(a, lucid.ones(2, 2)).to_dense()
    Tensor([[2.0, 4.0],
            [0.0, 0.0]], requires_grad=False)
    """
    return _from("older_names", "sspaddmm")(input, mat1, mat2, beta=beta, alpha=alpha)


def layout_name(layout: Layout) -> str:
    """PyTorch's name of a layout in errors."""
    return {"strided": "Strided", "sparse_coo": "Sparse"}.get(layout.name) or "Sparse" + layout.name[7:].capitalize()


def _of_layout(name: str, kind: str, layout: Layout, input: Tensor) -> Any:
    if input.layout is not layout:
        raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {layout_name(input.layout)}")
    return input._array


def _require_coo(name: str, input: Tensor) -> None:
    if input.layout is not Layout.sparse_coo:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {layout_name(input.layout)}")


METHODS = ("to_dense", "to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_coo", "coalesce", "is_coalesced", "sparse_mask",
           "values", "indices", "sparse_dim", "dense_dim", "crow_indices", "col_indices", "ccol_indices", "row_indices", "smm",
           "sspaddmm")
SPECIAL_METHODS = {"_values": _values, "_indices": _indices, "_nnz": _nnz, "_coalesced_": _coalesced_}

register(__name__)
