"""One number in every element of a tensor that is there."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ..._namespace.lazy import load
from ...autograd.calls import single_op
from ...autograd.inplace import update, write
from ...tensor import Tensor
from .._independence import with_zero_gradients
from .._methods import register
from .._operands import fitted, require_number, require_tensor, room_for

_fill = single_op("fill", lambda needs, x, *, value: lambda g, y: (g.new_zeros(g.shape),))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, or the element of a 0-d tensor, which gets the gradient, into every element.

    Raises TypeError for what is neither, and RuntimeError for another tensor and for a number that the dtype cannot hold.

    >>> lucid.zeros(2).fill_(7)
    Tensor([7.0, 7.0], requires_grad=False)
    """
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value._array.ndim} dimensions.")
        return write(self, lambda old: with_zero_gradients(value.to(old.device, old.dtype).expand(old.shape), old))
    number = fitted(require_number("fill_", "value", value), self._array.dtype)
    if self._array.dtype.itemsize == 1 and _dtypes.is_floating(self._array.dtype):
        limits = load("lucid._limits:finfo")(self.dtype)
        if abs(number) > limits.max and not (math.isinf(number) and self.dtype == _dtypes.float8_e5m2):
            raise RuntimeError(f"value cannot be converted to type {self.dtype.name} without overflow: {number}")
    return update(self, _fill, value=number)


def fill(input: Tensor, value: Any) -> Tensor:
    """`fill_` into a tensor like `input`: ``lucid.fill(lucid.zeros(2), 3)`` has the elements 3 and 3. Errors as there.

    >>> lucid.fill(lucid.zeros(3), 7)
    Tensor([7.0, 7.0, 7.0], requires_grad=False)
    """
    return fill_(room_for(require_tensor("fill", input), value), value)


def zero_(self: Tensor) -> Tensor:
    """Write 0 into every element.

    >>> x = lucid.ones(2)
    >>> lucid.zero_(x)
    Tensor([0.0, 0.0], requires_grad=False)
    >>> x
    Tensor([0.0, 0.0], requires_grad=False)
    """
    return update(self, _fill, value=0)


SPECIAL_METHODS = {"fill_": fill_, "zero_": zero_}


register(__name__)
