"""How often each of some small numbers appears."""
from __future__ import annotations

import numpy as np

from ._compile import jit_exact
from ._layout import Array

# Counts of neighbouring elements are apart: one that has just been written is not read again before it is in the cache.
_APART = 4


@jit_exact
def _count(x, counts):
    size = x.shape[0] - x.shape[0] % _APART
    for i in range(0, size, _APART):
        for part in range(_APART):
            counts[part, np.uint64(x[i + part])] += 1
    for i in range(size, x.shape[0]):
        counts[0, np.uint64(x[i])] += 1


def count(x: Array, length: int) -> Array:
    """How often 0 to length - 1 appear in x (n,), int64: int64 (length,). All of its elements are among them."""
    counts = np.zeros((_APART, length), np.int64)
    _count(x, counts)
    total: Array = counts.sum(axis=0)
    return total
