"""How many windows fit along a dimension: the lengths of what convolutions and poolings return."""
from __future__ import annotations

from collections.abc import Sequence


def window_count(length: int, taps: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> int:
    """The windows along one dimension. With `ceil_mode` a last, partial one counts if it begins inside the input or the padding
    before it, as in PyTorch.
    """
    span = length + 2 * padding - dilation * (taps - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= length + padding else count


def window_counts(lengths: Sequence[int], taps: Sequence[int], stride: Sequence[int], padding: Sequence[int],
                  dilation: Sequence[int] = (1, 1, 1), ceil_mode: bool = False) -> tuple[int, ...]:
    """The same of each dimension."""
    return tuple([window_count(*axis, ceil_mode) for axis in zip(lengths, taps, stride, padding, dilation)])
