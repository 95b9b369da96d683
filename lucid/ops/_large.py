"""Functions of several operations, in one pass over memory where that pays."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from .. import _dtypes
from ..tensor import Tensor
from .fusion import fuse

# From so many elements on a fused function is faster, forward and with its gradients; below, its own operations are.
LARGE = 1 << 14


def fused_if_large(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function` of elementwise operations, by `fuse` if its first argument is large and floating, and no other is complex.

    One by one they read and write memory for each operation: a million elements take 5 to 25 times as long.
    """
    fused = fuse(function)

    @functools.wraps(function)
    def chosen(input: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        # Symbols of a formula that is being traced have a single element.
        large = isinstance(input, Tensor) and input._array.size >= LARGE and _dtypes.is_floating(input._array.dtype)
        if large and not any(isinstance(value, Tensor) and value._array.dtype.kind == "c" for value in arguments):
            return cast(Tensor, fused(input, *arguments, **keywords))
        return function(input, *arguments, **keywords)

    return chosen
