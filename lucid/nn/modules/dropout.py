"""Dropout: in training mode, elements or channels are zeroed at random and the rest scaled by ``1 / (1 - p)``."""
from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes each element with probability `p`. Raises ValueError for a `p` outside [0, 1].

    >>> layer = nn.Dropout(0.5)
    >>> layer(lucid.ones(1000)).unique()
    Tensor([0.0, 2.0], requires_grad=False)
    >>> layer.eval()(lucid.ones(3))
    Tensor([1.0, 1.0, 1.0], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of (N, C, H, W), each with probability `p`.

    >>> y = nn.Dropout2d(0.5)(lucid.ones(1, 8, 4, 4))
    >>> y.unique(), y.amax((2, 3)).equal(y.amin((2, 3)))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W), or without N."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of (N, C, L), each with probability `p`.

    >>> y = nn.Dropout1d(0.5)(lucid.ones(1, 8, 4))
    >>> y.unique(), y.amax(2).equal(y.amin(2))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, L), or without N."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of (N, C, D, H, W), each with probability `p`.

    >>> y = nn.Dropout3d(0.5)(lucid.ones(1, 8, 2, 2, 2))
    >>> y.unique(), y.amax((2, 3, 4)).equal(y.amin((2, 3, 4)))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, D, H, W), or without N."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for `SELU`: sets elements to its most negative value, and keeps mean and variance.

    >>> layer = nn.AlphaDropout(0.5)
    >>> layer.eval()(lucid.ones(3))
    Tensor([1.0, 1.0, 1.0], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    >>> nn.FeatureAlphaDropout(0.5).eval()(lucid.ones(1, 2, 2))
    Tensor([[[1.0, 1.0],
             [1.0, 1.0]]], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …)."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
