"""Windows of arrays: where they lie, and sums over them in half precision."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]


def in_float32(kernel: Kernel) -> Kernel:
    """`kernel` for half precision too: its sums are rounded once."""
    @functools.wraps(kernel)
    def rounding(*arrays: Array | None, out: Array | None = None, **attributes: Any) -> Array:
        result = kernel(*[None if array is None else wide(array) for array in arrays], **attributes)
        dtype = arrays[0].dtype  # type: ignore[union-attr]
        if out is None:
            return result.astype(dtype) if dtype in HALVES else result
        out[...] = result
        return out

    return rounding


def matches(length: int, outputs: int, taps: int, stride: int, padding: int, dilation: int) -> list[tuple[slice, slice]]:
    """For each tap along one dimension, the outputs for which it meets the input, and the elements that it meets there."""
    found = []
    for tap in range(taps):
        offset = tap * dilation - padding
        first = min(outputs, max(0, -(offset // stride)))
        last = max(first, min(outputs, -((offset - length) // stride)))
        start = first * stride + offset
        found.append((slice(first, last), slice(start, start + (last - first) * stride, stride)))
    return found
