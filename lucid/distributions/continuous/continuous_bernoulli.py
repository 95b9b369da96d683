"""The continuous Bernoulli distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits, uniform

_bce = lucid.nn.functional.binary_cross_entropy_with_logits


class ContinuousBernoulli(ExponentialFamily):
    """Numbers of [0, 1] with the density ``probs ** x * (1 - probs) ** (1 - x)``, normalised; of `probs` in (0, 1), or of
    `logits`.

    Where `probs` lies within `lims`, near 1/2, expansions take the place of formulas that cancel.
    Example: ``ContinuousBernoulli(0.5)`` is uniform.

    Source: Loaiza-Ganem & Cunningham, "The continuous Bernoulli", 2019.

    >>> lucid.distributions.ContinuousBernoulli(0.5).mean
    Tensor(0.5, requires_grad=False)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (given,) = broadcast_all(probs)
            if validate_args is not None and not self.arg_constraints["probs"].check(given).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(given)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    def expand(self, batch_shape: Any, _instance: Any = None) -> ContinuousBernoulli:
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        for name in ("probs", "logits"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(Size(batch_shape)))
        return self._finish(new, Size(batch_shape))

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, of which the density is made."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._param.shape

    def _outside(self, x: Tensor, shift: float = 0.0) -> Tensor:
        """Where the formulas, and not their expansions, are accurate."""
        return (x <= self._lims[0] - shift) | (x > self._lims[1] - shift)

    def _split(self) -> tuple[Tensor, Tensor, Tensor]:
        """That for `probs`; these, with a number for the formulas elsewhere; and the distance from 1/2 for the expansions."""
        outside = self._outside(self.probs)
        return outside, lucid.where(outside, self.probs, self._lims[0]), self.probs - 0.5

    def _log_norm(self) -> Tensor:
        """The logarithm of the normalising constant."""
        outside, cut, x = self._split()
        below, above = lucid.where(cut <= 0.5, cut, 0.0), lucid.where(cut >= 0.5, cut, 1.0)
        spread = lucid.where(cut <= 0.5, lucid.log1p(-2.0 * below), lucid.log(2.0 * above - 1.0))
        log_norm = lucid.log(lucid.abs(lucid.log1p(-cut) - lucid.log(cut))) - spread
        square = x.pow(2)
        return lucid.where(outside, log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square)

    @property
    def mean(self) -> Tensor:
        outside, cut, x = self._split()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (lucid.log1p(-cut) - lucid.log(cut))
        return lucid.where(outside, mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        outside, cut, x = self._split()
        variance = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (lucid.log1p(-cut) - lucid.log(cut)).pow(2)
        square = x.pow(2)
        return lucid.where(outside, variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_bce(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        outside, cut, _ = self._split()
        probability = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = lucid.where(outside, probability, value)
        return lucid.where(value <= 0.0, 0.0, lucid.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        outside, cut, _ = self._split()
        quantile = ((lucid.log1p(-cut + value * (2.0 * cut - 1.0)) - lucid.log1p(-cut)) / (lucid.log(cut) - lucid.log1p(-cut)))
        return lucid.where(outside, quantile, value)

    def entropy(self) -> Tensor:
        log_probs0, log_probs1 = lucid.log1p(-self.probs), lucid.log(self.probs)
        return self.mean * (log_probs0 - log_probs1) - self._log_norm() - log_probs0

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        outside = self._outside(x, 0.5)
        cut = lucid.where(outside, x, self._lims[0] - 0.5)
        log_norm = lucid.log(lucid.abs(lucid.special.expm1(cut))) - lucid.log(lucid.abs(cut))
        return lucid.where(outside, log_norm, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
