"""The inverse gamma distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import PowerTransform
from ..utils import Real
from .gamma import Gamma


class InverseGamma(TransformedDistribution):
    """The distribution of ``1 / x`` for x from ``Gamma(concentration, rate)``.

    Example: ``InverseGamma(2.0, 3.0).mean`` is 3.

    >>> lucid.distributions.InverseGamma(3.0, 2.0).mean
    Tensor(1.0, requires_grad=False)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample: Any = True
    base_dist: Gamma

    def __init__(self, concentration: Real, rate: Real, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(base.rate.new_full((), -1.0)), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> InverseGamma:
        return super().expand(batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Tensor:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution, the scale of this one."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """Infinite for concentrations up to 1."""
        return lucid.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for concentrations up to 2."""
        finite = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return lucid.where(self.concentration > 2, finite, math.inf)

    def entropy(self) -> Tensor:
        return (self.concentration + self.rate.log() + self.concentration.lgamma()
                - (1 + self.concentration) * self.concentration.digamma())
