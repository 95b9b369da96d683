"""The F-distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import Real, broadcast_all
from .gamma import Gamma, at_least_tiny


class FisherSnedecor(Distribution):
    """The distribution of the quotient of two chi-squared numbers, each divided by its degrees of freedom `df1` and `df2`.

    Example: ``FisherSnedecor(1.0, 4.0).mean`` is 2.

    >>> lucid.distributions.FisherSnedecor(3.0, 4.0).mean
    Tensor(2.0, requires_grad=False)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Real, df2: Real, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> FisherSnedecor:
        new = self._get_checked_instance(FisherSnedecor, _instance)
        batch_shape = Size(batch_shape)
        for name in ("df1", "df2", "_gamma1", "_gamma2"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        return self._finish(new, batch_shape)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        x1, x2 = (gamma.rsample(sample_shape).reshape(shape) for gamma in (self._gamma1, self._gamma2))
        return at_least_tiny(x1 / x2)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * lucid.log(value)
        return normalizer + power - (half1 + half2) * lucid.log1p(ratio * value)
