"""What convolution and pooling share: which positions of a row a sliding window reaches."""
from __future__ import annotations

from ._compile import jit_exact


@jit_exact
def valid_range(offset, stride, length, count):
    """First and end of the outputs o in 0..count whose input position o * stride + offset lies in 0..length."""
    first = 0 if offset >= 0 else (-offset + stride - 1) // stride
    last = 0 if offset >= length else (length - 1 - offset) // stride + 1
    last = min(last, count)
    return min(first, last), last
