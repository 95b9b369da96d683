"""Student's t-distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import Real, broadcast_all, standard_normal
from .chi2 import Chi2


class StudentT(Distribution):
    """Student's t-distribution of `df` degrees of freedom, multiplied by `scale` and moved to `loc`.

    Example: ``StudentT(2.0).variance`` is infinite, ``StudentT(4.0).variance`` 2.

    >>> lucid.distributions.StudentT(3.0).variance
    Tensor(3.0, requires_grad=False)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Real, loc: Real = 0.0, scale: Real = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> StudentT:
        new = self._get_checked_instance(StudentT, _instance)
        batch_shape = Size(batch_shape)
        for name in ("df", "loc", "scale", "_chi2"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        return self._finish(new, batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        many = self.df.masked_fill(self.df <= 2, 3.0)
        variance = (self.scale.pow(2) * many / (many - 2)).masked_fill(self.df <= 2, math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * (normal * lucid.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + lucid.lgamma(0.5 * self.df)
                      - lucid.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * lucid.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        log_beta = lucid.lgamma(half) + 0.5 * math.log(math.pi) - lucid.lgamma(more)
        return self.scale.log() + more * (lucid.digamma(more) - lucid.digamma(half)) + 0.5 * self.df.log() + log_beta
