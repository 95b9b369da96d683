"""Sums of the rows of large arrays with gaps between them: slices of a tensor, crops of images, every other row.

The kernels of `reduction.py` take arrays without gaps: a copy, and its sums, took three times as long.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.strided_copy import CHUNK, Dimension, dimensions, in_rows, unit_of, units
from ..arrays.tensor_list import part
from ..runtime import tuning
from ..runtime.jit import jit_parallel
from ..simd.address import address_of
from ..simd.reduce import sum_of

Array = np.ndarray[Any, Any]


@jit_parallel
def _sum_rows(like, source, target, counted, rows, count, piece, each):
    """The sum of each row of `count` bytes to a float64 of the target; the arguments are those of `_copy_rows`."""
    length, total, double = count // like.itemsize, units(counted, rows, piece), np.empty(0)
    for task in numba.prange((total + each - 1) // each):
        for work in range(task * each, min(total, (task + 1) * each)):
            start, end, number = unit_of(counted, rows, piece, work)
            for row in range(number):
                flat = part(source + start + row * rows.source, 0, length, like)
                part(target + end + row * rows.target, 0, 1, double)[0] = sum_of(flat, np.uint64(0), np.uint64(length))


def suits(x: Array) -> bool:
    """Whether the large array `x` is one of `row_sums`: of float32 or float64, its last dimension long and without gaps."""
    return x.ndim > 1 and x.dtype.char in "fd" and x.strides[-1] == x.itemsize and x.shape[-1] >= tuning.STRIDED_SUM_LEAST_ROW


def row_sums(x: Array) -> Array:
    """The sums of `x` along its last dimension, in float64; those of long rows by pieces, so that threads share them."""
    length, longest = x.shape[-1], CHUNK // x.itemsize
    if length >= 2 * longest:
        whole = length // longest * longest
        totals = row_sums(x[..., :whole].reshape(*x.shape[:-1], -1, longest)).sum(axis=-1)
        return totals if whole == length else totals + row_sums(x[..., whole:])
    totals = np.empty(x.shape[:-1])

    def launch(source: int, target: int, given: list[Dimension], work: tuple[Any, ...]) -> None:
        _sum_rows(np.empty(0, x.dtype), source, target, *work)

    in_rows(launch, address_of(x), address_of(totals), dimensions(totals, x[..., 0], totals.itemsize), length * x.itemsize, False)
    return totals
