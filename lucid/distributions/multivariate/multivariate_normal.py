"""The multivariate normal distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property, standard_normal

_solve = lucid.linalg.solve_triangular
LOG_TAU = math.log(2 * math.pi)


def mahalanobis(factor: Tensor, difference: Tensor) -> Tensor:
    """The squares of ``L^-1 x`` summed up, for factors L (..., n, n) and vectors x (..., n), whose batches are broadcast.

    Vectors of one matrix are the columns of one system, so that a factor is read once for all of them.
    """
    if factor.ndim == difference.ndim == 2:
        return _solve(factor, difference.mT, upper=False).pow(2).sum(0)
    size, batch = factor.shape[-1], factor.ndim - 2
    outer = difference.shape[:difference.ndim - 1 - batch] if difference.ndim - 1 > batch else Size()
    inner = difference.shape[len(outer):-1]
    vectors = difference.reshape((outer.numel(), *inner, size)).movedim(0, -1)
    solved = _solve(factor, vectors, upper=False).pow(2).sum(-2)
    return solved.movedim(-1, 0).reshape(outer + solved.shape[:-1])


def half_log_det(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of `precision`: the inverse of that of the matrix turned round, turned round again."""
    flipped = lucid.linalg.cholesky(precision.flip((-2, -1)))
    upper = flipped.flip((-2, -1)).mT
    identity = lucid.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return _solve(upper, identity.expand(precision.shape), upper=False)


def given_matrix(matrices: dict[str, Any]) -> tuple[str, Tensor]:
    """The one of `matrices` that is not None. Raises ValueError unless there is one, and it has two dimensions."""
    given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
    if len(given) != 1:
        raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    ((name, matrix),) = given.items()
    if matrix.ndim < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
    return name, matrix


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance that a `given_matrix` says."""
    if name == "scale_tril":
        return matrix
    return lucid.linalg.cholesky(matrix) if name == "covariance_matrix" else precision_to_scale_tril(matrix)


class OfCovariance(Distribution):
    """What has a covariance by its Cholesky factor; the other two matrices are computed when they are asked for."""

    _unbroadcasted_scale_tril: Tensor
    _matrix_shape: Any

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return (self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT).expand(self._matrix_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return lucid.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape)


class MultivariateNormal(OfCovariance):
    """The normal distribution of vectors of n numbers, of mean `loc` (..., n) and of one of three matrices (..., n, n).

    - `covariance_matrix`, positive definite.
    - `precision_matrix`, its inverse.
    - `scale_tril`, its Cholesky factor, with which no matrix is factored.

    The other two are computed when they are asked for.
    Example: ``MultivariateNormal(lucid.zeros(2), lucid.eye(2)).sample((5,))`` has the shape (5, 2).

    >>> normal = lucid.distributions.MultivariateNormal(lucid.zeros(2), lucid.eye(2))
    >>> normal.sample((5,)).shape, normal.log_prob(lucid.zeros(2))
    (lucid.Size([5, 2]), Tensor(-1.8379, requires_grad=False))
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix({"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                                     "scale_tril": scale_tril})
        batch_shape = lucid.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    @property
    def _matrix_shape(self) -> Size:
        return self._batch_shape + self._event_shape + self._event_shape

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        normal = standard_normal(self._extended_shape(sample_shape), self.loc)
        factor = self._unbroadcasted_scale_tril
        if factor.ndim == 2:  # vectors as the rows of one product
            return self.loc + normal @ factor.mT
        return self.loc + (factor @ normal.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        squares = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_TAU + squares) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + LOG_TAU) + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
