"""Functions for formulas beside those of `_math`, which LLVM has itself."""
from __future__ import annotations

from typing import Any

from ._math import _real_intrinsic, intrinsic, maximum

__all__ = ["ceil", "floor", "maximum", "minimum", "rint", "trunc"]


@intrinsic
def minimum(typing_context: Any, x: Any, y: Any) -> Any:
    """The smaller one, NaN if either is NaN."""
    return _real_intrinsic("llvm.minimum", 2)(x, y)


@intrinsic
def floor(typing_context: Any, x: Any) -> Any:
    """The largest integer not above `x`."""
    return _real_intrinsic("llvm.floor", 1)(x)


@intrinsic
def ceil(typing_context: Any, x: Any) -> Any:
    """The smallest integer not below `x`."""
    return _real_intrinsic("llvm.ceil", 1)(x)


@intrinsic
def trunc(typing_context: Any, x: Any) -> Any:
    """`x` without its fraction."""
    return _real_intrinsic("llvm.trunc", 1)(x)


@intrinsic
def rint(typing_context: Any, x: Any) -> Any:
    """The nearest integer, halves to even."""
    return _real_intrinsic("llvm.rint", 1)(x)
