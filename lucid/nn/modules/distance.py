"""Angles and distances between vectors."""
from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module


class CosineSimilarity(Module):
    """The cosine of the angle of two vectors along `dim`.

    The result has the shape of the inputs without `dim`; they broadcast.

    >>> nn.CosineSimilarity()(lucid.tensor([[1.0, 0.0]]), lucid.tensor([[3.0, 4.0]]))
    Tensor([0.6], requires_grad=False)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Two tensors that broadcast, to their shape without `dim`."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The `p`-norm of the difference of two vectors, along the last dimension.

    >>> nn.PairwiseDistance()(lucid.tensor([[0.0, 0.0]]), lucid.tensor([[3.0, 4.0]]))
    Tensor([5.0], requires_grad=False)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Two tensors (…, D) that broadcast, to (…)."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
