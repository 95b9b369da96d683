"""Determinants, for stacks of matrices."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..autograd.op import Op, Pull
from ..tensor import Tensor
from ._matrices import adjoint, all_gradients, require_lapack_dtype, require_square
from ._out import accepts_out
from .arithmetic import conjugate
from .comparison import where
from .conversion import imag
from .creation import eye
from .linear_algebra_factors import svd
from .linear_algebra_systems import solve_columns

METHODS = ("det", "logdet", "slogdet")


class SlogDet(NamedTuple):
    """What `linalg.slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


def _det_rule(needs: Any, a: Tensor) -> Pull:
    """The gradient is the matrix of cofactors, the determinant times the inverse (Giles, "Collected matrix derivative results
    for forward and reverse mode algorithmic differentiation", 2008); of singular matrices, it comes from their singular values.
    """
    one = eye(a._array.shape[-1], dtype=a.dtype, device=a.device)

    def pull(g: Tensor, y: Tensor) -> tuple[Tensor]:
        singular = (y.detach() == 0).unsqueeze(-1).unsqueeze(-1)
        if a.is_meta or not singular.any():
            return (solve_columns(adjoint(a), _spread(g * conjugate(y)) * one),)
        regular = solve_columns(adjoint(where(singular, one, a)), _spread(g * conjugate(y)) * one)
        return (where(singular, _spread(g) * _conjugate_cofactors(where(singular, a, one)), regular),)

    return pull


def _conjugate_cofactors(a: Tensor) -> Tensor:
    u, s, vh = svd(a)
    n = a._array.shape[-1]
    diagonal = eye(n, dtype=s.dtype, device=s.device) > 0
    others = where(diagonal, 1.0, s.unsqueeze(-2).expand(a._array.shape)).prod(-1)
    phase = _spread(conjugate(_det(u) * _det(vh)))
    return phase * ((u * others.unsqueeze(-2)) @ vh)


def _spread(numbers: Tensor) -> Tensor:
    """A number for each matrix, to multiply its elements with."""
    return numbers.unsqueeze(-1).unsqueeze(-1)


def _slogdet_rule(needs: Any, a: Tensor) -> Pull:
    """Of log(det) = logabsdet + i angle, the differential is tr(A^-1 dA) (Giles, 2008, as above); the angle turns the sign."""
    one = eye(a._array.shape[-1], dtype=a.dtype, device=a.device)

    def pull(g: Any, y: Any) -> tuple[Tensor]:
        to_sign, to_logarithm = all_gradients(g, 2)
        factor = 0.0 if to_logarithm is None else to_logarithm
        if to_sign is not None and a.is_complex():
            factor = factor - imag(conjugate(to_sign) * y[0]) * 1j
        if not isinstance(factor, Tensor):
            return (a * 0,)
        return (solve_columns(adjoint(a), _spread(factor).to(a.dtype) * one),)

    return pull


_det: Op = Op("det", _det_rule, keeps=True)
_slogdet = Op("slogdet", _slogdet_rule, keeps=(0,))


@accepts_out
def linalg_det(A: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n), as (...): 1 of empty matrices.

    Differentiable everywhere; twice for matrices of rank n - 1 at least. Raises RuntimeError for a wrong shape or dtype.
    """
    require_square("linalg.det", A)
    require_lapack_dtype("lu_cpu", A)
    return _det(A)


@accepts_out
def linalg_slogdet(A: Tensor) -> SlogDet:
    """The sign of the determinant (of complex matrices det / abs(det)) and the logarithm of its size: 0 and -inf if it is 0.

    Raises RuntimeError for a wrong shape or dtype.
    """
    require_square("linalg.slogdet", A)
    require_lapack_dtype("lu_cpu", A)
    return SlogDet(*_slogdet(A))


def det(input: Tensor) -> Tensor:
    """`linalg.det`."""
    return linalg_det(input)


@accepts_out
def slogdet(input: Tensor) -> SlogDet:
    """`linalg.slogdet`."""
    return linalg_slogdet(input)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN if that is negative, -inf if it is 0; of complex matrices the principal value."""
    require_square("logdet", input)
    require_lapack_dtype("lu_cpu", input)
    sign, logarithm = _slogdet(input)
    if input.is_complex():
        return sign.log() + logarithm
    return where(sign == -1, math.nan, logarithm)
