"""The half-Cauchy distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from ..utils import Real
from .cauchy import Cauchy


class HalfCauchy(TransformedDistribution):
    """The distribution of ``|x|`` for x from ``Cauchy(0, scale)``.

    Example: ``HalfCauchy(1.0).cdf(lucid.tensor(1.0))`` is 0.5.

    >>> lucid.distributions.HalfCauchy(1.0).cdf(lucid.tensor(1.0))
    Tensor(0.5, requires_grad=False)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: Any = True
    base_dist: Cauchy

    def __init__(self, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> HalfCauchy:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution on both sides."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return lucid.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def mode(self) -> Tensor:
        return lucid.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = lucid.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return lucid.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
