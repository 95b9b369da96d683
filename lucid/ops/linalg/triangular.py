"""Triangular systems and Cholesky factors, for stacks of matrices."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import require_tensor
from .._out import accepts_out
from ..creation.creation import eye
from ..elementwise.where import where
from ..manipulation.broadcasting import broadcast_shapes
from ..manipulation.diagonals import diagonal, tril, triu
from .matmul import check_batches
from .matrices import adjoint, require_equal_sides, require_lapack_dtype, require_rank, require_square, require_success
from .solve import matching_batches

METHODS = ("cholesky_inverse", "cholesky_solve", "triangular_solve")

INDEFINITE = ("The factorization could not be completed because the input is not positive-definite (the leading minor of order "
              "{info} is not positive-definite).")
SINGULAR = "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."


class CholeskyEx(NamedTuple):
    """What `linalg.cholesky_ex` returns."""

    L: Tensor
    info: Tensor


class TriangularSolution(NamedTuple):
    """What `triangular_solve` returns."""

    solution: Tensor
    cloned_coefficient: Tensor


# ---- triangular systems --------------------------------------------------------------------------------------------------
def _triangular_rule(needs: Any, t: Tensor, b: Tensor, *, upper: bool, unitriangular: bool) -> Vjp:
    """Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008; elements
    beside the triangle, and on a diagonal of ones, have no influence.
    """
    needs_t, needs_b = needs

    def vjp(g: Tensor, y: Tensor) -> tuple[Any, Any]:
        to_b = _solve_triangular(adjoint(t), g, upper=not upper, unitriangular=unitriangular)
        to_t = None
        if needs_t:
            product = -(to_b @ adjoint(y))
            to_t = triu(product, int(unitriangular)) if upper else tril(product, -int(unitriangular))
        return to_t, to_b if needs_b else None

    return vjp


_solve_triangular = single_op("solve_triangular", _triangular_rule, saved_outputs=True)


def solve_triangle(t: Tensor, b: Tensor, upper: bool, unitriangular: bool = False) -> Tensor:
    """``t X = b`` for one batch of triangles and matrices, without checks."""
    result: Tensor = _solve_triangular(t, b, upper=upper, unitriangular=unitriangular)
    return result


@accepts_out
def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X with ``A X = B``, or ``X A = B`` without `left`, for triangles A = `input` (..., n, n), upper or lower ones; their other
    elements are not read, nor with `unitriangular` the diagonal, which counts as ones. Batches are broadcast.

    Zeros on the diagonal give inf and NaN. Raises RuntimeError for shapes and dtypes that do not fit.

    >>> lucid.linalg.solve_triangular(lucid.tensor([[1.0, 0.0], [1.0, 2.0]]), lucid.tensor([[2.0], [4.0]]), upper=False)
    Tensor([[2.0],
            [1.0]], requires_grad=False)
    """
    name = "linalg.solve_triangular"
    require_equal_sides(name, input)
    if require_tensor(name, B)._array.dtype != input._array.dtype:
        raise RuntimeError(f"{name}: Expected A and B to have the same dtype, but found {type_name(input.dtype)} and "
                           f"{type_name(B.dtype)}")
    require_rank(name, B, "B")
    require_lapack_dtype("triangular_solve_cpu", input)
    input, B = matching_batches(name, input, B, left)
    if left:
        return solve_triangle(input, B, upper, unitriangular)
    return solve_triangle(input.mT, B.mT, not upper, unitriangular).mT


@accepts_out
def triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
                     ) -> TriangularSolution:
    """`linalg.solve_triangular` with the arguments of old, and a copy of `A`; `transpose` solves with the transpose of `A`.

    >>> lucid.triangular_solve(lucid.tensor([[2.0], [4.0]]), lucid.tensor([[1.0, 0.0], [0.0, 2.0]])).solution
    Tensor([[2.0],
            [2.0]], requires_grad=False)
    """
    for letter, t in (("b", input), ("A", A)):
        if require_tensor("triangular_solve", t).ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {letter} to have at least 2 dimensions, but it has {t.ndim} "
                               "dimensions instead")
    right, coefficient = _system("triangular_solve", input, A)
    solution = solve_triangular(coefficient.mT if transpose else coefficient, right, upper=upper != transpose,
                                unitriangular=unitriangular)
    return TriangularSolution(solution, coefficient.clone())


def _system(name: str, b: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """Right side and matrices of a system with one batch. Raises RuntimeError if they do not fit."""
    for letter, t in (("b", b), ("u", A)):
        if require_tensor(name, t).ndim < 2:
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {t.ndim} dimensions instead")
    (n, columns), (rows, width) = A._array.shape[-2:], b._array.shape[-2:]
    if n != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {n} by {columns} matrices")
    if n != rows:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {rows} by "
                           f"{width}")
    if A._array.dtype != b._array.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {type_name(b.dtype)} and A of type "
                           f"{type_name(A.dtype)} instead.")
    if A._array.shape[:-2] == b._array.shape[:-2]:
        return b, A
    check_batches(A._array.shape[:-2], b._array.shape[:-2])
    batch = broadcast_shapes(A._array.shape[:-2], b._array.shape[:-2])
    return b.expand(*batch, rows, width), A.expand(*batch, n, n)


