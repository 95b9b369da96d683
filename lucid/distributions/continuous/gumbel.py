"""The Gumbel distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import Real, broadcast_all, euler_constant
from .uniform import Uniform


class Gumbel(TransformedDistribution):
    """The distribution of maxima, with the mode `loc`: ``cdf(x) = exp(-exp(-(x - loc) / scale))``.

    Example: ``Gumbel(1.0, 2.0).mean`` is ``1 + 2 * 0.5772``.

    >>> lucid.distributions.Gumbel(0.0, 1.0).mean
    Tensor(0.5772, requires_grad=False)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = lucid.finfo(self.loc.dtype)
        low, high = limits.tiny, 1 - limits.eps
        base = Uniform(lucid.full_like(self.loc, low), lucid.full_like(self.loc, high), validate_args=validate_args)
        # -log(-log(u)), which the signs of two affine transforms tell.
        transforms = [ExpTransform().inv, AffineTransform(loc=0, scale=-lucid.ones_like(self.scale)), ExpTransform().inv,
                      AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Gumbel:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = (parameter.expand(Size(batch_shape)) for parameter in (self.loc, self.scale))
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
