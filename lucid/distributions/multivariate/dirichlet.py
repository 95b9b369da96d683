"""The Dirichlet distribution."""
from __future__ import annotations

from typing import Any

import lucid

from ...ops.random.pathwise import dirichlet
from ...tensor import Tensor
from .. import constraints
from ..exp_family import ExponentialFamily


class Dirichlet(ExponentialFamily):
    """Vectors of probabilities; the last dimension of `concentration` is the event.

    Gradients of `rsample` are implicit (`lucid.ops.random.pathwise`).
    Example: ``Dirichlet(lucid.tensor([0.5, 0.5, 1.0])).mean`` is ``[0.25, 0.25, 0.5]``.

    >>> lucid.distributions.Dirichlet(lucid.tensor([1.0, 3.0])).mean
    Tensor([0.25, 0.75], requires_grad=False)
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parameters = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (lucid.xlogy(self.concentration - 1.0, value).sum(-1) + lucid.lgamma(self.concentration.sum(-1))
                - lucid.lgamma(self.concentration).sum(-1))

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """Where all concentrations are below 1, a corner: there the density is infinite in all of them."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corners = (self.concentration < 1).all(dim=-1, keepdim=True)
        corner = lucid.nn.functional.one_hot(mode.argmax(dim=-1), self.concentration.shape[-1]).to(mode.dtype)
        return lucid.where(corners, corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        count, total = self.concentration.shape[-1], self.concentration.sum(-1)
        return (lucid.lgamma(self.concentration).sum(-1) - lucid.lgamma(total) - (count - total) * lucid.digamma(total)
                - ((self.concentration - 1.0) * lucid.digamma(self.concentration)).sum(-1))

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - lucid.lgamma(x.sum(-1))