# ---- Cholesky ------------------------------------------------------------------------------------------------------------
def _cholesky_rule(needs: Any, a: Tensor) -> Vjp:
    """Murray, "Differentiation of the Cholesky decomposition", 2016; the gradient is Hermitian, as the matrices are."""
    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        factor = y[0]
        if not is_composed():
            return (_cholesky_grad(factor, g),)
        turned = adjoint(factor)
        product = turned @ g
        triangle = tril(product, -1) + tril(triu(product)) / 2
        symmetric = (triangle + adjoint(triangle)) / 2
        half = solve_triangle(turned, symmetric, upper=True)
        return (adjoint(solve_triangle(turned, adjoint(half), upper=True)),)

    return vjp


_cholesky_ex = operation("cholesky_ex", _cholesky_rule, saved_outputs=(0,), outputs=(0,))
_cholesky_grad = operation("cholesky_grad")


def _cholesky(name: str, A: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    require_square(name, A)
    require_lapack_dtype("cholesky_cpu", A)
    factor, info = _cholesky_ex(adjoint(A) if upper else A)
    return adjoint(factor) if upper else factor, info


def _checked_cholesky(name: str, A: Tensor, upper: bool) -> Tensor:
    factor, info = _cholesky(name, A, upper)
    require_success(name, info, INDEFINITE)
    return factor


@accepts_out
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """L, lower triangular with a positive diagonal, with ``A = L L^H`` for Hermitian positive definite A = `input`
    (..., n, n); with `upper` its conjugate transpose.

    Only the lower triangles (with `upper` the upper ones) are read; the gradient is Hermitian. Raises RuntimeError for a wrong
    shape or dtype, and LinAlgError, a RuntimeError, that names the first matrix that is not positive definite.

    >>> lucid.linalg.cholesky(lucid.tensor([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    return _checked_cholesky("linalg.cholesky", input, upper)


@accepts_out
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """`linalg.cholesky` as the pair (L, info): with `check_errors` it raises LinAlgError, else matrices that are not positive
    definite get NaN and the order of the first minor that fails in `info`, int32, which is 0 for the others.

    >>> lucid.linalg.cholesky_ex(lucid.tensor([[1.0, 0.0], [0.0, -1.0]])).info  # the order of the minor that fails
    Tensor(2, dtype=int32, requires_grad=False)
    """
    factor, info = _cholesky("linalg.cholesky", input, upper)
    if check_errors:
        require_success("linalg.cholesky_ex", info, INDEFINITE)
    return CholeskyEx(factor, info)


@accepts_out
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """`linalg.cholesky`, with `upper` by position too.

    >>> lucid.cholesky(lucid.tensor([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    return _checked_cholesky("cholesky", input, upper)


@accepts_out
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with ``A X = B`` for B = `input` and matrices A given by Cholesky factors `input2` (..., n, n), lower or `upper` ones.

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> lucid.cholesky_solve(lucid.tensor([[4.0], [4.0]]), lucid.tensor([[2.0, 0.0], [1.0, 1.0]]))
    Tensor([[0.0],
            [2.0]], requires_grad=False)
    """
    B, L = _system("cholesky_solve", input, input2)
    require_lapack_dtype("cholesky_solve_cpu", L)
    lower = adjoint(L) if upper else L
    return solve_triangle(adjoint(lower), solve_triangle(lower, B, upper=False), upper=True)


@accepts_out
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverses of matrices given by their Cholesky factors `input` (..., n, n), `upper` or lower ones.

    Raises RuntimeError for a wrong shape or dtype, and LinAlgError, a RuntimeError, that names the first zero in a diagonal.

    >>> lucid.cholesky_inverse(lucid.tensor([[2.0, 0.0], [1.0, 1.0]]))
    Tensor([[ 0.5, -0.5],
            [-0.5,  1.0]], requires_grad=False)
    """
    require_equal_sides("cholesky_inverse", input)
    require_lapack_dtype("cholesky_inverse_out_cpu", input)
    zero = diagonal(input.detach(), 0, -2, -1) == 0
    if input.numel():
        require_success("cholesky_inverse", where(zero.any(-1), zero.int().argmax(-1) + 1, 0), SINGULAR)
    lower = adjoint(input) if upper else input
    one = eye(input._array.shape[-1], dtype=input.dtype, device=input.device).expand(input._array.shape)
    inverse = solve_triangle(lower, one, upper=False)
    return adjoint(inverse) @ inverse


SPECIAL_METHODS = {"cholesky": cholesky.without_out}


register(__name__)
