"""The Wishart distribution."""
from __future__ import annotations

import math
import warnings
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..constraints import Constraint
from ..continuous.chi2 import Chi2
from ..exp_family import ExponentialFamily
from ..utils import standard_normal
from .multivariate_normal import OfCovariance, given_matrix, half_log_det, scale_tril_of

_LOG_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    steps = lucid.arange(p, dtype=x.dtype, device=x.device) / 2
    return lucid.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(OfCovariance, ExponentialFamily):
    """Positive definite matrices (n, n): sums of the outer products of `df` normal vectors, of one of three matrices (..., n, n).

    - `covariance_matrix`, that of the vectors.
    - `precision_matrix`, its inverse.
    - `scale_tril`, its Cholesky factor.

    `df` is above n - 1, and need not be a whole number; below n matrices may be singular in floating-point numbers, with a
    warning.
    Example: ``Wishart(lucid.tensor(2.0), covariance_matrix=lucid.eye(2)).sample()``.

    >>> lucid.distributions.Wishart(lucid.tensor(3.0), lucid.eye(2)).mean
    Tensor([[3.0, 0.0],
            [0.0, 3.0]], requires_grad=False)
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def __init__(self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        matrices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        if sum(matrix is not None for matrix in matrices.values()) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given_matrix(matrices)
        if isinstance(df, int | float):
            df = lucid.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        batch_shape = lucid.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if not self.df.is_meta and bool((self.df <= event_shape[-1] - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if not self.df.is_meta and bool((self.df < event_shape[-1]).any()):
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                          stacklevel=2)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)
        self._dist_chi2 = self._diagonals(batch_shape)

    def _diagonals(self, batch_shape: Size) -> Chi2:
        """What the squares of the diagonal of Bartlett's factor are drawn from."""
        size = self._event_shape[-1]
        fewer = lucid.arange(size, dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - fewer.expand((*batch_shape, size)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Wishart:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new.df = self.df.expand(batch_shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape + self.event_shape))
        self._finish(new, batch_shape)
        new._dist_chi2 = new._diagonals(batch_shape)
        return new

    @property
    def _matrix_shape(self) -> Size:
        return self._batch_shape + self._event_shape

    @property
    def mean(self) -> Tensor:
        return self.df.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """NaN for `df` up to n + 1."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan).reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self.df.reshape((*self._batch_shape, 1, 1)) * (covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By Bartlett's decomposition: a triangle of normal numbers, with the roots of chi-squared ones on its diagonal."""
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        below = standard_normal(self._extended_shape(sample_shape), self._unbroadcasted_scale_tril).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (diagonal + below)
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Tensor:  # noqa: B008
        """Matrices that rounding made singular are drawn again, `max_try_correction` times, by default 3, and 10 of
        up to two rows; those that stay singular are returned.
        """
        if max_try_correction is None:
            max_try_correction = 3 if self._event_shape[0] > 2 else 10
        sample = self._bartlett_sampling(sample_shape)
        for attempt in range(max_try_correction):
            if sample.is_meta or bool((good := self.support.check(sample)).all()):
                break
            if attempt == 0:
                warnings.warn("Singular sample detected.", stacklevel=2)
            sample = lucid.where(good.unsqueeze(-1).unsqueeze(-1), sample, self._bartlett_sampling(sample_shape))
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, size = self.df, self._event_shape[-1]
        solved = lucid.cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (-nu * (size * _LOG_2 / 2 + half_log_det(self._unbroadcasted_scale_tril)) - lucid.mvlgamma(nu / 2, p=size)
                + (nu - size - 1) / 2 * lucid.linalg.slogdet(value).logabsdet - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2)

    def entropy(self) -> Tensor:
        nu, size = self.df, self._event_shape[-1]
        half = half_log_det(self._unbroadcasted_scale_tril)
        return ((size + 1) * (size * _LOG_2 / 2 + half) + lucid.mvlgamma(nu / 2, p=size)
                - (nu - size - 1) / 2 * _mvdigamma(nu / 2, p=size) + nu * size / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        return ((y + (size + 1) / 2) * (-lucid.linalg.slogdet(-2 * x).logabsdet + _LOG_2 * size)
                + lucid.mvlgamma(y + (size + 1) / 2, p=size))
