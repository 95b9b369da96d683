"""The half-normal distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from ..utils import Real
from .normal import Normal


class HalfNormal(TransformedDistribution):
    """The distribution of ``|x|`` for x from ``Normal(0, scale)``.

    Example: ``HalfNormal(1.0).mean`` is ``sqrt(2 / pi)``.

    >>> lucid.distributions.HalfNormal(1.0).mean
    Tensor(0.7979, requires_grad=False)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: Any = True
    base_dist: Normal

    def __init__(self, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> HalfNormal:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution on both sides."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return lucid.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

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
