"""Padded rows in one pass, on all threads: which element each one repeats is the same in all rows, and is told by its index."""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import Array, row_chunk
from ..runtime.jit import jit_parallel, jit_unrolled


@jit_unrolled
def _pad_row(row: Any, y: Any, columns: Any, before: int, value: Any) -> None:
    """`row` into y[before:], and around it the elements of `row` that `columns` names, or `value` for -1."""
    start = np.uint64(before)
    for i in range(np.uint64(row.shape[0])):
        y[start + i] = row[i]
    for i in range(np.uint64(columns.shape[0])):
        source = columns[i]
        y[i if i < start else i + np.uint64(row.shape[0])] = value if source < 0 else row[np.uint64(source)]


@jit_parallel
def _pad_parallel(x: Any, y: Any, rows: Any, columns: Any, before: int, height: int, value: Any) -> None:
    each = row_chunk(y.shape[1])
    for task in numba.prange((y.shape[0] + each - 1) // each):
        for r in range(task * each, min(y.shape[0], (task + 1) * each)):
            source = rows[r % rows.shape[0]]
            if source < 0:
                y[r] = value
            else:
                _pad_row(x[r // rows.shape[0] * height + source], y[r], columns, before, value)


def pad(x: Array, y: Array, rows: Array, columns: Array, before: int, value: Any) -> None:
    """Fill y (planes, rows, width) from x (planes, height, length): contiguous arrays of one dtype that Numba knows.

    Row r of a plane is row rows[r] of x, or `value` where that is -1. Its `length` elements come after `before` others; those and
    the ones behind them are the elements of the row that `columns` names, or `value` for -1.
    """
    flat = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
    _pad_parallel(*flat, rows, columns, before, x.shape[1], y.dtype.type(value))
