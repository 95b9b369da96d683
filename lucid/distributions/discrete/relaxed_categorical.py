"""The relaxed categorical distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..transformed_distribution import TransformedDistribution
from ..transforms import ExpTransform
from ..utils import broadcast_all, clamp_probs, uniform
from .categorical import Categorical


class ExpRelaxedCategorical(Distribution):
    """The logarithms of `RelaxedOneHotCategorical`, of which the density is computed without underflow.

    Source: Maddison, Mnih & Teh, "The concrete distribution", 2017.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # of those whose exponentials sum up to 1
    has_rsample = True

    def __init__(self, temperature: Any, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> ExpRelaxedCategorical:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish(new, Size(batch_shape))

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The logarithms of `probs`."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        u = clamp_probs(uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = lucid.as_tensor(self.temperature, dtype=value.dtype, device=value.device)
        scale = lucid.full_like(temperature, float(count)).lgamma() + temperature.log() * (count - 1)
        score = logits - value.mul(temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of probabilities near those with a single one, the nearer the lower the `temperature`, with differentiable samples.

    Example: ``RelaxedOneHotCategorical(lucid.tensor(0.5), lucid.ones(4)).rsample()`` sums up to 1.

    >>> lucid.distributions.RelaxedOneHotCategorical(0.5, lucid.tensor([0.25, 0.75])).sample().sum().round(decimals=4)
    Tensor(1.0, requires_grad=False)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample: Any = True
    base_dist: ExpRelaxedCategorical

    def __init__(self, temperature: Any, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> RelaxedOneHotCategorical:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self) -> Any:
        """How far from vectors with a single one samples lie."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of `probs`."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs
