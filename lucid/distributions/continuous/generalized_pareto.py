"""The generalised Pareto distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import Real, broadcast_all, uniform


class GeneralizedPareto(Distribution):
    """Excesses over the threshold `loc`: exponential ones of `scale` for ``concentration = 0``, a heavy tail above that, and
    an end at
    ``loc - scale / concentration`` below.

    Example: ``GeneralizedPareto(0.0, 1.0, 0.5).mean`` is 2.

    >>> lucid.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    Tensor(2.0, requires_grad=False)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Real, scale: Real, concentration: Real, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _exponential(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is near 0, and concentrations to divide by."""
        zero = lucid.isclose(self.concentration, lucid.zeros_like(self.concentration))
        return zero, self.concentration.masked_fill(zero, 1.0)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, shape) = self._z(value), self._exponential()
        return lucid.where(zero, -z, -(1 + 1 / shape) * lucid.log1p(shape * z)) - lucid.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, shape) = self._z(value), self._exponential()
        return lucid.where(zero, -z, -lucid.log1p(shape * z) / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return lucid.log1p(-lucid.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return lucid.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, shape = self._exponential()
        log_survival = lucid.log1p(-value)
        z = lucid.where(zero, -log_survival, lucid.expm1(-shape * log_survival) / shape)
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        """NaN for concentrations from 1 on."""
        finite = self.concentration < 1
        shape = self.concentration.masked_fill(~finite, 0.5)
        return lucid.where(finite, self.loc + self.scale / (1 - shape), math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN for concentrations from 1/2 on."""
        finite = self.concentration < 0.5
        shape = self.concentration.masked_fill(~finite, 0.25)
        return lucid.where(finite, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    def entropy(self) -> Tensor:
        return (lucid.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        bounded = self.concentration < 0
        end = self.loc - self.scale / self.concentration.masked_fill(~bounded, -1.0)
        return constraints.interval(self.loc, lucid.where(bounded, end, math.inf))
