"""The von Mises distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ... import _dtypes
from ...tensor import Size, Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import Real, broadcast_all, lazy_property


class VonMises(Distribution):
    """Angles around `loc`, of the density ``exp(concentration * cos(x - loc))``, normalised.

    Samples lie in [-pi, pi); `log_prob` takes any angle. Samples are drawn in float64.
    Example: ``VonMises(lucid.tensor([0.0]), lucid.tensor([1.0])).sample((5,))`` has the shape (5, 1).

    Source of the sampler: Best & Fisher, "Efficient simulation of the von Mises distribution", 1979.

    >>> lucid.distributions.VonMises(0.0, 1.0).log_prob(lucid.tensor(0.0))
    Tensor(-1.0738, requires_grad=False)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parameters = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Real, concentration: Real, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # i0e is I0 divided by exp(concentration), which would overflow.
        normalizer = math.log(2 * math.pi) + lucid.special.i0e(self.concentration).log()
        return self.concentration * (lucid.cos(value - self.loc) - 1) - normalizer

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that candidates are drawn from."""
        kappa = self.concentration.detach().to(_dtypes.float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return lucid.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))  # the series, where rho would cancel

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        with lucid.no_grad():
            shape = self._extended_shape(sample_shape)
            loc, kappa, r = (parameter.to(_dtypes.float64).expand(shape)
                             for parameter in (self.loc, self.concentration, self._proposal_r))
            x, missing = lucid.zeros_like(kappa), lucid.ones_like(kappa, dtype=lucid.bool)
            while not x.is_meta and bool(missing.any()):
                u1, u2, u3 = lucid.rand((3, *shape), dtype=x.dtype, device=x.device).unbind()
                z = lucid.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = lucid.where(missing & accepted, (u3 - 0.5).sign() * f.clamp(-1, 1).acos(), x)
                missing = missing & ~accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance, ``1 - I1 / I0`` of the concentration."""
        return 1 - lucid.special.i1e(self.concentration) / lucid.special.i0e(self.concentration)
