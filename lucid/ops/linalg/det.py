"""Determinants, for stacks of matrices."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...autograd.calls import operation, single_op
from ...autograd.grad_mode import is_composed
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._methods import register
from .._out import accepts_out
from ..conversion import imag
from ..creation.creation import eye
from ..elementwise.arithmetic import conjugate
from ..elementwise.where import where
from .matrices import adjoint, all_gradients, require_lapack_dtype, require_square
from .qr_svd import svd
from .solve import solve_columns

METHODS = ("det", "logdet", "slogdet")


class SlogDet(NamedTuple):
    """What `linalg.slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


def _det_rule(needs: Any, a: Tensor) -> Vjp:
    """The gradient is the conjugate matrix of cofactors: the determinant times the inverse (Giles, "Collected matrix derivative
    results for forward and reverse mode algorithmic differentiation", 2008), unless a matrix of the stack is nearly singular.
    """
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        if not is_composed():
            return (_det_grad(a, y, g),)
        if a.is_meta or not _nearly_singular(a):
            one = eye(a._array.shape[-1], dtype=a.dtype, device=a.device)
            return (solve_columns(adjoint(a), _spread(g * conjugate(y)) * one),)
        return (_spread(g) * _cofactors(a),)

    return vjp


def _cofactors_rule(needs: Any, a: Tensor) -> Vjp:
    """In the bases of the singular vectors, where the matrix is diagonal, the differential of a cofactor on the diagonal is a sum
    of differentials times products of all singular values but two, of any other minus one of them: no division, at any rank.
    """
    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        u, s, vh = svd(a)
        one = eye(a._array.shape[-1], device=a.device) > 0
        either = one.unsqueeze(-2) | one.unsqueeze(-3)  # (i, j, k): k is i or j
        others = where(either, 1.0, s.unsqueeze(-2).unsqueeze(-2)).prod(-1)
        others = where(one, 0.0, others).to(a.dtype) * _spread(_det(u) * _det(vh))
        inner = adjoint(u) @ g @ adjoint(vh)
        diagonal = others @ inner.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
        return (u @ conjugate(where(one, diagonal, -others * inner.mT)) @ vh,)

    return vjp


def _spread(numbers: Tensor) -> Tensor:
    """A number for each matrix, to multiply its elements with."""
    return numbers.unsqueeze(-1).unsqueeze(-1)


def _slogdet_rule(needs: Any, a: Tensor) -> Vjp:
    """Of log(det) = logabsdet + i angle, the differential is tr(A^-1 dA) (Giles, 2008, as above); the angle turns the sign."""
    def vjp(g: Any, y: Any) -> tuple[Tensor]:
        to_sign, to_logarithm = all_gradients(g, 2)
        factor = 0.0 if to_logarithm is None else to_logarithm
        if to_sign is not None and a.is_complex():
            factor = factor - imag(conjugate(to_sign) * y[0]) * 1j
        if not isinstance(factor, Tensor):
            return (a * 0,)
        if not is_composed():
            return (_slogdet_grad(a, factor),)
        one = eye(a._array.shape[-1], dtype=a.dtype, device=a.device)
        return (solve_columns(adjoint(a), _spread(factor).to(a.dtype) * one),)

    return vjp


_det: Op = single_op("det", _det_rule, saved_outputs=True)
_cofactors: Op = single_op("cofactors", _cofactors_rule)
_slogdet = operation("slogdet", _slogdet_rule, saved_outputs=(0,))
_det_grad, _slogdet_grad, _nearly_singular = operation("det_grad"), operation("slogdet_grad"), operation("nearly_singular")


@accepts_out
def linalg_det(A: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n), as (...): 1 of empty matrices.

    Differentiable twice everywhere, any number of times where it is not 0. Raises RuntimeError for a wrong shape or dtype.

    >>> lucid.linalg.det(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor(-2.0, requires_grad=False)
    """
    require_square("linalg.det", A)
    require_lapack_dtype("lu_cpu", A)
    return _det(A)


@accepts_out
def linalg_slogdet(A: Tensor) -> SlogDet:
    """The sign of the determinant (of complex matrices det / abs(det)) and the logarithm of its size: 0 and -inf if it is 0.

    Raises RuntimeError for a wrong shape or dtype.

    >>> lucid.linalg.slogdet(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
    SlogDet(sign=Tensor(-1.0, requires_grad=False), logabsdet=Tensor(0.6931, requires_grad=False))
    """
    require_square("linalg.slogdet", A)
    require_lapack_dtype("lu_cpu", A)
    return SlogDet(*_slogdet(A))


def det(input: Tensor) -> Tensor:
    """`linalg.det`.

    >>> lucid.linalg.det(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor(-2.0, requires_grad=False)
    """
    return linalg_det(input)


@accepts_out
def slogdet(input: Tensor) -> SlogDet:
    """`linalg.slogdet`.

    >>> lucid.linalg.slogdet(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
    SlogDet(sign=Tensor(-1.0, requires_grad=False), logabsdet=Tensor(0.6931, requires_grad=False))
    """
    return linalg_slogdet(input)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN if that is negative, -inf if it is 0; of complex matrices the principal value.

    >>> lucid.logdet(lucid.tensor([[2.0, 0.0], [0.0, 0.5]]))
    Tensor(0.0, requires_grad=False)
    """
    require_square("logdet", input)
    require_lapack_dtype("lu_cpu", input)
    sign, logarithm = _slogdet(input)
    if input.is_complex():
        return sign.log() + logarithm
    return where(sign == -1, math.nan, logarithm)


register(__name__)
