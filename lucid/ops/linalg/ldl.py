"""Factorization of symmetric and Hermitian matrices that need not be positive definite, and systems solved by it."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.calls import operation
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import is_any_true, require_tensor
from .._out import accepts_out
from ..manipulation.broadcasting import broadcast_shapes
from .matrices import require_inexact, require_lapack_dtype


class LDLFactor(NamedTuple):
    """What `linalg.ldl_factor` returns."""

    LD: Tensor
    pivots: Tensor


class LDLFactorEx(NamedTuple):
    """What `linalg.ldl_factor_ex` returns."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


def _refusing(name: str) -> Any:
    def rule(needs: Any, *inputs: Any, **attributes: Any) -> Vjp:
        def vjp(g: Any, y: Any) -> Any:
            raise RuntimeError(f"derivative for {name} is not implemented")

        return vjp

    return rule


_ldl_factor = operation("ldl_factor", _refusing("linalg_ldl_factor_ex"), outputs=(0,))
_ldl_solve = operation("ldl_solve", _refusing("linalg_ldl_solve"))


@accepts_out
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorEx:
    """`ldl_factor` that reports in `info` the first pivot that is 0, counted from 1, or 0; with `check_errors` it raises.

    >>> lucid.linalg.ldl_factor_ex(lucid.tensor([[4.0, 2.0], [2.0, 3.0]])).info
    Tensor(0, dtype=int32, requires_grad=False)
    """
    name = "torch.linalg.ldl_factor_ex"
    require_inexact(name, require_tensor("linalg_ldl_factor_ex", A))
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-2] != A.shape[-1]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    require_lapack_dtype("ldl_factor_kernel_cpu", A)
    factors = LDLFactorEx(*_ldl_factor(A, hermitian=bool(hermitian)))
    if check_errors and is_any_true(factors.info != 0):
        raise RuntimeError(f"{name}: a pivot is 0: the matrix is singular")
    return factors


@accepts_out
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> LDLFactor:
    """The compact factors of ``A = P L D L.T P.T``, with `hermitian` ``L.mH``, of which the lower triangle of `A` is read: D of
    blocks of 1 or 2 rows, beneath it L, and LAPACK's pivots. No gradient, as in PyTorch. Computed on the host.

    Raises RuntimeError for matrices that are not square, and where a pivot is 0.

    >>> factors, pivots = lucid.linalg.ldl_factor(lucid.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> factors, pivots
    (Tensor([[4.0, 0.0],
            [0.5, 2.0]], requires_grad=False), Tensor([1, 2], dtype=int32, requires_grad=False))
    """
    factors = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return LDLFactor(factors.LD, factors.pivots)


@accepts_out
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solutions of ``A @ X = B`` by what `ldl_factor` returns of `A`. No gradient, as in PyTorch. Computed on the host.

    >>> factors, pivots = lucid.linalg.ldl_factor(lucid.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> lucid.linalg.ldl_solve(factors, pivots, lucid.tensor([[6.0], [5.0]]))
    Tensor([[1.0],
            [1.0]], requires_grad=False)
    """
    name = "torch.linalg.ldl_solve"
    require_inexact(name, LD)
    if LD.ndim < 2 or B.ndim < 2:
        raise IndexError("Dimension out of range: ldl_solve needs stacks of matrices, of at least 2 dimensions")
    if LD.shape[-2] != LD.shape[-1]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {LD.shape[-2]} by {LD.shape[-1]} "
                           "matrices")
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b "
                           f"matrix is {B.shape[-2]} by {B.shape[-1]}")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} instead")
    if pivots.dtype.kind != "i":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype.name}")
    if LD.dtype != B.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {B.dtype.name} and A of type "
                           f"{LD.dtype.name} instead.")
    batch = broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    return _ldl_solve(LD.expand(*batch, *LD.shape[-2:]), pivots.expand(*batch, *pivots.shape[-1:]),
                      B.expand(*batch, *B.shape[-2:]), hermitian=bool(hermitian))
