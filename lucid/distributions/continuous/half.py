"""Distributions of ``|x|`` for x from one around 0."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from ..utils import Real


class Half(TransformedDistribution):
    """The distribution of ``|x|`` for x from ``whole(0, scale)``, which is as likely to be positive as negative."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: Any = True
    whole: Any  # the class of the distribution on both sides
    base_dist: Any

    def __init__(self, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(self.whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution on both sides."""
        scale: Tensor = self.base_dist.scale
        return scale

    @property
    def mode(self) -> Tensor:
        return lucid.zeros_like(self.scale)

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
