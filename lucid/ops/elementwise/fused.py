"""Functions of several operations as one, where that pays."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ... import _dtypes
from ...autograd.op import Vjp
from ...tensor import Tensor
from ..fusion import fused

# From so many elements on a fused function is faster, forward and with its gradients; below, its own operations are.
LARGE = 1 << 14

Formula = TypeVar("Formula", bound=Callable[..., Any])


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor) and value._array.dtype.kind == "c"


def _floats(input: Any, arguments: Sequence[Any]) -> Any:
    """The array of the first argument of a formula; None if it cannot be fused, or another argument cannot."""
    if isinstance(input, Tensor):
        array = input._array
        if hasattr(array, "is_sparse"):
            return None
        if _dtypes.is_floating(array.dtype) and not (arguments and any(map(_is_complex, arguments))):
            return array
    return None


def fused_if_large(function: Callable[..., Any], least: int | None = None) -> Callable[..., Any]:
    """`function` of elementwise operations, by `fuse` if its first argument is large and floating, and no other is complex.

    Large is one of LARGE elements, or of at `least` so many. One by one they read and write memory for each operation: a million
    elements take 5 to 25 times as long.
    """
    formula = fused(function)

    @functools.wraps(function)
    def chosen(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        # Symbols of a formula that is being traced have a single element.
        if isinstance(input, Tensor) and input._array.size >= (least or LARGE) and _floats(input, arguments) is not None:
            return formula(input, *arguments, **keywords)
        return function(input, *arguments, **keywords)

    return chosen


def fused_formula(function: Formula) -> Formula:
    """The same for so many operations that one in their place is faster on the CPU for tensors of any size, 3 to 8 times.

    Other scalars among the arguments are another formula, which takes a millisecond: not for functions of a few operations
    that are called with many of them.
    """
    def suits(values: Sequence[Any]) -> bool:
        array = _floats(values[0], values[1:])
        return array is not None and (array.__class__ is np.ndarray or array.size >= LARGE)

    made: Any = fused(function, by_steps=True, suits=suits)
    return made


Slope = Callable[[Tensor, Tensor], Tensor]


def of_input(slope: Slope) -> Callable[..., Vjp]:
    """The rule of an operation on one tensor from its gradient ``slope(g, x)`` of elementwise operations."""
    slope = fused_if_large(slope)
    return lambda needs, x: lambda g, y: (slope(g, x),)


def of_result(slope: Slope) -> Callable[..., Vjp]:
    """`of_input` for an operation that keeps its result: ``slope(g, y)``."""
    slope = fused_if_large(slope)
    return lambda needs, x: lambda g, y: (slope(g, y),)
