"""The binomial distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from .bernoulli import BinaryParameter


def _positive_part(x: Tensor) -> Tensor:
    """The larger of 0 and x, with the gradient 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(BinaryParameter, Distribution):
    """The number of successes of `total_count` trials, each with the probability `probs`, or the log-odds `logits`.

    Example: ``Binomial(100, lucid.tensor([0.0, 0.2])).mean`` is ``[0, 20]``.

    >>> lucid.distributions.Binomial(2, 0.5).log_prob(lucid.tensor([0.0, 1.0, 2.0])).exp()
    Tensor([0.25, 0.50, 0.25], requires_grad=False)
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (total_count,) = self._set_parameter(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return lucid.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with lucid.no_grad():
            return lucid.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count, logits = self.total_count, self.logits
        ways = lucid.lgamma(count + 1) - lucid.lgamma(value + 1) - lucid.lgamma(count - value + 1)
        # k * log(p) + (n - k) * log(1 - p) of log-odds, which overflow nowhere.
        normalizer = count * _positive_part(logits) + count * lucid.log1p(lucid.exp(-lucid.abs(logits)))
        return value * logits + ways - normalizer

    def _one_count(self, function: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{function}`.")
        return count

    def entropy(self) -> Tensor:
        """Of one `total_count` for the whole batch. Raises NotImplementedError for others."""
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(lucid.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """For one `total_count` for the whole batch. Raises NotImplementedError for others."""
        count = self._one_count("enumerate_support")
        values = lucid.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
