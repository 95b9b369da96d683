"""Activations by other names than PyTorch's."""
from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from ..modules.module import Module

__all__ = ["HardSigmoid", "HardSwish", "Swish"]


class Swish(Module):
    """``x * sigmoid(x)``, in PyTorch `SiLU`."""

    def forward(self, input_: Tensor) -> Tensor:
        """The activation of each element."""
        return F.silu(input_)


class HardSwish(Module):
    """``x * min(max(x + 3, 0), 6) / 6``, in PyTorch `Hardswish`."""

    def forward(self, input_: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardswish(input_)


class HardSigmoid(Module):
    """``min(max(x + 3, 0), 6) / 6``, in PyTorch `Hardsigmoid`."""

    def forward(self, input_: Tensor) -> Tensor:
        """The activation of each element."""
        return F.hardsigmoid(input_)
