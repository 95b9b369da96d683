"""Linear systems and inverses, for stacks of matrices: the dimensions before the last two are a batch."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...autograd.calls import operation
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, require_tensor
from .._out import accepts_out
from ..manipulation.broadcasting import broadcast_shapes
from ..manipulation.permutation import movedim
from .matmul import check_batches
from .matrices import (
    adjoint,
    require_inexact,
    require_lapack_dtype,
    require_one_dtype,
    require_rank,
    require_square,
    require_success,
)

METHODS = ("inverse",)

SINGULAR = "The solver failed because the input matrix is singular."
NOT_INVERTIBLE = ("The diagonal element {info} is zero, the inversion could not be completed because the input matrix is "
                  "singular.")


class Solution(NamedTuple):
    """What `linalg.solve_ex` returns."""

    result: Tensor
    info: Tensor


class Inverse(NamedTuple):
    """What `linalg.inv_ex` returns."""

    inverse: Tensor
    info: Tensor


def _solve_rule(needs: Any, a: Tensor, b: Tensor) -> Vjp:
    """Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008."""
    needs_a, needs_b = needs

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        if needs_a and not is_composed():
            to_a, to_b = _solve_grad(a, y[0], g)
            return to_a, to_b if needs_b else None
        to_b = solve_columns(adjoint(a), g)
        return -(to_b @ adjoint(y[0])) if needs_a else None, to_b if needs_b else None

    return vjp


def _inv_rule(needs: Any, a: Tensor) -> Vjp:
    """Giles, 2008, as above."""
    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        if not is_composed():
            return (_inv_grad(y[0], g),)
        turned = adjoint(y[0])
        return (-(turned @ g @ turned),)

    return vjp


_solve_ex = operation("solve_ex", _solve_rule, saved_outputs=(0,), outputs=(0,))
_inv_ex = operation("inv_ex", _inv_rule, saved_outputs=(0,), outputs=(0,))
_solve_grad, _inv_grad = operation("solve_grad"), operation("inv_grad")


def solve_columns(a: Tensor, b: Tensor) -> Tensor:
    """X with ``a X = b`` for one batch of matrices, without checks; NaN where `a` is singular."""
    result: Tensor = _solve_ex(a, b)[0]
    return result


def _solve(name: str, A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    require_square(name, A)
    require_one_dtype(name, A, B)
    a, b = A._array.shape, B._array.shape
    vector = len(b) == 1 or (len(b) == len(a) - 1 and b == a[:-1])
    if vector:
        B = B.unsqueeze(-1)
    A, B = matching_batches(name, A, B, left)
    require_lapack_dtype("lu_cpu", A)
    result, info = _solve_ex(A, B) if left else _solve_ex(A.mT, B.mT)
    result = result if left else result.mT
    return result.squeeze(-1) if vector else result, info


def matching_batches(name: str, A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    """`A` and `B` expanded to one batch. Raises RuntimeError for sizes that do not fit ``A X = B``, or ``X A = B``."""
    a = A._array.shape
    require_rank(name, B, "B")
    rows, columns = B._array.shape[-2:]
    if (rows if left else columns) != a[-1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                           f"({a[-2]}x{a[-1]} and {rows}x{columns})")
    if a[:-2] == B._array.shape[:-2]:
        return A, B
    check_batches(a[:-2], B._array.shape[:-2])
    batch = broadcast_shapes(a[:-2], B._array.shape[:-2])
    return A.expand(*batch, *a[-2:]), B.expand(*batch, rows, columns)


@accepts_out
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with ``A X = B``, or ``X A = B`` without `left`, for square `A` (..., n, n) and `B` (..., n, k) or (..., k, n).

    `B` is a vector, or a batch of vectors, if it has one dimension or the shape of `A` without the last one; batches are
    broadcast. Raises RuntimeError for shapes and dtypes that do not fit, and LinAlgError, a RuntimeError, if a matrix is
    singular.

    >>> lucid.linalg.solve(lucid.tensor([[2.0, 0.0], [0.0, 4.0]]), lucid.tensor([2.0, 2.0]))
    Tensor([1.0, 0.5], requires_grad=False)
    """
    result, info = _solve("linalg.solve", A, B, left)
    require_success("torch.linalg.solve", info, SINGULAR)
    return result


