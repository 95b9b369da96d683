"""Products of a sparse matrix with dense and sparse ones.

`mm`, `matmul` and ``@`` give a sparse factor the whole gradient, dense; `lucid.sparse.mm` and `addmm` only the elements in its
places, as in PyTorch.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._layout import Layout
from ...autograd.errors import type_name
from ...autograd.grad_mode import no_grad
from ...autograd.sparse_rules import rule
from ...backends import TABLES, run
from ...backends.sparse import CompressedArray, CooArray
from ...tensor import Tensor, wrap
from .coalescing import added_up, coalesced, places_of
from .layouts import to_sparse
from .parts import compressed_of, coordinates, is_sparse, members, recorded, starts
from .shape import transposed
from .values import assembled, stored


def _ordered(places: Any, adjoint: bool) -> tuple[Tensor | None, Any, Any]:
    """The elements of a matrix, or of its `adjoint`, by rows: the order in which they are taken (None: as they stand), where rows
    begin, and their columns. Found once for all matrices with these places.
    """
    name = "adjoint" if adjoint else "rows"
    found: tuple[Tensor | None, Any, Any] | None = places.cache.get(name)
    if found is None:
        if (places.sparse_layout is Layout.sparse_csc) is adjoint:
            found = None, *compressed_of(places)
        else:
            with no_grad():
                first, second = coordinates(places)[::-1] if adjoint else coordinates(places)
                order = first.argsort(stable=True)
                found = order, starts(first[order], places.shape[1 if adjoint else 0])._array, second[order].long()._array
        places.cache[name] = found
    return found


def times_dense(input: Tensor, dense: Tensor, masked: bool = False, adjoint: bool = False) -> Tensor:
    """The dense product of a sparse matrix, or of its `adjoint`, and a dense one; the gradient of the first is `masked` by its
    places, or dense.
    """
    if input._node is None and dense._node is None and not adjoint:
        found = _constant(input._array, dense._array)
        if found is not None:
            return found
    _require_matrices(input, dense, adjoint)
    source = coalesced(input) if input._array.__class__ is CooArray else input
    array, other = source._array, dense._array
    order, rows, columns = _ordered(array, adjoint)
    values = array.values if order is None else wrap(array.values)[order]._array
    if other.dtype.kind == "c":
        if dense.is_cuda:
            raise NotImplementedError("products of sparse complex matrices have no kernel on a GPU. Use to_dense() first.")
        if adjoint:
            values = run("conj", (values,))
    result = run("csr_matmul", (values, rows, columns, other))

    def vjp(g: Tensor, y: Any) -> tuple[Tensor | None, Tensor | None]:
        to_source = to_dense = None
        if source._node is not None:
            left, right = (dense, g.conj()) if adjoint else (g, dense.conj())
            to_source = sampled(source, left, right) if masked else left @ right.t()
        if dense._node is not None:
            to_dense = times_dense(source, g, masked, not adjoint)
        return to_source, to_dense

    return recorded("sparse_mm", result, (source, dense), vjp)


def _constant(array: Any, dense: Any) -> Tensor | None:
    """The product of a compressed matrix, whose rows were found before, and a dense one on the CPU, of which nothing is recorded;
    None for all others. To see that they are such takes a third of the time of all checks and of what recording needs.
    """
    if array.__class__ is not CompressedArray or dense.__class__ is not np.ndarray or dense.ndim != 2:
        return None
    values, found = array.values, array.cache.get("rows")
    if (found is None or found[0] is not None or values.__class__ is not np.ndarray or values.dtype is not dense.dtype
            or values.ndim != 1 or array.shape[1] != dense.shape[0]):
        return None
    return wrap(TABLES[np.ndarray]["csr_matmul"](values, found[1], found[2], dense))


def sampled(places: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The elements of ``a @ b.T`` of dense matrices in the places of a sparse one, as a sparse tensor."""
    array = places._array
    order, rows, columns = _ordered(array, False)
    values = run("csr_sampled", (a.contiguous()._array, b.contiguous()._array, rows, columns))
    if order is not None:
        with no_grad():
            values = wrap(values)[order.argsort()]._array

    def vjp(g: Tensor, y: Any) -> tuple[Tensor, Tensor]:
        kept = assembled(g, array)
        return times_dense(kept, b.conj(), True), times_dense(kept.conj(), a.conj(), True, True)

    return assembled(recorded("sampled", values, (a, b), vjp), array)


