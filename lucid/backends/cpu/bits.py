"""Elements that are moved, not computed with, as integers of their size: one CPU kernel for all dtypes of a size."""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Bytes of an element -> the dtype that stands for it; not for complex128.
BITS = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("f4"), 8: np.dtype("f8")}


def as_bits(x: Array, dtype: Any) -> Array:
    """The same bits as another dtype of the same size; a contiguous copy where `x` is not contiguous."""
    return x if x.dtype == dtype else np.ascontiguousarray(x).view(dtype)
