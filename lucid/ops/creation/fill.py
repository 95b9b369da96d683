"""One number in every element of a tensor that is there."""
from __future__ import annotations

from typing import Any

from ...autograd.inplace import update, write
from ...autograd.op import Op
from ...tensor import Tensor
from .._independence import with_zero_gradients
from .._methods import register
from .._operands import fitted, require_number, require_tensor, room_for

_fill = Op("fill", lambda needs, x, *, value: lambda g, y: (g.new_zeros(g.shape),))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, or the element of a 0-d tensor, which gets the gradient, into every element.

    Raises TypeError for what is neither, and RuntimeError for another tensor and for a number that the dtype cannot hold.
    """
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value._array.ndim} dimensions.")
        return write(self, lambda old: with_zero_gradients(value.to(old.device, old.dtype).expand(old.shape), old))
    return update(self, _fill, value=fitted(require_number("fill_", "value", value), self._array.dtype))


def fill(input: Tensor, value: Any) -> Tensor:
    """`fill_` into a tensor like `input`: ``lucid.fill(lucid.zeros(2), 3)`` has the elements 3 and 3. Errors as there."""
    return fill_(room_for(require_tensor("fill", input), value), value)


def zero_(self: Tensor) -> Tensor:
    """Write 0 into every element."""
    return update(self, _fill, value=0)


SPECIAL_METHODS = {"fill_": fill_, "zero_": zero_}


register(__name__)