def _times_sparse(input: Tensor, other: Tensor) -> Tensor:
    """The sparse product of two sparse matrices: each element of the first with those of a row of the second."""
    _require_matrices(input, other)
    layout = input.layout
    a, b = coalesced(to_sparse(input)), coalesced(to_sparse(other))
    with no_grad():
        rows, inner = coordinates(a._array)
        mine, its = members(wrap(compressed_of(b._array)[0]), inner)
        numbers = rows[mine] * other.shape[1] + coordinates(b._array)[1][its]
        shape = (input.shape[0], other.shape[1])
    products = stored(a)[mine] * stored(b)[its]
    distinct, values = added_up(numbers, products)
    places = CooArray(places_of(distinct, shape)._array, values._array, shape, True)
    return to_sparse(assembled(values, places), layout=layout)


def product(input: Tensor, other: Tensor, masked: bool) -> Tensor:
    """The product of matrices of which at least one is sparse: dense, unless both are."""
    if is_sparse(input):
        return _times_sparse(input, other) if is_sparse(other) else times_dense(input, other, masked)
    return times_dense(transposed(other), input.t(), masked).t()


def _require_matrices(a: Tensor, b: Tensor, adjoint: bool = False) -> None:
    if a.ndim != 2 or b.ndim != 2 or any(is_sparse(t) and t._array.values.ndim != 1 for t in (a, b)):
        raise RuntimeError("addmm: matrices expected, got "
                           f"{a.ndim}D and {b.ndim}D tensors; sparse ones without dense dimensions")
    if a._array.shape[0 if adjoint else 1] != b._array.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {type_name(a.dtype)} != {type_name(b.dtype)}")
    on_cpu = b._array.__class__ is np.ndarray and getattr(a._array, "values", b._array).__class__ is np.ndarray
    if not on_cpu and a.device != b.device:
        raise RuntimeError(f"Expected all tensors to be on the same device, but got {a.device} and {b.device}")


@rule("matmul")
def _matmul(input: Tensor, other: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    input = input.t() if transpose_a else input
    other = other.t() if transpose_b else other
    if input._node is None and other._node is None and other._array.__class__ is np.ndarray:
        is_vector = other._array.ndim == 1
        found = _constant(input._array, other._array[:, None] if is_vector else other._array)
        if found is not None:
            return wrap(found._array[:, 0]) if is_vector else found
    if input.ndim == 2 and other.ndim == 1 and is_sparse(input):
        return times_dense(input, other.unsqueeze(1)).squeeze(1)
    if input.ndim == 1 and other.ndim == 2 and is_sparse(other):
        return times_dense(transposed(other), input.unsqueeze(1)).squeeze(1)
    if input.ndim != 2 or other.ndim != 2:
        raise NotImplementedError(f"op 'matmul' has no rule for sparse tensors of {input.ndim} and {other.ndim} dimensions")
    return product(input, other, False)


@rule("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    result = _matmul(input, weight, transpose_b=True)
    return result if bias is None else bias.expand(result.shape) + result


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for a sparse `mat1` and a dense `mat2` and `input`.

    The gradient of `mat1` is sparse: its elements in the places that it keeps.

    >>> a = lucid.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    >>> lucid.sparse.addmm(lucid.ones(2, 1), a, lucid.tensor([[1.0], [10.0]]))
    Tensor([[21.0],
            [ 4.0]], requires_grad=False)
    """
    result = product(mat1, mat2, True)
    scaled = result if alpha == 1 else result * alpha
    if is_sparse(result):
        return (input if beta == 1 else input * beta) + scaled
    return scaled if beta == 0 else (input if beta == 1 else input * beta).expand(result.shape) + scaled


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of dense matrices in the places that `input`, a CSR matrix, keeps.

    >>> kept = lucid.tensor([[0.0, 1.0], [1.0, 0.0]]).to_sparse_csr()
    >>> lucid.sparse.sampled_addmm(kept, lucid.ones(2, 3), lucid.ones(3, 2), beta=0).to_dense()
    Tensor([[0.0, 3.0],
            [3.0, 0.0]], requires_grad=False)
    """
    if input.layout is not Layout.sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected self to be a tensor with sparse csr layout, but got {input.layout}")
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if is_sparse(matrix):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {matrix.layout}")
        if matrix.dtype != input.dtype:
            raise RuntimeError(f"sampled_addmm: Expected self and {name} to have the same dtype, but got "
                               f"{type_name(input.dtype)} and {type_name(matrix.dtype)}")
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise NotImplementedError("sampled_addmm: batches of matrices are not supported")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({mat1.shape[0]}x{mat1.shape[1]} and "
                           f"{mat2.shape[0]}x{mat2.shape[1]})")
    if tuple(input.shape) != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError("sampled_addmm: self.shape[-2:] must match mat1.shape[-2] and mat2.shape[-1], but got "
                           f"{list(input.shape)}")
    values = stored(sampled(input, mat1, mat2.t()))
    return assembled(stored(input) * beta + values * alpha, input._array)
