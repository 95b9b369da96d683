"""The Pareto distribution."""
from __future__ import annotations

from typing import Any

from ...tensor import Size, Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import Real, broadcast_all
from .exponential import Exponential


class Pareto(TransformedDistribution):
    """Numbers from `scale` on, larger than x with the probability ``(scale / x) ** alpha``.

    Example: ``Pareto(1.0, 2.0).mean`` is 2.

    >>> lucid.distributions.Pareto(1.0, 2.0).mean
    Tensor(2.0, requires_grad=False)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Real, alpha: Real, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Pareto:
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = (parameter.expand(Size(batch_shape)) for parameter in (self.scale, self.alpha))
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        """Infinite for `alpha` up to 1."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite for `alpha` up to 2."""
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
