"""The uniform distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..constraints import Constraint
from ..distribution import Distribution
from ..utils import Real, broadcast_all, uniform


class Uniform(Distribution):
    """Numbers of [low, high), each as likely as the others.

    Example: ``Uniform(0.0, lucid.tensor([1.0, 5.0])).mean`` is ``[0.5, 2.5]``.

    >>> lucid.distributions.Uniform(1.0, 3.0).mean, lucid.distributions.Uniform(1.0, 3.0).entropy()
    (Tensor(2.0, requires_grad=False), Tensor(0.6931, requires_grad=False))
    """

    has_rsample = True
    _parameters = {"low": 0, "high": 0}

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Real, high: Real, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        return self.low + uniform(self._extended_shape(sample_shape), self.low) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = ((self.low <= value) & (self.high > value)).type_as(self.low)
        return lucid.log(inside) - lucid.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return lucid.log(self.high - self.low)
