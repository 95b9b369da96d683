"""Results that are the same whatever some arguments are: those get gradients of zeros, not none, as in PyTorch."""
from __future__ import annotations

from typing import Any, NamedTuple

from .. import _dtypes
from ..autograd.grad_mode import GRAD
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import rebase
from ..autograd.node import Node
from ..tensor import Tensor, wrap


class Origin(NamedTuple):
    """Where the gradient of a tensor goes, without its elements: for rules, which save what they hold."""

    node: Any
    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def of(cls, tensor: Tensor) -> Origin:
        """That of `tensor`."""
        return cls(tensor._node, tensor._array.shape, tensor._array.dtype)


def with_zero_gradients(result: Tensor, *arguments: Tensor | Origin) -> Tensor:
    """`result`, or a tensor of its memory, with zeros as the gradients of `arguments`, on which it does not depend."""
    if not grad_mode.get() & GRAD:
        return result
    origins = [Origin.of(argument) if isinstance(argument, Tensor) else argument for argument in arguments]
    origins = [origin for origin in origins if origin.node is not None]
    if not origins:
        return result

    def vjp(g: Tensor, y: Any) -> tuple[Tensor, ...]:
        return (g, *(g.new_zeros(origin.shape, dtype=origin.dtype) for origin in origins))

    return wrap(result._array, Node("independent", (result._node, *(origin.node for origin in origins)), vjp))


def rebase_with_zeros(target: Tensor, argument: Any) -> Tensor:
    """`target`, which has just been written with what does not change with `argument`: both get zeros."""
    recorded = isinstance(argument, Tensor) and argument._node is not None and grad_mode.get() & GRAD
    if recorded and _dtypes.is_differentiable(target._array.dtype):
        before, other = Origin.of(target), Origin.of(argument)

        def vjp(g: Tensor, y: Any) -> tuple[Tensor, Tensor]:
            return g.new_zeros(before.shape), g.new_zeros(other.shape, dtype=other.dtype)

        rebase(target, Node("overwrite", (before.node, other.node), vjp))
    return target


def zeros_for(g: Tensor) -> Tensor:
    """Zeros of the shape of `g`; in a formula too, where shapes are not known."""
    return g.sign() * 0  # not of NaN and infinities


def with_zero_curvature(slope: Tensor, argument: Tensor) -> Tensor:
    """`slope`, the gradient of an elementwise operation, with zeros as the gradient of its `argument`."""
    if argument._node is None or not grad_mode.get() & GRAD:
        return slope
    node: Any = Node("independent", (slope._node, argument._node), lambda g, y: (g, zeros_for(g)))
    return wrap(slope._array, node)
