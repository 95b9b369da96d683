"""Eigenvalues and eigenvectors, for stacks of matrices."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import is_differentiated, require_tensor
from .._out import accepts_out
from ..conversion import real
from ..creation.creation import eye
from ..elementwise.arithmetic import conjugate
from .matrices import adjoint, all_gradients, require_equal_sides, require_lapack_dtype
from .solve import solve_columns


class Eig(NamedTuple):
    """What `linalg.eig` and `linalg.eigh` return."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def _inner(g: Any, values: Tensor, vectors: Tensor, of_unit_norm: bool) -> Tensor:
    """The gradient in the basis of the eigenvectors: that of the eigenvalues on the diagonal; beside it that of the vectors,
    divided by differences of eigenvalues.
    """
    to_values, to_vectors = all_gradients(g, 2)
    one = eye(values._array.shape[-1], dtype=values.dtype, device=values.device)
    inner = (values * 0 if to_values is None else to_values).unsqueeze(-1) * one
    if to_vectors is None:
        return inner
    turned = adjoint(vectors) @ to_vectors
    if of_unit_norm:  # what would lengthen a vector has no effect
        turned = turned - (adjoint(vectors) @ vectors) * real((turned * one).sum(-2, keepdim=True)).to(turned.dtype)
    else:  # the vectors stay orthonormal, so the gradient of Hermitian matrices is Hermitian
        turned = (turned - adjoint(turned)) / 2
    gaps = conjugate(values.unsqueeze(-2) - values.unsqueeze(-1)) + one
    return inner + turned * (1 - one) / gaps


def _eigh_rule(needs: Any, a: Tensor, *, uplo: str) -> Vjp:
    """Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008."""
    dtype = a.dtype

    def vjp(g: Any, y: Any) -> tuple[Tensor]:
        values, vectors = y
        if not is_composed():
            return (_eigh_grad(values, vectors, *all_gradients(g, 2)),)
        return (vectors @ _inner(g, values, vectors, False).to(dtype) @ adjoint(vectors),)

    return vjp


def _eig_rule(needs: Any, a: Tensor) -> Vjp:
    """Boeddeker, Hanebrink, Drude, Heymann and Haeb-Umbach, "On the computation of complex-valued gradients with application to
    statistically optimum beamforming", 2017.
    """
    split = a.is_complex()

    def vjp(g: Any, y: Any) -> tuple[Tensor]:
        values, vectors = y
        turned = adjoint(vectors)
        gradient = solve_columns(turned, _inner(g, values, vectors, True) @ turned)
        return (gradient if split else real(gradient),)

    return vjp


_eigh = operation("eigh", _eigh_rule, saved_outputs=(0, 1))
_eig = operation("eig", _eig_rule, saved_outputs=(0, 1))
_eigh_grad, _eigvalsh, _eigvals = operation("eigh_grad"), operation("eigvalsh"), operation("eigvals")


def _hermitian_side(input: Tensor, UPLO: str) -> str:
    require_equal_sides("linalg.eigh", input)
    side = UPLO.upper()
    if side not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    require_lapack_dtype("linalg_eigh_cpu", input)
    return side


def _require_general(input: Tensor) -> None:
    require_equal_sides("linalg.eig", input)
    if input._array.dtype.kind not in "fcV":
        raise RuntimeError(f"Unknown Complex ScalarType for {type_name(input.dtype)}")
    require_lapack_dtype("linalg_eig_out_cpu", input)


def _differentiated(input: Tensor) -> bool:
    return is_differentiated(require_tensor("linalg.eig", input))


@accepts_out
def eigh(input: Tensor, UPLO: str = "L") -> Eig:
    """Real, rising eigenvalues (..., n) and orthonormal eigenvectors (..., n, n), in columns, of Hermitian matrices.

    Only the lower triangles, with `UPLO` 'U' the upper ones, are read. Differentiable where the eigenvalues differ, in what does
    not depend on the signs (phases) of the vectors. Raises RuntimeError for a wrong shape or dtype, and LinAlgError, a
    RuntimeError, where the algorithm does not converge.

    >>> lucid.linalg.eigh(lucid.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([1.0, 2.0], requires_grad=False)
    """
    return Eig(*_eigh(input, uplo=_hermitian_side(input, UPLO)))


@accepts_out
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues that `eigh` returns: differentiable everywhere where `eigh` is, and where they coincide.

    >>> lucid.linalg.eigvalsh(lucid.tensor([[2.0, 1.0], [1.0, 2.0]]))
    Tensor([1.0, 3.0], requires_grad=False)
    """
    side = _hermitian_side(input, UPLO)
    result: Tensor = _eigh(input, uplo=side)[0] if _differentiated(input) else _eigvalsh(input, uplo=side)
    return result


@accepts_out
def eig(input: Tensor) -> Eig:
    """Eigenvalues (..., n), in no order, and eigenvectors (..., n, n) of norm 1, in columns: complex, also of real matrices.

    Differentiable where the eigenvalues differ, in what does not depend on the phases of the vectors. Raises RuntimeError for a
    wrong shape or dtype and for inf and NaN. On a GPU it needs cuSOLVER 11.7.1 (CUDA 12.8).

    >>> values, vectors = lucid.linalg.eig(lucid.tensor([[0.0, -1.0], [1.0, 0.0]]))
    >>> values.imag.abs()
    Tensor([1.0, 1.0], requires_grad=False)
    """
    _require_general(input)
    return Eig(*_eig(input))


@accepts_out
def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues that `eig` returns.

    >>> lucid.linalg.eigvals(lucid.tensor([[2.0, 0.0], [0.0, 2.0]]))
    Tensor([2.0+0.0j, 2.0+0.0j], requires_grad=False)
    """
    _require_general(input)
    result: Tensor = _eig(input)[0] if _differentiated(input) else _eigvals(input)
    return result
