"""Results that are the same whatever some arguments are: those get gradients of zeros, not none, as in PyTorch."""
from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import GRAD
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.node import Node
from ..tensor import Tensor, wrap


def with_zero_gradients(result: Tensor, *arguments: Tensor) -> Tensor:
    """`result`, or a tensor of its memory, with zeros as the gradients of `arguments`, of which it does not depend."""
    nodes = [argument._node for argument in arguments]
    if not grad_mode.get() & GRAD or not any(nodes):
        return result
    kinds = [(argument._array.shape, argument.dtype) for argument in arguments]

    def pull(g: Tensor, y: Any) -> tuple[Tensor, ...]:
        return (g, *(g.new_zeros(shape, dtype=dtype) for shape, dtype in kinds))

    return wrap(result._array, Node("independent", (result._node, *nodes), pull))