@accepts_out
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Solution:
    """`solve` as the pair (result, info): with `check_errors` singular matrices raise LinAlgError, else their results are NaN
    and their elements of `info`, int32, the number of the first zero pivot; those of the others are 0.

    >>> lucid.linalg.solve_ex(lucid.zeros(2, 2), lucid.ones(2)).info
    Tensor(1, dtype=int32, requires_grad=False)
    """
    result, info = _solve("linalg.solve", A, B, left)
    if check_errors:
        require_success("torch.linalg.solve_ex", info, SINGULAR)
    return Solution(result, info)


def _inv(A: Tensor) -> tuple[Tensor, Tensor]:
    require_square("linalg.inv", A)
    if A.itemsize < 4:
        from ...autograd.errors import type_name

        raise RuntimeError(f"linalg.inv: Low precision dtypes not supported. Got {type_name(A.dtype)}")
    inverse, info = _inv_ex(A)
    return inverse, info


@accepts_out
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices (..., n, n).

    Raises RuntimeError for a wrong shape or dtype, and LinAlgError, a RuntimeError, that names the first singular matrix.

    >>> lucid.linalg.inv(lucid.tensor([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.50, 0.00],
            [0.00, 0.25]], requires_grad=False)
    """
    inverse, info = _inv(A)
    require_success("linalg.inv", info, NOT_INVERTIBLE)
    return inverse


@accepts_out
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Inverse:
    """`inv` as the pair (inverse, info), with `check_errors` and `info` as in `solve_ex`.

    >>> lucid.linalg.inv_ex(lucid.zeros(2, 2)).info
    Tensor(1, dtype=int32, requires_grad=False)
    """
    inverse, info = _inv(A)
    if check_errors:
        require_success("linalg.inv_ex", info, NOT_INVERTIBLE)
    return Inverse(inverse, info)


@accepts_out
def inverse(input: Tensor) -> Tensor:
    """`linalg.inv`.

    >>> lucid.linalg.inv(lucid.tensor([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.50, 0.00],
            [0.00, 0.25]], requires_grad=False)
    """
    return inv(input)


# ---- tensors as matrices -------------------------------------------------------------------------------------------------
@accepts_out
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The tensor (dimensions from `ind` on, then those before) that `tensordot` over the first dimensions turns back:
    `input` is inverted as a matrix whose rows are its first `ind` dimensions.

    Raises RuntimeError if it is not square, and LinAlgError, a RuntimeError, if it is singular.

    >>> lucid.linalg.tensorinv(lucid.eye(6).view(2, 3, 6)).shape
    lucid.Size([6, 2, 3])
    """
    require_inexact("linalg.tensorinv", input)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = input._array.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                           f"{columns} != {rows}")
    return inv(input.reshape(rows, columns)).reshape(shape[ind:] + shape[:ind])


@accepts_out
def tensorsolve(input: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    """X with ``tensordot(input, X, X.ndim) = other``: `input` has the dimensions of `other`, then those of X; `dims` are moved
    to its end first. Raises RuntimeError if that is not a square system, LinAlgError if it is singular.

    >>> lucid.linalg.tensorsolve(lucid.eye(6).view(2, 3, 6) * 2, lucid.ones(2, 3))
    Tensor([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], requires_grad=False)
    """
    require_inexact("linalg.tensorsolve", input)
    count = require_tensor("linalg.tensorsolve", other).ndim
    if dims is not None:
        ends = tuple(canonical_dim(dim, input.ndim) for dim in dims)
        input = movedim(input, ends, tuple(range(input.ndim - len(ends), input.ndim)))
    shape = input._array.shape
    rows, columns = math.prod(shape[:count]), math.prod(shape[count:])
    if rows != columns:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {columns} != {rows}")
    return solve(input.reshape(rows, columns), other.reshape(-1)).reshape(shape[count:])


register(__name__)
