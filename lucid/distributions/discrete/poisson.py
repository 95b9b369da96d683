"""The Poisson distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import broadcast_all


class Poisson(ExponentialFamily):
    """The number of events that happen at the average `rate`; a rate of 0 is allowed.

    Example: ``Poisson(lucid.tensor([4.0, 0.5])).sample()`` has the shape (2,).

    >>> lucid.distributions.Poisson(2.0).log_prob(lucid.tensor([0.0, 1.0, 2.0])).exp()
    Tensor([0.1353, 0.2707, 0.2707], requires_grad=False)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parameters = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            return lucid.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (lucid.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return lucid.exp(x)
