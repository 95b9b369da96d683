"""One number in every element of a tensor that is there."""
from __future__ import annotations

from typing import Any

from ..autograd.inplace import update, write
from ..autograd.op import Op
from ..tensor import Tensor
from ._independence import with_zero_gradients
from ._operands import fitted, require_number

_fill = Op("fill", lambda needs, x, *, value: lambda g, y: (g.new_zeros(g.shape),))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, or the only element of a tensor, which gets the gradient, into every element.

    Raises TypeError for what is neither, and RuntimeError for a number that the dtype cannot hold.
    """
    if isinstance(value, Tensor):
        return write(self, lambda old: with_zero_gradients(value.to(old.device, old.dtype).expand(old.shape), old))
    return update(self, _fill, value=fitted(require_number("fill_", "value", value), self._array.dtype))


def zero_(self: Tensor) -> Tensor:
    """Write 0 into every element."""
    return update(self, _fill, value=0)


SPECIAL_METHODS = {"fill_": fill_, "zero_": zero_}
