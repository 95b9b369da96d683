"""The multinomial distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .binomial import Binomial
from .categorical import Categorical


class Multinomial(Distribution):
    """How often each of K outcomes comes up in `total_count` draws with the weights `probs` or the logarithms `logits`, (..., K).

    `log_prob` takes other totals than `total_count` too, with ``validate_args=False``.
    Example: ``Multinomial(100, lucid.ones(4)).sample()`` is a vector like ``[21, 24, 30, 25]``.

    >>> counts = lucid.distributions.Multinomial(10, lucid.tensor([0.5, 0.5])).sample()
    >>> counts.sum()
    Tensor(10.0, requires_grad=False)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Multinomial:
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self.event_shape)
        return self._finish(new, batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @property
    def logits(self) -> Tensor:
        """The logarithms of `probs`."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            drawn = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
            counts = self.probs.new_zeros(self._extended_shape(sample_shape))
            return counts.scatter_add(-1, drawn, lucid.ones_like(drawn, dtype=counts.dtype))

    def entropy(self) -> Tensor:
        count = self.total_count
        support = self._binomial.enumerate_support(expand=False)[1:]
        ways = lucid.exp(self._binomial.log_prob(support)) * lucid.lgamma(support + 1)
        return count * self._categorical.entropy() - math.lgamma(count + 1) + ways.sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = lucid.lgamma(value.sum(-1) + 1) - lucid.lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)  # 0 * -inf is 0 here
        return ways + (logits * value).sum(-1)
