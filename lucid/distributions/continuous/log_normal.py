"""The log-normal distribution."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import ExpTransform
from ..utils import Real
from .normal import Normal


class LogNormal(TransformedDistribution):
    """The distribution of ``exp(x)`` for x from ``Normal(loc, scale)``.

    Example: ``LogNormal(0.0, 1.0).mean`` is ``exp(0.5)``.

    >>> lucid.distributions.LogNormal(0.0, 1.0).mean
    Tensor(1.6487, requires_grad=False)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample: Any = True
    base_dist: Normal

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> LogNormal:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
