"""Mixtures whose components are a batch of one distribution."""
from __future__ import annotations

from typing import Any, Self

import lucid

from ..tensor import Size, Tensor
from . import constraints
from .constraints import Constraint, MixtureSameFamilyConstraint
from .discrete.categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture: `mixture_distribution`, a Categorical, chooses one of the components, the last dimension of the batch of
    `component_distribution`.

    Five normal distributions with random weights::

        MixtureSameFamily(Categorical(lucid.rand(5)), Normal(lucid.randn(5), lucid.rand(5)))

    >>> mix = lucid.distributions.Categorical(lucid.tensor([0.25, 0.75]))
    >>> lucid.distributions.MixtureSameFamily(mix, lucid.distributions.Normal(lucid.tensor([0.0, 4.0]), 1.0)).mean
    Tensor(3.0, requires_grad=False)
    """

    arg_constraints: dict[str, Constraint] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of lucid.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of lucid.distributions.Distribution")
        mixture_batch, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(mixture_batch), reversed(batch)):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixture_batch}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch})")
        count, given = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != given:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({given})")
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch, event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        return self._finish(new, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """What chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    @property
    def _weights(self) -> Tensor:
        """The probabilities of the components, with ones for the event."""
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    def _averaged(self, values: Tensor) -> Tensor:
        return (self._weights * values).sum(dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._averaged(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        within = self._averaged(self.component_distribution.variance)
        apart = self.component_distribution.mean - self.mean.unsqueeze(-1 - self._event_ndims)
        return within + self._averaged(apart**2)

    def cdf(self, value: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(value)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_probs = self.component_distribution.log_prob(self._pad(value))
        return lucid.logsumexp(log_probs + lucid.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            place = len(sample_shape) + len(self.batch_shape)
            index = chosen.reshape(chosen.shape + (1,) * (1 + self._event_ndims))
            index = index.expand((*samples.shape[:place], 1, *self.event_shape))
            return lucid.gather(samples, place, index).squeeze(place)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
