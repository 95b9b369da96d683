"""The categorical distribution of vectors with a single one."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from .categorical import Categorical

_one_hot = lucid.nn.functional.one_hot


class OneHotCategorical(Distribution):
    """Vectors of zeros and a single one, at a place with the weights `probs` or the unnormalised logarithms `logits`, (..., K).

    Example: ``OneHotCategorical(lucid.ones(4)).sample()`` is a vector like ``[0, 0, 1, 0]``.

    >>> lucid.distributions.OneHotCategorical(lucid.tensor([0.0, 1.0, 0.0])).sample()
    Tensor([0.0, 1.0, 0.0], requires_grad=False)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish(new, Size(batch_shape))

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of `probs`."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        probs = self._categorical.probs
        return _one_hot(probs.argmax(dim=-1), num_classes=probs.shape[-1]).to(probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self._categorical.probs * (1 - self._categorical.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        indices = self._categorical.sample(sample_shape)
        return _one_hot(indices, self._categorical._num_events).to(self._categorical.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = lucid.eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((count,) + (1,) * len(self.batch_shape) + (count,))
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with samples whose gradients go to `probs` as if a sample were these.

    Source: Bengio, Léonard & Courville, "Estimating or propagating gradients through stochastic neurons", 2013.

    >>> probs = lucid.tensor([0.0, 1.0, 0.0], requires_grad=True)
    >>> lucid.distributions.OneHotCategoricalStraightThrough(probs).rsample()
    Tensor([0.0, 1.0, 0.0], requires_grad=True)
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())
