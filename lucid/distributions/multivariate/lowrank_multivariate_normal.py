"""The multivariate normal distribution of a covariance of low rank and a diagonal."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property, standard_normal
from .multivariate_normal import LOG_TAU, half_log_det, mahalanobis

_solve = lucid.linalg.solve_triangular


def capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of the capacitance matrix ``I + W^T D^-1 W`` (..., m, m)."""
    capacitance = (factor.mT / diagonal.unsqueeze(-2)) @ factor
    return lucid.linalg.cholesky(capacitance + lucid.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device))


def lowrank_log_det(diagonal: Tensor, capacitance: Tensor) -> Tensor:
    """``log det (W W^T + D)``, by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance) + diagonal.log().sum(-1)


def lowrank_mahalanobis(factor: Tensor, diagonal: Tensor, difference: Tensor, capacitance: Tensor) -> Tensor:
    """``x^T (W W^T + D)^-1 x``, by Woodbury's identity."""
    projected = ((factor.mT / diagonal.unsqueeze(-2)) @ difference.unsqueeze(-1)).squeeze(-1)
    return (difference.pow(2) / diagonal).sum(-1) - mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors of n numbers with the covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    `loc` is (..., n), `cov_factor` (..., n, m), `cov_diag` (..., n). For m below n the densities take m by m systems only.
    Example: ``LowRankMultivariateNormal(lucid.zeros(2), lucid.ones(2, 1), lucid.ones(2)).sample()``.

    >>> normal = lucid.distributions.LowRankMultivariateNormal(lucid.zeros(2), lucid.ones(2, 1), lucid.ones(2))
    >>> normal.covariance_matrix
    Tensor([[2.0, 1.0],
            [1.0, 2.0]], requires_grad=False)
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.ndim < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = lucid.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                             f"{cov_diag.shape}") from error
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @property
    def _matrix_shape(self) -> Size:
        return self._batch_shape + self._event_shape + self._event_shape

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance: the root of the diagonal times that of what is left without it."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / root
        identity = lucid.eye(self._event_shape[0], dtype=factor.dtype, device=factor.device)
        return (root * lucid.linalg.cholesky(factor @ factor.mT + identity)).expand(self._matrix_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return (factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed()).expand(self._matrix_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's identity."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = _solve(self._capacitance_tril, scaled, upper=False)
        precision = self._unbroadcasted_cov_diag.reciprocal().diag_embed() - solved.mT @ solved
        return precision.expand(self._matrix_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        of_factor = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        of_diagonal = standard_normal(shape, self.loc)
        moved = (self._unbroadcasted_cov_factor @ of_factor.unsqueeze(-1)).squeeze(-1)
        return self.loc + moved + self._unbroadcasted_cov_diag.sqrt() * of_diagonal

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        squares = lowrank_mahalanobis(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, value - self.loc,
                                      self._capacitance_tril)
        log_det = lowrank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * LOG_TAU + log_det + squares)

    def entropy(self) -> Tensor:
        log_det = lowrank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + LOG_TAU) + log_det)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
