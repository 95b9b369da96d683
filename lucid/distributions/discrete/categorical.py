"""The categorical distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property, logits_to_probs, probs_to_logits
from .bernoulli import one_of


class Categorical(Distribution):
    """One of the numbers from 0 to K - 1, with the weights `probs` or the unnormalised logarithms `logits`, (..., K).

    Samples are int64, of the shape ``sample_shape + batch_shape``. The attributes `probs` and `logits` are normalised.
    Example: ``Categorical(lucid.tensor([0.25, 0.25, 0.5])).sample((10,))``.

    >>> die = lucid.distributions.Categorical(lucid.tensor([1.0, 1.0, 2.0]))
    >>> die.probs, die.sample((1000,)).unique()
    (Tensor([0.25, 0.25, 0.50], requires_grad=False), Tensor([0, 1, 2], requires_grad=False))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _parameters = {"probs": 1, "logits": 1}
    _kept = ("_by_probs", "_num_events")

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        if probs is not None:
            if probs.ndim < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            assert logits is not None
            if logits.ndim < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._by_probs = probs is not None
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        """The parameter that was given."""
        return self.__dict__["probs" if self._by_probs else "logits"]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of `probs`."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._param.shape

    def _missing(self) -> Tensor:
        return lucid.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mean(self) -> Tensor:
        """NaN: the numbers are names."""
        return self._missing()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN: the numbers are names."""
        return self._missing()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            count = Size(sample_shape).numel()
            rows = self.probs.reshape(-1, self._num_events)
            if count == 0:
                return lucid.empty(self._extended_shape(sample_shape), dtype=lucid.int64, device=rows.device)
            return lucid.multinomial(rows, count, True).T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, logits = value.long(), self.logits
        shape = value.shape
        if shape != logits.shape[:-1]:
            shape = lucid.broadcast_shapes(shape, logits.shape[:-1])
            value, logits = value.expand(shape), logits.expand((*shape, logits.shape[-1]))
        return logits.gather(-1, value.unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -(self.logits.clamp(min=lucid.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = lucid.arange(self._num_events, dtype=lucid.int64, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
