"""LU factorization with partial pivoting, for stacks of matrices, and systems solved by it."""
from __future__ import annotations

from typing import Any, NamedTuple

from ... import _recording
from ...autograd.calls import operation
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import is_any_true, numbers, require_tensor
from .._out import accepts_out
from ..creation.creation import arange, eye
from ..indexing.gather import gather
from ..manipulation.diagonals import tril, triu
from ..manipulation.joining import cat
from ..sorting.sorting import argsort
from .matrices import (
    adjoint,
    require_equal_sides,
    require_inexact,
    require_lapack_dtype,
    require_one_dtype,
    require_rank,
)
from .solve import matching_batches
from .triangular import solve_triangle

METHODS = ("lu_solve",)


class LU(NamedTuple):
    """What `linalg.lu` and `lu_unpack` return."""

    P: Tensor
    L: Tensor
    U: Tensor


class LUFactor(NamedTuple):
    """What `linalg.lu_factor` returns."""

    LU: Tensor
    pivots: Tensor


class LUFactorEx(NamedTuple):
    """What `linalg.lu_factor_ex` returns."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


def _lu_factor_rule(needs: Any, a: Tensor, *, pivot: bool) -> Vjp:
    """The gradient of the compact L and U of P^T A, whose order of rows is locally constant. For square matrices: Walter and
    Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum experimental design", 2010.
    The columns of a wide matrix beyond a square one are L^-1 P^T A there, the rows of a tall one P^T A U^-1.
    """
    rows, columns = a._array.shape[-2:]
    k = min(rows, columns)

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        compact, pivots = y
        square = compact.narrow(-2, 0, k).narrow(-1, 0, k)
        lower, upper = _unit_lower(square), triu(square)
        inner = g.narrow(-2, 0, k).narrow(-1, 0, k)
        to_lower = adjoint(lower) @ tril(inner, -1)
        to_upper = triu(inner) @ adjoint(upper)
        beyond = None
        if columns > rows:
            to_right, right = g.narrow(-1, k, columns - k), compact.narrow(-1, k, columns - k)
            to_lower = to_lower - to_right @ adjoint(right)
            beyond = solve_triangle(adjoint(lower), to_right, upper=True, unitriangular=True)
        elif rows > columns:
            to_below, below = g.narrow(-2, k, rows - k), compact.narrow(-2, k, rows - k)
            to_upper = to_upper - adjoint(below) @ to_below
            beyond = adjoint(solve_triangle(upper, adjoint(to_below), upper=True))
        left = solve_triangle(adjoint(lower), tril(to_lower, -1) + triu(to_upper), upper=True, unitriangular=True)
        ordered = adjoint(solve_triangle(upper, adjoint(left), upper=True))
        if beyond is not None:
            ordered = cat([ordered, beyond], -1 if columns > rows else -2)
        return (_take_rows(ordered, argsort(_permutation(pivots, rows=rows), -1)),)

    return vjp


_lu_factor = operation("lu_factor", _lu_factor_rule, saved_outputs=(0, 1), outputs=(0,))
_permutation = operation("lu_permutation")


def _unit_lower(square: Tensor) -> Tensor:
    return tril(square, -1) + eye(square._array.shape[-1], dtype=square.dtype, device=square.device)


def _take_rows(matrix: Tensor, order: Tensor) -> Tensor:
    """The rows of each matrix in `order` (..., rows) of the same batch."""
    return gather(matrix, -2, order.unsqueeze(-1).expand(matrix._array.shape))


def _factor(name: str, A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    if require_tensor(name, A).ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    require_lapack_dtype("lu_factor_cpu", A)
    compact, pivots, info = _lu_factor(A, pivot=bool(pivot))
    return compact, pivots, info


@_recording.not_recorded  # a replay looks too
def _require_factor(name: str, info: Tensor) -> None:
    """Raise RuntimeError for a zero on the diagonal of U."""
    if not is_any_true(info):
        return
    found = numbers(info)
    element = next(index for index, number in enumerate(found) if number)
    where = f"(Batch element {element}): " if len(found) > 1 or info.ndim else ""
    number = found[element]
    raise RuntimeError(f"torch.{name}: {where}U[{number},{number}] is zero and using it on lu_solve would result in a division "
                       "by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                       "linalg.lu_factor_ex(A, pivot)")


@accepts_out
def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactor:
    """``A = P L U`` for matrices (..., m, n) in LAPACK's compact form: L, whose diagonal is 1, below the diagonal of `LU` and U
    on and above it; row i was swapped with row ``pivots[i] - 1``, int32 (..., min(m, n)), in that order.

    Without `pivot` no rows are swapped, on every device. Raises RuntimeError for a wrong shape or dtype, and for a zero on the
    diagonal of U.

    >>> lucid.linalg.lu_factor(lucid.tensor([[0.0, 1.0], [2.0, 4.0]])).pivots
    Tensor([2, 2], dtype=int32, requires_grad=False)
    """
    compact, pivots, info = _factor("linalg.lu_factor", A, pivot)
    _require_factor("linalg.lu_factor", info)
    return LUFactor(compact, pivots)


@accepts_out
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LUFactorEx:
    """`lu_factor` with the number of the first zero on the diagonal of U, or 0, in `info`, int32 (...). With `check_errors` it
    raises RuntimeError.

    >>> lucid.linalg.lu_factor_ex(lucid.zeros(2, 2)).info  # the first pivot that is 0
    Tensor(1, dtype=int32, requires_grad=False)
    """
    compact, pivots, info = _factor("linalg.lu_factor", A, pivot)
    if check_errors:
        _require_factor("linalg.lu_factor_ex", info)
    return LUFactorEx(compact, pivots, info)


@accepts_out
def lu(A: Tensor, *, pivot: bool = True) -> LU:
    """``A = P L U`` for matrices (..., m, n), k = min(m, n): P (..., m, m) a permutation, L (..., m, k) lower triangular with
    ones on the diagonal, U (..., k, n) upper triangular. Without `pivot` P is empty, and no rows are swapped.

    Raises RuntimeError for a wrong shape or dtype.

    >>> p, l, u = lucid.linalg.lu(lucid.tensor([[0.0, 1.0], [2.0, 4.0]]))
    >>> u
    Tensor([[2.0, 4.0],
            [0.0, 1.0]], requires_grad=False)
    """
    compact, pivots, _ = _factor("linalg.lu", A, pivot)
    return _unpack(compact, pivots, True, bool(pivot))


@accepts_out
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> LU:
    """P, L and U of what `linalg.lu_factor` returns. P is empty without `unpack_pivots`, L and U without `unpack_data`.

    Raises RuntimeError for pivots that are not int32.

    >>> a = lucid.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> p, l, u = lucid.lu_unpack(*lucid.lu(a))
    >>> lucid.allclose(p @ l @ u, a)
    True
    """
    if unpack_pivots and require_tensor("lu_unpack", LU_pivots).dtype.name != "int32":
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
                           "function is intended to be used with the output produced by torch.linalg.lu_factor")
    return _unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


def _unpack(compact: Tensor, pivots: Tensor, data: bool, permutation: bool) -> LU:
    rows, columns = compact._array.shape[-2:]
    k = min(rows, columns)
    nothing = compact.new_empty(0)
    P = L = U = nothing
    if permutation:
        order = _permutation(pivots, rows=rows)
        P = (arange(rows, device=compact.device).unsqueeze(-1) == order.unsqueeze(-2)).to(compact.dtype)
    if data:
        L = tril(compact.narrow(-1, 0, k), -1) + eye(rows, k, dtype=compact.dtype, device=compact.device)
        U = triu(compact.narrow(-2, 0, k))
    return LU(P, L, U)


@accepts_out
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with ``A X = B``, or ``X A = B`` without `left`, for A given by `lu_factor`; with `adjoint` for A^H in its place.

    `B` is (..., n, k), or (..., k, n) without `left`; batches are broadcast. Raises RuntimeError for shapes and dtypes that do
    not fit.

    >>> factors, pivots = lucid.linalg.lu_factor(lucid.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> lucid.linalg.lu_solve(factors, pivots, lucid.tensor([[2.0], [2.0]]))
    Tensor([[1.0],
            [0.5]], requires_grad=False)
    """
    name = "linalg.lu_solve"
    require_equal_sides(f"torch.{name}", LU)
    require_inexact(name, LU)
    if require_tensor(name, pivots).dtype.name != "int32":
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if pivots._array.shape[-1:] != LU._array.shape[-1:]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots._array.shape[:-1] != LU._array.shape[:-2]:
        raise RuntimeError(f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} instead")
    require_one_dtype(name, LU, B, "LU")
    require_rank(name, B, "B")
    require_lapack_dtype("lu_solve_cpu", LU)
    factors, right = matching_batches(name, LU, B, left)
    n = factors._array.shape[-1]
    order = _permutation(pivots, rows=n).expand(*factors._array.shape[:-2], n)
    if left:
        return _solve(factors, order, right, adjoint)
    turned = _solve(factors, order, right.mT.conj() if right.is_complex() else right.mT, not adjoint)
    return turned.mT.conj() if turned.is_complex() else turned.mT


