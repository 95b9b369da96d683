"""Distributions of an exponential family: their entropy, and their divergence, follow from the log-normaliser."""
from __future__ import annotations

from typing import Any

from .. import autograd
from ..tensor import Tensor
from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    """A distribution whose density is ``exp(<t(x), theta> - F(theta) + k(x))`` with natural parameters theta.

    A subclass gives `_natural_params`, `_log_normalizer` F of them, and `_mean_carrier_measure`, the expectation of k. The
    entropy follows (Nielsen & Nock, "Entropies and cross-entropies of exponential families", 2010).

    >>> issubclass(lucid.distributions.Normal, lucid.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By the Bregman divergence of the log-normaliser."""
        result: Any = -self._mean_carrier_measure
        parameters = [parameter.detach().requires_grad_() for parameter in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = result + normalizer
        for parameter, gradient in zip(parameters, gradients):
            result = result - sum_rightmost(parameter * gradient, len(self.event_shape))
        return result
