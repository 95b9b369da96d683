"""The negative binomial distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..continuous.gamma import Gamma
from ..distribution import Distribution
from ..utils import lazy_property
from .bernoulli import BinaryParameter

_logsigmoid = lucid.nn.functional.logsigmoid


class NegativeBinomial(BinaryParameter, Distribution):
    """The number of successes, each with the probability `probs` or the log-odds `logits`, before `total_count` failures, which
    need not be a whole number.

    Example: ``NegativeBinomial(3.0, 0.5).mean`` is 3.

    >>> lucid.distributions.NegativeBinomial(2.0, 0.5).mean
    Tensor(2.0, requires_grad=False)
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (total_count,) = self._set_parameter(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * lucid.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / lucid.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        """The rates of the Poisson distributions that it is a mixture of."""
        return Gamma(concentration=self.total_count, rate=lucid.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            return lucid.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self.total_count
        log_prob = count * _logsigmoid(-self.logits) + value * _logsigmoid(self.logits)
        normalizer = -lucid.lgamma(count + value) + lucid.lgamma(1.0 + value) + lucid.lgamma(count)
        return log_prob - normalizer.masked_fill(count + value == 0.0, 0.0)
