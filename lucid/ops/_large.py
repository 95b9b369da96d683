"""Functions of several operations, in one pass over memory where that pays."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _dtypes
from ..autograd.op import Pull
from ..autograd.overwrite import Overwriting
from ..tensor import Tensor
from .fusion import fuse

# From so many elements on a fused function is faster, forward and with its gradients; below, its own operations are.
LARGE = 1 << 14


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor) and value._array.dtype.kind == "c"


def fused_if_large(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of elementwise operations, by `fuse` if its first argument is large and floating, and no other is complex.

    One by one they read and write memory for each operation: a million elements take 5 to 25 times as long.
    """
    fused = fuse(function)

    @functools.wraps(function)
    def chosen(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        # Symbols of a formula that is being traced have a single element. What writes in place takes no second array.
        large = isinstance(input, Tensor) and input._array.size >= LARGE and input.__class__ is not Overwriting
        if large and _dtypes.is_floating(input._array.dtype) and not any(map(_is_complex, arguments)):
            return fused(input, *arguments, **keywords)
        return function(input, *arguments, **keywords)

    return chosen


Slope = Callable[[Tensor, Tensor], Tensor]


def of_input(slope: Slope) -> Callable[..., Pull]:
    """The rule of an operation on one tensor from its gradient ``slope(g, x)`` of elementwise operations."""
    slope = fused_if_large(slope)
    return lambda needs, x: lambda g, y: (slope(g, x),)


def of_result(slope: Slope) -> Callable[..., Pull]:
    """`of_input` for an operation that keeps its result: ``slope(g, y)``."""
    slope = fused_if_large(slope)
    return lambda needs, x: lambda g, y: (slope(g, y),)
