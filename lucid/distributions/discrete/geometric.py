"""The geometric distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all, uniform
from .bernoulli import BinaryParameter

_bce = lucid.nn.functional.binary_cross_entropy_with_logits


class Geometric(BinaryParameter, Distribution):
    """The number of failures before the first success, which has the probability `probs`, or the log-odds `logits`.

    Unlike `Tensor.geometric_`, which counts the success too, it begins at 0. Raises ValueError for probabilities of 0.
    Example: ``Geometric(0.25).mean`` is 3.

    >>> lucid.distributions.Geometric(0.5).log_prob(lucid.tensor([0.0, 1.0, 2.0])).exp()
    Tensor([0.500, 0.250, 0.125], requires_grad=False)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and self._by_probs and not self.probs.is_meta:
            valid = self.probs > 0
            if not valid.all():
                raise ValueError(f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                                 f"to be positive but found invalid values:\n{self.probs[~valid]}")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return lucid.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            u = uniform(self._extended_shape(sample_shape), self.probs).clamp(min=lucid.finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 * log(0) is 0 here
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return _bce(self.logits, self.probs, reduction="none") / self.probs
