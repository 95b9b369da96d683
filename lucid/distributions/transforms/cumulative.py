"""The distribution function of a distribution as a transform."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import constraints
from ..constraints import Constraint
from .base import Transform


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``, uniform on [0, 1] for x from `distribution`, a distribution of numbers; `inv` is its `icdf`.

    Example, a Gaussian copula of beta margins, from ``x = MultivariateNormal(...).rsample()``::

        to_uniform = CumulativeDistributionTransform(Normal(0.0, 1.0))
        from_uniform = CumulativeDistributionTransform(Uniform(0.0, 2.0)).inv
        y = from_uniform(to_uniform(x))

    >>> lucid.distributions.CumulativeDistributionTransform(lucid.distributions.Normal(0.0, 1.0))(lucid.tensor([0.0, 1.96]))
    Tensor([0.500, 0.975], requires_grad=False)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint | None:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
