"""The Kumaraswamy distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import Real, broadcast_all, euler_constant
from .uniform import Uniform


class Kumaraswamy(TransformedDistribution):
    """Like the beta distribution on [0, 1], but with ``cdf(x) = 1 - (1 - x**concentration1)**concentration0``.

    `mode` is NaN where a concentration is below 1. Elsewhere it is the place of the largest density, where PyTorch has NaN.
    Example: ``Kumaraswamy(1.0, 1.0)`` is uniform.

    >>> lucid.distributions.Kumaraswamy(1.0, 1.0).mean
    Tensor(0.5, requires_grad=False)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, concentration1: Real, concentration0: Real, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = lucid.zeros_like(self.concentration0)
        base = Uniform(zeros, zeros + 1, validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
                      PowerTransform(exponent=self.concentration1.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Kumaraswamy:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        for name in ("concentration1", "concentration0"):
            setattr(new, name, getattr(self, name).expand(Size(batch_shape)))
        return super().expand(batch_shape, _instance=new)

    def _moment(self, n: int) -> Tensor:
        """The expectation of ``x ** n``."""
        one, b = 1 + n / self.concentration1, self.concentration0
        return b * lucid.exp(one.lgamma() + b.lgamma() - (one + b).lgamma())

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return mode.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        one1, one0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = lucid.digamma(self.concentration0 + 1) + euler_constant
        return one0 + one1 * harmonic - lucid.log(self.concentration1) - lucid.log(self.concentration0)
