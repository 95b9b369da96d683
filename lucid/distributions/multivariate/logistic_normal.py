"""The logistic-normal distribution."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import constraints
from ..continuous.normal import Normal
from ..independent import Independent
from ..transformed_distribution import TransformedDistribution
from ..transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Vectors of n + 1 probabilities, made by `StickBreakingTransform` of n normal numbers of `loc` and `scale`, (..., n).

    Example: ``LogisticNormal(lucid.zeros(3), lucid.ones(3)).sample()`` has 4 numbers, which sum up to 1.

    >>> sample = lucid.distributions.LogisticNormal(lucid.zeros(2), lucid.ones(2)).sample()
    >>> sample.shape, sample.sum().round(decimals=4)
    (lucid.Size([3]), Tensor(1.0, requires_grad=False))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample: Any = True
    base_dist: Independent[Normal]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> LogisticNormal:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale
