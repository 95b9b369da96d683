"""The relaxed Bernoulli distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..transformed_distribution import TransformedDistribution
from ..transforms import SigmoidTransform
from ..utils import broadcast_all, clamp_probs, uniform
from .bernoulli import BinaryParameter


class LogitRelaxedBernoulli(BinaryParameter, Distribution):
    """The logits of `RelaxedBernoulli`, of which the density is computed without overflow.

    Source: Maddison, Mnih & Teh, "The concrete distribution", 2017.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parameters = {"probs": 0, "logits": 0}
    _kept = ("_by_probs", "temperature")

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        probs = clamp_probs(self.probs)
        u = clamp_probs(uniform(self._extended_shape(sample_shape), probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        temperature = lucid.as_tensor(self.temperature, dtype=value.dtype, device=value.device)
        return temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1) near 0 and 1, the nearer the lower the `temperature`, with differentiable samples, in the place of
    ``Bernoulli(probs)``, or ``Bernoulli(logits=logits)``.

    Example: ``RelaxedBernoulli(lucid.tensor(2.2), lucid.tensor([0.1, 0.9])).rsample()`` has the shape (2,).

    >>> sample = lucid.distributions.RelaxedBernoulli(0.1, lucid.tensor(0.5)).sample()
    >>> bool(0 <= sample <= 1)
    True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample: Any = True
    base_dist: LogitRelaxedBernoulli

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> RelaxedBernoulli:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Any:
        """How far from 0 and 1 numbers lie."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs
