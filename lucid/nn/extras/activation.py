"""Activations by other names than PyTorch's."""
from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from ..modules.module import Module

__all__ = ["HardSigmoid", "HardSwish", "Swish"]


class Swish(Module):
    """``x * sigmoid(x)``, in PyTorch `SiLU`.

    >>> nn.Swish()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.2689,  0.0000,  0.7311], requires_grad=False)
    """

    def forward(self, input_: Tensor) -> Tensor:
        """The activation of each element."""
        return F.silu(input_)


class HardSwish(Module):
    """``x * min(max(x + 3, 0), 6) / 6``, in PyTorch `Hardswish`.

    >>> nn.HardSwish()(lucid.tensor([1.0, 4.0]))
    Tensor([0.6667, 4.0000], requires_grad=False)
    """

    def forward(self, input_: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardswish(input_)


class HardSigmoid(Module):
    """``min(max(x + 3, 0), 6) / 6``, in PyTorch `Hardsigmoid`.

    >>> nn.HardSigmoid()(lucid.tensor([-4.0, 0.0, 1.5]))
    Tensor([0.00, 0.50, 0.75], requires_grad=False)
    """

    def forward(self, input_: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardsigmoid(input_)
