"""Reading and writing along a dimension by an index: each is the gradient of the other."""
from __future__ import annotations

from typing import Any

from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import reduce_to, shape_of
from .index import check_index


def _gather_rule(needs: Any, x: Tensor, index: Tensor, *, axis: int) -> Vjp:
    shape = x._array.shape
    return lambda g, y: (place_op(g, index, shape=shape, axis=axis), None)


def _place_rule(needs: Any, g: Tensor, index: Tensor, *, shape: tuple[int, ...], axis: int, unique: bool = False) -> Vjp:
    return lambda gg, y: (gather_op(gg, index, axis=axis), None)


def _scatter_rule(needs: Any, x: Tensor, index: Tensor, source: Any, *, axis: int, accumulate: bool = False) -> Vjp:
    needs_x, _, needs_source = needs
    source_shape = shape_of(source)

    def vjp(g: Tensor, y: Any) -> tuple[Any, ...]:
        to_x = None
        if needs_x:
            to_x = g if accumulate else scatter_op(g, index, 0, axis=axis)
        return to_x, None, reduce_to(gather_op(g, index, axis=axis), source_shape) if needs_source else None

    return vjp


# For the modules beside this one too: without a check of the indices.
gather_op = single_op("gather", _gather_rule)
# Zeros of a shape with the elements of a tensor added where `gather` would read: the gradient of what selects elements.
place_op = single_op("gather_grad", _place_rule)
scatter_op = single_op("scatter", _scatter_rule)


def check_along(name: str, x: Tensor, index: Tensor, axis: int, source: Any = None) -> None:
    """Raise RuntimeError if the shapes of `x`, `index` and `source` do not fit for gather or scatter along `axis`."""
    shape, lengths = x._array.shape, index._array.shape
    if len(shape) != len(lengths):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for dim, (have, length) in enumerate(zip(shape, lengths, strict=True)):
        if dim != axis and length > have:
            raise RuntimeError(f"Size does not match at dimension {dim} expected index {list(lengths)} to be no larger "
                               f"than self {list(shape)} apart from dimension {axis}")
    if isinstance(source, Tensor) and source._array.ndim:
        if source._array.ndim != len(lengths):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if any(n > m for n, m in zip(lengths, source._array.shape, strict=True)):
            raise RuntimeError(f"Expected index {list(lengths)} to be no larger than src {list(source.shape)}")
        if source._array.dtype != x._array.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    check_index(index, shape[axis] if shape else 1, axis)
