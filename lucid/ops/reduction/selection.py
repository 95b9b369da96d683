"""What the operations share that select elements along a dimension: `max`, `min`, `sort`, `topk`."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.op import Vjp
from ...tensor import Tensor
from ..indexing.gather_scatter import place_op


class ValuesIndices(NamedTuple):
    """The result of an operation that selects elements along a dimension."""

    values: Tensor
    indices: Tensor


def selected_rule(needs: Any, x: Tensor, *, axis: int, keepdims: bool = True, **attributes: Any) -> Vjp:
    """The gradient rule of ops with results (values, indices): the gradient goes to the selected elements."""
    shape = x._array.shape

    def vjp(g: Tensor, y: tuple[Tensor, ...]) -> tuple[Tensor]:
        if not shape:
            return (g,)
        indices = y[0]
        if not keepdims:
            g, indices = g.unsqueeze(axis), indices.unsqueeze(axis)
        return (place_op(g, indices, shape=shape, axis=axis, unique=True),)

    return vjp
