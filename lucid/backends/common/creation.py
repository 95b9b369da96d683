"""New arrays that NumPy and CuPy make alike: `table(xp)` binds them to either."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Kernel = Callable[..., Any]


def table(xp: Any) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy)."""

    def triangle_indices(*, rows: int, columns: int, offset: int, upper: bool, dtype: Any) -> Array:
        """The rows and columns (2, n) of the elements of a matrix on and above, or below, a diagonal, row by row."""
        # A row after the other: a tenth of the time of a comparison for each element. By NumPy, as CuPy's `repeat`
        # takes no array of counts.
        row_indices = np.arange(rows)
        first = np.clip(row_indices + offset, 0, columns) if upper else np.zeros(rows, np.int64)
        counts = columns - first if upper else np.clip(row_indices + offset + 1, 0, columns)
        ends = counts.cumsum()
        indices = np.empty((2, counts.sum()), dtype)
        indices[0] = np.repeat(row_indices, counts)
        indices[1] = np.arange(indices.shape[1])
        indices[1] -= np.repeat(ends - counts - first, counts).astype(dtype, copy=False)
        return xp.asarray(indices)

    return {"arange": xp.arange, "eye": xp.eye, "linspace": xp.linspace, "triangle_indices": triangle_indices}
