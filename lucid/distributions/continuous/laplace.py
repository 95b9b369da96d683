"""The Laplace distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import Real, broadcast_all, uniform


class Laplace(Distribution):
    """The Laplace distribution of mean `loc`: exponential of the rate ``1 / scale`` on both sides.

    Example: ``Laplace(0.0, 1.0).log_prob(lucid.tensor(0.0))`` is ``-log(2)``.

    >>> lucid.distributions.Laplace(0.0, 1.0).log_prob(lucid.tensor([0.0, 1.0])).exp()
    Tensor([0.5000, 0.1839], requires_grad=False)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
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
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        eps = lucid.finfo(self.loc.dtype).eps
        u = uniform(self._extended_shape(sample_shape), self.loc) * (2 - eps) + (eps - 1)  # above -1, where it would be infinite
        return self.loc - self.scale * u.sign() * lucid.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -lucid.log(2 * self.scale) - lucid.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * lucid.expm1(-apart.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * lucid.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + lucid.log(2 * self.scale)
