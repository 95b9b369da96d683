"""The half-normal distribution."""
from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor
from .half import Half
from .normal import Normal


class HalfNormal(Half):
    """The distribution of ``|x|`` for x from ``Normal(0, scale)``.

    Example: ``HalfNormal(1.0).mean`` is ``sqrt(2 / pi)``.

    >>> lucid.distributions.HalfNormal(1.0).mean
    Tensor(0.7979, requires_grad=False)
    """

    base_dist: Normal
    whole = Normal

    def expand(self, batch_shape: Any, _instance: Any = None) -> HalfNormal:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
