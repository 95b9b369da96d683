"""The chi-squared distribution."""
from __future__ import annotations

from ...tensor import Tensor
from .. import constraints
from ..utils import Real
from .gamma import Gamma


class Chi2(Gamma):
    """The distribution of the sum of `df` squares of standard normal numbers: gamma of the shape ``df / 2`` and rate 1/2.

    Example: ``Chi2(3.0).mean`` is 3.

    >>> lucid.distributions.Chi2(3.0).mean, lucid.distributions.Chi2(3.0).variance
    (Tensor(3.0, requires_grad=False), Tensor(6.0, requires_grad=False))
    """

    arg_constraints = {"df": constraints.positive}
    _parameters = Gamma._parameters

    def __init__(self, df: Real, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
