"""The gamma distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...ops.random.pathwise import standard_gamma
from ...tensor import Size, Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import Real, broadcast_all


def at_least_tiny(value: Tensor) -> Tensor:
    """`value` without zeros, whose inverses and logarithms are infinite; gradients are those of `value`."""
    least = lucid.finfo(value.dtype).tiny
    if not value.requires_grad:
        return value.clamp(min=least)  # in half of the time
    value.detach().clamp_(min=least)
    return value


class Gamma(ExponentialFamily):
    """The gamma distribution of the shape `concentration` and of `rate`: its mean is their quotient.

    Gradients of `rsample` go to both; that for `concentration` is implicit (`lucid.ops.random.pathwise`).
    Example: ``Gamma(lucid.tensor([1.0, 3.0]), 2.0).rsample((5,))`` has the shape (5, 2).

    >>> lucid.distributions.Gamma(3.0, 2.0).mean, lucid.distributions.Gamma(3.0, 2.0).variance
    (Tensor(1.5, requires_grad=False), Tensor(0.75, requires_grad=False))
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Real, rate: Real, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shapes = self.concentration
        if sample_shape:
            shapes = shapes.expand(self._extended_shape(sample_shape))
        return at_least_tiny(standard_gamma(shapes) / self.rate)

    def log_prob(self, value: Any) -> Tensor:
        shapes, rate = self.concentration, self.rate
        if value.__class__ is not Tensor or value.dtype != rate.dtype or value.device != rate.device:
            value = lucid.as_tensor(value, dtype=rate.dtype, device=rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return shapes * rate.log() + lucid.xlogy(shapes - 1, value) - rate * value - lucid.lgamma(shapes)

    def entropy(self) -> Tensor:
        return (self.concentration - lucid.log(self.rate) + lucid.lgamma(self.concentration)
                + (1.0 - self.concentration) * lucid.digamma(self.concentration))

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return lucid.special.gammainc(self.concentration, self.rate * value)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return lucid.lgamma(x + 1) + (x + 1) * lucid.log(-y.reciprocal())
