"""The normal distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...ops.elementwise.fused import fused_if_large
from ...tensor import Size, Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import Real, broadcast_all, standard_normal

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def _density(value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
    z = (value - loc) / scale
    return z * z * -0.5 - lucid.log(scale) - _HALF_LOG_TAU


_log_density = fused_if_large(_density)


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    Example: ``Normal(lucid.tensor([0.0, 1.0]), 2.0).sample((3,))`` has the shape (3, 2).

    >>> normal = lucid.distributions.Normal(0.0, 1.0)
    >>> normal.log_prob(lucid.tensor([0.0, 1.0])), normal.cdf(lucid.tensor(1.96))
    (Tensor([-0.9189, -1.4189], requires_grad=False), Tensor(0.975, requires_grad=False))
    >>> normal.sample((2, 3)).shape
    lucid.Size([2, 3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"loc": 0, "scale": 0}

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return _log_density(value, self.loc, self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + lucid.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * lucid.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + _HALF_LOG_TAU + lucid.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * lucid.log(-math.pi / y)
