"""`torch.autograd.Variable`, which is a tensor."""
from __future__ import annotations

from typing import Any

import lucid

__all__ = ["Variable"]


class _OfTensors(type):
    """The type of `Variable`: its calls give tensors back, and tensors are instances of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, lucid.Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        tensor = lucid.empty(0) if data is None else data.detach()
        return tensor.requires_grad_(requires_grad)


class Variable(metaclass=_OfTensors):
    """``Variable(tensor)``: the tensor, without its graph."""
