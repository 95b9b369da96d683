"""Checking indices and divisors: NumPy's reductions are as fast as a loop of our own, on one thread."""

from __future__ import annotations

import numpy as np

from ..runtime import tuning

_UNSIGNED = {np.dtype(f"i{size}"): np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_FEW = 16  # indices that Python compares in less time than NumPy's reduction takes to begin


def _largest(indices: np.ndarray) -> int:
    if indices.size < tuning.CHECK_BOUNDS_FROM or not indices.flags.c_contiguous or indices.dtype.kind != "u":
        return np.maximum.reduce(indices, axis=None)
    from .largest_index import largest  # compiles with Numba: imported with the first many indices

    return largest(indices.reshape(-1))


def check_bounds(indices: np.ndarray, *, low: int, high: int, message: str) -> None:
    """Raise IndexError unless ``low <= index < high`` for every index.

    `message` has the fields `{value}` (one of the wrong indices) and `{limit}` (`high`).
    """
    if not indices.size:
        return
    if indices.size <= _FEW:
        numbers = indices.tolist() if indices.ndim == 1 else indices.ravel().tolist()
        if low <= min(numbers) and max(numbers) < high:
            return
    if 0 in indices.strides:  # what an expanded dimension repeats is looked at once
        indices = indices[tuple(slice(None) if step else slice(1) for step in indices.strides)]
    # As unsigned integers negative ones are too large as well: one comparison instead of two.
    if low <= 0 and _largest(indices.view(_UNSIGNED.get(indices.dtype, indices.dtype))) < high:
        return
    smallest, largest = int(indices.min()), int(indices.max())
    if smallest < low or largest >= high:
        raise IndexError(message.format(value=smallest if smallest < low else largest, limit=high))


def check_nonzero(numbers: np.ndarray, *, message: str) -> None:
    """Raise RuntimeError if one of the whole `numbers` is 0."""
    if not numbers.all():
        raise RuntimeError(message)
