"""The Bernoulli distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

_bce = lucid.nn.functional.binary_cross_entropy_with_logits


def one_of(probs: Any, logits: Any) -> None:
    """Raise ValueError unless one of the two parametrisations is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class BinaryParameter:
    """The two parametrisations of an event: its probability `probs`, or `logits`, the logarithm of its odds."""

    _by_probs: bool
    _kept: tuple[str, ...] = ("_by_probs",)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    def _set_parameter(self, probs: Any, logits: Any, *others: Any) -> list[Tensor]:
        """Keep the parameter that was given, broadcast with `others`; these are returned."""
        one_of(probs, logits)
        self._by_probs = probs is not None
        *broadcast, parameter = broadcast_all(*others, probs if self._by_probs else logits)
        setattr(self, "probs" if self._by_probs else "logits", parameter)
        return broadcast

    @property
    def _param(self) -> Tensor:
        """The parameter that was given."""
        return self.__dict__["probs" if self._by_probs else "logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._param.shape


class Bernoulli(BinaryParameter, ExponentialFamily):
    """1 with the probability `probs`, or with the log-odds `logits`, else 0.

    Example: ``Bernoulli(lucid.tensor([0.3, 0.9])).sample((4,))`` has the shape (4, 2).

    >>> coin = lucid.distributions.Bernoulli(0.25)
    >>> coin.mean, coin.log_prob(lucid.tensor(1.0)).exp()
    (Tensor(0.25, requires_grad=False), Tensor(0.25, requires_grad=False))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """NaN where both values are as likely."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            return lucid.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_bce(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return _bce(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = lucid.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (lucid.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return lucid.log1p(lucid.exp(x))
