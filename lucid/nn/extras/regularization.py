"""What hides parts of activations in training, and a norm across channels."""
from __future__ import annotations

from ...ops.creation.creation import zeros
from ...tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter
from .functional import drop_block, drop_path, global_response_norm

__all__ = ["DropBlock", "DropPath", "GlobalResponseNorm"]


class DropBlock(Module):
    """`functional.drop_block` in training, nothing otherwise.

    >>> nn.DropBlock(3, p=0.2).eval()(lucid.ones(1, 1, 2, 2))
    Tensor([[[[1.0, 1.0],
              [1.0, 1.0]]]], requires_grad=False)
    """

    def __init__(self, block_size: int, p: float = 0.1, eps: float = 1e-7) -> None:
        super().__init__()
        self.block_size, self.p, self.eps = block_size, p, eps

    def forward(self, input_: Tensor) -> Tensor:
        """`input_`, in training with squares zeroed."""
        return drop_block(input_, self.block_size, self.p, self.eps) if self.training and self.p else input_

    def extra_repr(self) -> str:
        """The arguments."""
        return f"block_size={self.block_size}, p={self.p}"


class DropPath(Module):
    """`functional.drop_path` in training, nothing otherwise.

    >>> nn.DropPath(0.5)(lucid.ones(100, 2)).unique(dim=0)  # whole samples
    Tensor([[0.0, 0.0],
            [2.0, 2.0]], requires_grad=False)
    """

    def __init__(self, drop_prob: float = 0.1, scale_by_keep: bool = True) -> None:
        super().__init__()
        self.drop_prob, self.scale_by_keep = drop_prob, scale_by_keep

    def forward(self, input_: Tensor) -> Tensor:
        """`input_`, in training with samples zeroed."""
        return drop_path(input_, self.drop_prob, self.scale_by_keep) if self.training else input_

    def extra_repr(self) -> str:
        """The arguments."""
        return f"drop_prob={self.drop_prob}"


class GlobalResponseNorm(Module):
    """`functional.global_response_norm` with the parameters `gamma` and `beta` (1, C, 1, 1), which begin as zeros.

    >>> nn.GlobalResponseNorm(2)(lucid.ones(1, 2, 1, 1)).flatten().detach()  # zeros until it has learned
    Tensor([0.0, 0.0], requires_grad=False)
    """

    def __init__(self, channels: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gamma = Parameter(zeros(1, channels, 1, 1))
        self.beta = Parameter(zeros(1, channels, 1, 1))
        self.eps = eps

    def forward(self, input_: Tensor) -> Tensor:
        """`input_` (N, C, H, W) normalised."""
        return global_response_norm(input_, self.gamma, self.beta, self.eps)
