"""Where the matrices of a stack lie."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.layout import Array


def offsets_of(x: Array, lead: tuple[int, ...]) -> Array:
    """The bytes from the first of the stacked matrices to each, row by row, where `x` is broadcast to the leading shape."""
    missing = len(lead) + 2 - x.ndim
    total: Any = np.zeros(1, np.int64)
    for dim, length in enumerate(lead):
        own = dim - missing
        step = x.strides[own] if own >= 0 and x.shape[own] == length else 0
        total = (total[:, None] + np.arange(0, length * step, step) if step else np.repeat(total[:, None], length, 1)).reshape(-1)
    return total
