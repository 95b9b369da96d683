"""Dimensions of length 1 repeated without a copy, as views, and the shapes that tensors have together."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._namespace.foreign import defer, defers
from ...autograd.calls import view_op
from ...autograd.op import Vjp
from ...tensor import Size, Tensor
from .._methods import register
from .._operands import integers, reduce_to, require_tensors

METHODS = ("expand", "expand_as", "broadcast_to")


def _broadcast_rule(needs: Any, x: Tensor, *, shape: tuple[int, ...]) -> Vjp:
    source = x._array.shape
    return lambda g, y: (reduce_to(g, source),)


_broadcast_to = view_op("broadcast_to", _broadcast_rule)


@defers
def expand(input: Tensor, *sizes: Any, size: Any = (), implicit: bool = False) -> Tensor:
    """Dimensions of length 1 repeated without a copy; -1 keeps a length. New dimensions come first.

    >>> lucid.tensor([[1], [2]]).expand(2, 3)
    Tensor([[1, 1, 1],
            [2, 2, 2]], requires_grad=False)
    >>> lucid.tensor([1, 2]).expand(3, -1).stride()
    (0, 1)
    """
    wanted = integers(sizes or (size,))
    try:
        shape = input._array.shape
    except AttributeError:
        return defer("expand", input, *sizes, **({"size": size} if size else {}))
    lead = len(wanted) - len(shape)
    if lead < 0:
        raise RuntimeError(f"expand({list(wanted)}, size={list(shape)}): the number of sizes provided ({len(wanted)}) must "
                           f"be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    full = []
    for i, n in enumerate(wanted):
        own = shape[i - lead] if i >= lead else None
        if n == -1:
            if own is None:
                raise RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                   f"dimension {i}")
            n = own
        elif own not in (None, 1, n):
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({own}) at "
                               f"non-singleton dimension {i}. Target sizes: {list(wanted)}. Tensor sizes: {list(shape)}")
        full.append(n)
    if math.prod(full) == input._array.size:
        return input.view(full)  # nothing is shared: it may be written to
    return _broadcast_to(input, shape=tuple(full))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`expand` to the shape of `other`.

    >>> lucid.expand_as(lucid.tensor([[1], [2]]), lucid.zeros(2, 3))
    Tensor([[1, 1, 1],
            [2, 2, 2]], requires_grad=False)
    """
    return expand(input, other.shape)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`expand` to `size`.

    >>> lucid.broadcast_to(lucid.tensor([1, 2]), (3, 2))
    Tensor([[1, 2],
            [1, 2],
            [1, 2]], requires_grad=False)
    """
    return expand(input, size)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to the shape that they have together.

    >>> lucid.broadcast_tensors(lucid.tensor([[1], [2]]), lucid.tensor([3, 4]))
    (Tensor([[1, 1],
            [2, 2]], requires_grad=False), Tensor([[3, 4],
            [3, 4]], requires_grad=False))
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape = broadcast_shapes(*[t.shape for t in require_tensors("broadcast_tensors", given)])
    return tuple(expand(t, shape) for t in given)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes have together; a number is the shape of a vector.

    Raises RuntimeError if they do not broadcast.

    >>> lucid.broadcast_shapes((2, 1), (3,))
    lucid.Size([2, 3])
    """
    given = [(shape,) if isinstance(shape, int) else shape for shape in shapes]
    rank = max((len(s) for s in given), default=0)
    result = [1] * rank
    for shape in given:
        for i, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[i] not in (1, n):
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape: "
                                   f"{[list(s) for s in given]}")
            result[i] = n if n != 1 else result[i]
    return Size(result)


register(__name__)
