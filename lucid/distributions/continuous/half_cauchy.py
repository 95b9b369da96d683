"""The half-Cauchy distribution."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Tensor
from .cauchy import Cauchy
from .half import Half


class HalfCauchy(Half):
    """The distribution of ``|x|`` for x from ``Cauchy(0, scale)``.

    Example: ``HalfCauchy(1.0).cdf(lucid.tensor(1.0))`` is 0.5.

    >>> lucid.distributions.HalfCauchy(1.0).cdf(lucid.tensor(1.0))
    Tensor(0.5, requires_grad=False)
    """

    base_dist: Cauchy
    whole = Cauchy

    def expand(self, batch_shape: Any, _instance: Any = None) -> HalfCauchy:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self) -> Tensor:
        return lucid.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
