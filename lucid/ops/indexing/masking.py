"""Elements chosen by a mask: filled, read, written."""
from __future__ import annotations

from typing import Any

from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.inplace import update, write
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import fitted, numbers, reduce_to, require_tensor, room_for, shape_of
from .._out import accepts_out
from ..elementwise.where import where
from ..manipulation.broadcasting import broadcast_shapes
from .index import index_tensor
from .indexing import getitem

METHODS = ("masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_")


def _masked_fill_rule(needs: Any, x: Tensor, mask: Tensor, value: Any) -> Vjp:
    needs_x, _, needs_value = needs
    value_shape = shape_of(value)

    def vjp(g: Tensor, y: Any) -> tuple[Any, ...]:
        to_value = reduce_to(g * mask.to(g.dtype), value_shape) if needs_value else None
        return _masked_fill(g, mask, 0) if needs_x else None, None, to_value

    return vjp


_masked_fill = single_op("masked_fill", _masked_fill_rule)


def _fill_value(input: Tensor, value: Any) -> Any:
    """The value of a masked fill. Raises RuntimeError for one that the dtype cannot hold."""
    dtype = input._array.dtype
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("masked_fill only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.ndim} dimension(s).")
        return value.to(input.device, dtype)
    if isinstance(value, complex) and dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return fitted(value, dtype)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`input` with `value` (a number or a 0-d tensor) where `mask`, which broadcasts, is True.

    >>> lucid.masked_fill(lucid.tensor([1.0, 2.0]), lucid.tensor([False, True]), -lucid.inf)
    Tensor([ 1.0, -inf], requires_grad=False)
    """
    value = _fill_value(require_tensor("masked_fill", input), value)
    mask = index_tensor("masked_fill", mask, input, "b")
    if mask._array.shape != input._array.shape and mask._array.ndim:
        shape = broadcast_shapes(input.shape, mask.shape)
        if shape != input._array.shape:
            input = input.expand(shape)
    return _masked_fill(input, mask, value)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`masked_fill` into this tensor itself."""
    value = _fill_value(self, value)
    mask = index_tensor("masked_fill", mask, self, "b")
    shape = self._array.shape
    if mask._array.shape != shape and broadcast_shapes(shape, mask._array.shape) != shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the mask of shape {list(mask.shape)}")
    return update(self, _masked_fill, mask, value)


@accepts_out
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is True, in one dimension; `input` and `mask` are broadcast together.

    >>> x = lucid.tensor([[1, 5], [7, 2]])
    >>> lucid.masked_select(x, x > 2)
    Tensor([5, 7], requires_grad=False)
    """
    mask = index_tensor("masked_select", mask, require_tensor("masked_select", input), "b")
    shape = input._array.shape
    if shape and shape == mask._array.shape:
        return getitem(input, mask)
    shape = broadcast_shapes(shape, mask._array.shape)
    if shape == ():
        input, mask, shape = input.reshape(1), mask.reshape(1), (1,)
    return getitem(input.expand(shape), mask.expand(shape))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with the elements where `mask` is True taken from `source` in order.

    >>> lucid.masked_scatter(lucid.zeros(3), lucid.tensor([True, False, True]), lucid.tensor([1.0, 2.0]))
    Tensor([1.0, 0.0, 2.0], requires_grad=False)
    """
    shape = broadcast_shapes(require_tensor("masked_scatter", input).shape, mask.shape)
    return masked_scatter_(room_for(input.expand(shape), mask, source), mask, source)


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`masked_scatter` into this tensor itself. Raises RuntimeError for a source of another dtype or too few elements."""
    mask = index_tensor("masked_scatter", mask, self, "b").expand(self.shape)
    if source._array.dtype != self._array.dtype:
        raise RuntimeError("masked_scatter_: expected self and source to have same dtypes but got "
                           f"{type_name(self.dtype)} and {type_name(source.dtype)}")
    if not self.is_meta:
        count = int(max(numbers(mask.sum())))
        if source.numel() < count:
            raise RuntimeError(f"masked_scatter: expected the source to have at least {count} elements, but it has "
                               f"{source.numel()}")
    if source.numel() == 0:
        return self
    order = (mask.reshape(-1).cumsum(0) - 1).clamp(0, source.numel() - 1)  # which element of the source comes here
    values = source.reshape(-1)[order].reshape(self.shape)
    return write(self, lambda old: where(mask, values, old))


register(__name__)
