"""The LKJ distribution of Cholesky factors of correlation matrices."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..continuous.beta import Beta
from ..distribution import Distribution
from ..utils import Real, broadcast_all, standard_normal


class LKJCholesky(Distribution):
    """Cholesky factors L (dim, dim) of correlation matrices, of the density ``det(L L^T) ** (concentration - 1)``, normalised.

    A concentration of 1 makes all correlation matrices as likely; larger ones prefer weak correlations. Samples follow this
    density for every `dim`; those of PyTorch do for 2 only: their rows from the third on are too long below the diagonal.
    Example: ``l = LKJCholesky(3, 0.5).sample()``, and ``l @ l.mT`` is a correlation matrix.

    Source: Lewandowski, Kurowicka & Joe, "Generating random correlation matrices based on vines and extended onion method", 2009.

    >>> factor = lucid.distributions.LKJCholesky(3).sample()
    >>> lucid.allclose((factor @ factor.T).diagonal(), lucid.ones(3), atol=1e-5)
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Real = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of each row but its diagonal element is beta distributed; of the first row there is none.
        like: dict[str, Any] = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        rows = lucid.cat([lucid.zeros((1,), **like), lucid.arange(dim - 1, **like)])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * rows + 0.5, marginal.unsqueeze(-1) - 0.5 * rows)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> LKJCholesky:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return self._finish(new, batch_shape)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By the onion method: lengths of rows, and directions on a sphere."""
        with lucid.no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = standard_normal(self._extended_shape(sample_shape), self.concentration).tril(-1)
            norms = normal.norm(dim=-1, keepdim=True)
            directions = normal / norms.masked_fill(norms == 0, 1)
            rows = lengths.sqrt() * directions
            diagonal = (1 - rows.pow(2).sum(-1)).clamp(min=lucid.finfo(rows.dtype).tiny).sqrt()
            return rows + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        """Of the factor, not of the correlation matrix: with the Jacobian of the product."""
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = lucid.arange(2, self.dim + 1, dtype=self.concentration.dtype, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * diagonal.log()).sum(dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        denominator = lucid.lgamma(alpha) * less
        numerator = lucid.mvlgamma(alpha - 0.5, less)
        # The multivariate gamma function has a power of pi less than the product of the constants.
        return density - (0.5 * less * math.log(math.pi) + numerator - denominator)
