"""Elements kept between two bounds."""
from __future__ import annotations

from typing import Any

from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import promote, reduce_to, require_tensor, shape_of
from .._out import accepts_out
from .where import where_op

METHODS = ("clip", "clamp", "clamp_min", "clamp_max")
INPLACE_METHODS = SINGLE = METHODS


def _clip_rule(needs: Any, x: Tensor, low: Any, high: Any) -> Vjp:
    low_shape, high_shape = shape_of(low), shape_of(high)

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        # As in PyTorch: the bounds belong to the interval, and NaN elements pass no gradient.
        if high is None:
            within = x >= low
        else:
            within = x <= high if low is None else (x >= low) & (x <= high)
        dx = where_op(within, g, 0)
        d_low = d_high = None
        if low_shape is not None and needs[1]:
            first = x < low if high is None else (x < low) & (low < high)
            d_low = reduce_to(where_op(first, g, 0), low_shape)
        if high_shape is not None and needs[2]:
            second = x > high if low is None else (x > high) | (low > high)
            d_high = reduce_to(where_op(second, g, 0), high_shape)
        return reduce_to(dx, x_shape), d_low, d_high

    x_shape = x._array.shape
    return vjp


_clip = single_op("clip", _clip_rule)
_PLAIN_BOUNDS = {float, int, None.__class__}


@accepts_out
def clip(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Elements moved into [min, max]; either bound may be a number, a tensor or None, but not both None.

    Where ``min > max`` the result is `max`. The gradient passes where the element is inside, bounds included. Raises
    NotImplementedError for complex numbers.

    >>> lucid.clamp(lucid.tensor([-2.0, 0.5, 3.0]), min=-1, max=1)
    Tensor([-1.0,  0.5,  1.0], requires_grad=False)
    >>> lucid.clamp(lucid.tensor([1, 5]), max=lucid.tensor([3, 3]))
    Tensor([1, 3], requires_grad=False)
    """
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    floating = require_tensor("clamp", input)._array.dtype.kind == "f"
    if floating and min.__class__ in _PLAIN_BOUNDS and max.__class__ in _PLAIN_BOUNDS:
        return _clip(input, min, max)  # as they are: the checks below take twice as long as the rest of the call
    given = [value for value in (input, min, max) if value is not None]
    if any(value.__class__ is complex or (isinstance(value, Tensor) and value._array.dtype.kind == "c") for value in given):
        raise NotImplementedError("clamp is not supported for complex types")
    converted = iter(promote("clip", *given))
    x, low, high = (None if value is None else next(converted) for value in (input, min, max))
    return _clip(x, low, high)


clamp = clip


@accepts_out
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """``clamp(input, min=min)``.

    >>> lucid.clamp_min(lucid.tensor([1, 5]), 3)
    Tensor([3, 5], requires_grad=False)
    """
    return clip(input, min)


@accepts_out
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """``clamp(input, max=max)``.

    >>> lucid.clamp_max(lucid.tensor([1, 5]), 3)
    Tensor([1, 3], requires_grad=False)
    """
    return clip(input, None, max)


register(__name__)
