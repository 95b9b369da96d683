"""Divergences of multivariate normal distributions, with covariances of low rank too."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Tensor
from ..multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal, lowrank_log_det, lowrank_mahalanobis
from ..multivariate.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from .registry import register_kl

_solve = lucid.linalg.solve_triangular


def _check(p: Any, q: Any, what: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


def _log_det(p: Any) -> Tensor:
    if isinstance(p, MultivariateNormal):
        return 2 * half_log_det(p._unbroadcasted_scale_tril)
    return lowrank_log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)


def _root(p: Any) -> tuple[Tensor, ...]:
    """Matrices whose products with their transposes sum up to the covariance."""
    if isinstance(p, MultivariateNormal):
        return (p._unbroadcasted_scale_tril,)
    return p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()


def _sum_of_squares(factor: Tensor, columns: Tensor) -> Tensor:
    """That of ``L^-1 C``, for batches that are broadcast."""
    batch = lucid.broadcast_shapes(factor.shape[:-2], columns.shape[:-2])
    factor, columns = (matrix.expand((*batch, *matrix.shape[-2:])) for matrix in (factor, columns))
    return _solve(factor, columns, upper=False).pow(2).sum((-2, -1))


def _squares(q: Any, columns: Tensor) -> Tensor:
    """The trace of ``C^T S^-1 C`` for the covariance S of q and matrices C of `columns`."""
    if isinstance(q, MultivariateNormal):
        factor = q._unbroadcasted_scale_tril
        return _sum_of_squares(factor, columns)
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    projected = (factor.mT / diagonal.unsqueeze(-2)) @ columns
    return (columns.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1)) - _sum_of_squares(q._capacitance_tril, projected)


def _divergence(p: Any, q: Any) -> Tensor:
    apart = q.loc - p.loc
    if isinstance(q, MultivariateNormal):
        distance = mahalanobis(q._unbroadcasted_scale_tril, apart)
    else:
        distance = lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, apart, q._capacitance_tril)
    trace = sum(_squares(q, root) for root in _root(p))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check(p, q, "Multivariate Normals")
    return _divergence(p, q)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _with_one_of_low_rank(p: Any, q: Any) -> Tensor:
    _check(p, q, "(Low Rank) Multivariate Normals")
    return _divergence(p, q)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _lowrank_multivariate_normal(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check(p, q, "Low Rank Multivariate Normals")
    return _divergence(p, q)
