"""Transforms to matrices: Cholesky factors, correlations, positive definite ones."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .base import Transform

_pad, _softplus = lucid.nn.functional.pad, lucid.nn.functional.softplus


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal, the exponentials of what stood there. Not bijective.

    >>> lucid.distributions.LowerCholeskyTransform()(lucid.tensor([[0.0, 5.0], [2.0, 1.0]]))
    Tensor([[1.0000, 0.0000],
            [2.0000, 2.7183]], requires_grad=False)
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, whose Cholesky factors `LowerCholeskyTransform` gives. Not bijective.

    >>> lucid.distributions.PositiveDefiniteTransform()(lucid.tensor([[0.0, 5.0], [2.0, 0.0]]))
    Tensor([[1.0, 2.0],
            [2.0, 5.0]], requires_grad=False)
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(lucid.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors (..., D (D - 1) / 2) to Cholesky factors (..., D, D) of correlation matrices.

    The hyperbolic tangents of the vector fill the triangle below the diagonal row by row, where each is the part that its column
    takes of what the columns before have left of the row's length 1 (Lewandowski, Kurowicka & Joe, 2009).

    >>> factor = lucid.distributions.CorrCholeskyTransform()(lucid.tensor([0.5, 0.0, -0.5]))
    >>> factor.shape, factor.norm(dim=1)
    (lucid.Size([3, 3]), Tensor([1.0, 1.0, 1.0], requires_grad=False))
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = lucid.tanh(x)
        eps = lucid.finfo(x.dtype).eps
        parts = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - parts**2).sqrt().cumprod(-1)
        whole = parts + lucid.eye(parts.shape[-1], dtype=parts.dtype, device=parts.device)
        return whole * _pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = _pad((1 - lucid.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        parts = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (parts.log1p() - parts.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # Of the triangle, what each element left for those of its row that follow; and the tangents.
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + _softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        side = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], side, side))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))