def _solve(factors: Tensor, order: Tensor, b: Tensor, turned: bool) -> Tensor:
    if not turned:
        half = solve_triangle(factors, _take_rows(b, order), upper=False, unitriangular=True)
        return solve_triangle(factors, half, upper=True)
    other = adjoint(factors)
    half = solve_triangle(other, b, upper=False)
    return _take_rows(solve_triangle(other, half, upper=True, unitriangular=True), argsort(order, -1))


@accepts_out
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """`linalg.lu_solve` with the arguments of old.

    >>> a, b = lucid.tensor([[2.0, 0.0], [0.0, 4.0]]), lucid.tensor([[2.0], [2.0]])
    >>> lucid.lu_solve(b, *lucid.lu(a))
    Tensor([[1.0],
            [0.5]], requires_grad=False)
    """
    return linalg_lu_solve(LU_data, LU_pivots, input)


@accepts_out
def torch_lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """The factors and pivots of `linalg.lu_factor`; with `get_infos` what `linalg.lu_factor_ex` returns, and no error.

    >>> factors, pivots = lucid.lu(lucid.tensor([[0.0, 1.0], [2.0, 4.0]]))
    >>> factors, pivots
    (Tensor([[2.0, 4.0],
            [0.0, 1.0]], requires_grad=False), Tensor([2, 2], dtype=int32, requires_grad=False))
    """
    return tuple(lu_factor_ex(A, pivot=pivot) if get_infos else lu_factor(A, pivot=pivot))


SPECIAL_METHODS = {"lu": torch_lu.without_out}


register(__name__)
