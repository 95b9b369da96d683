"""Layers that only change the shape."""
from __future__ import annotations

from ...tensor import Tensor
from .module import Module


class Flatten(Module):
    """Makes one dimension of those from `start_dim` to `end_dim`; by default of all but the first.

    >>> nn.Flatten()(lucid.zeros(8, 3, 4, 4)).shape
    lucid.Size([8, 48])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """(N, A, B, …) to (N, A * B * …)."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into dimensions of the lengths `unflattened_size`. Raises TypeError for other than integers.

    >>> nn.Unflatten(1, (3, 4, 4))(lucid.zeros(8, 48)).shape
    lucid.Size([8, 3, 4, 4])
    """

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}")
        for position, length in enumerate(unflattened_size):
            if not isinstance(length, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(length).__name__} at pos {position}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """(…, A * B, …) to (…, A, B, …)."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and its new lengths."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
