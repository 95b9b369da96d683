"""The Weibull distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import Real, broadcast_all, euler_constant
from .exponential import Exponential


class Weibull(TransformedDistribution):
    """Waiting times, longer than x with the probability ``exp(-(x / scale) ** concentration)``.

    Example: ``Weibull(2.0, 1.0)`` is exponential, of the rate 1/2.

    >>> lucid.distributions.Weibull(1.0, 1.0).mean
    Tensor(1.0, requires_grad=False)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Real, concentration: Real, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(lucid.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Weibull:
        new = self._get_checked_instance(Weibull, _instance)
        for name in ("scale", "concentration", "concentration_reciprocal"):
            setattr(new, name, getattr(self, name).expand(Size(batch_shape)))
        base = self.base_dist.expand(Size(batch_shape))
        transforms = [PowerTransform(exponent=new.concentration_reciprocal), AffineTransform(loc=0, scale=new.scale)]
        TransformedDistribution.__init__(new, base, transforms, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * lucid.exp(lucid.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        square = lucid.exp(2 * lucid.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (lucid.exp(lucid.lgamma(1 + 2 * self.concentration_reciprocal)) - square)

    def entropy(self) -> Tensor:
        return euler_constant * (1 - self.concentration_reciprocal) + lucid.log(self.scale * self.concentration_reciprocal) + 1
