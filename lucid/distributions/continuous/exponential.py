"""The exponential distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import Real, broadcast_all


class Exponential(ExponentialFamily):
    """Waiting times of mean ``1 / rate``.

    Example: ``Exponential(lucid.tensor([1.0, 2.0])).mean`` is ``[1.0, 0.5]``.

    >>> lucid.distributions.Exponential(2.0).mean, lucid.distributions.Exponential(2.0).cdf(lucid.tensor(0.5))
    (Tensor(0.5, requires_grad=False), Tensor(0.6321, requires_grad=False))
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"rate": 0}

    def __init__(self, rate: Real, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return lucid.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - lucid.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -lucid.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - lucid.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -lucid.log(-x)
