"""Checking indices and divisors on a GPU without waiting for it: see `bounds.cu`."""
from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch


def check_bounds(indices: Any, *, low: int, high: int, message: str) -> None:
    """Leave an IndexError for `launch.raise_pending` unless ``low <= index < high`` for every index; no wait.

    `message` has the fields `{value}` (one of the wrong indices) and `{limit}` (`high`). It is registered for good, so it
    should hold no other number that varies much. Where no index at all is right, the error is raised at once.
    """
    if not indices.size:
        return
    if low >= high:  # CuPy divides by the length, or refuses; so waiting costs nothing now
        raise IndexError(message.format(value=int(indices.reshape(-1)[0]), limit=high))
    if indices.dtype == np.uint64:
        indices = cupy.minimum(indices, np.uint64(2**63 - 1))  # else the largest would become negative
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    launch.kernel("bounds", f"check_bounds<{launch.ctype(indices.dtype)}>")(
        *launch.grid_1d(indices.size),
        (copies.contiguous(indices), np.int64(indices.size), np.int64(low), np.int64(high), launch.error_flag(),
         launch.error_code(message)),
    )  # fmt: skip


def check_nonzero(numbers: Any, *, message: str) -> None:
    """Leave a RuntimeError for `launch.raise_pending` if one of the whole `numbers` is 0; no wait."""
    if not numbers.size:
        return
    numbers = copies.contiguous(numbers)
    word = np.dtype(f"u{numbers.itemsize}")
    kind = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "u64"}[numbers.itemsize]
    launch.kernel("bounds", f"check_nonzero<{kind}>")(
        *launch.grid_1d(numbers.size),
        (numbers.view(word), np.int64(numbers.size), launch.error_flag(), launch.error_code(message, RuntimeError)))  # fmt: skip
