"""Sums of the rows of a table that are named together, and the rows with their maxima: bags of words.

The sum of a bag stays in registers while its rows are read, and these are written nowhere.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, contiguous
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel
from ..simd.prefetch import prefetch
from .bag_microkernels import sum_rows

_AHEAD = 8  # rows that are prefetched


@jit_exact
def _prefetch_row(weight, indices, i):
    if i < indices.shape[0]:
        width = weight.shape[1] * weight.itemsize
        prefetch(weight.ctypes.data + indices[i] * width, width)


@jit_exact
def _sum_bags(weight, indices, offsets, factors, first, last, y):
    weighted, end = factors.shape[0] > 0, indices.shape[0]
    for bag in range(first, last):
        sum_rows(weight, indices, offsets[bag], offsets[bag + 1], end, factors, weighted, y, bag * weight.shape[1])


@jit_parallel
def _sum_bags_parallel(weight, indices, offsets, factors, each, y):
    for task in numba.prange((y.shape[0] + each - 1) // each):
        _sum_bags(weight, indices, offsets, factors, task * each, min(y.shape[0], (task + 1) * each), y.reshape(-1))


@jit_exact
def _find_maxima(weight, indices, offsets, first, last, y):
    peaks = np.empty(weight.shape[1], weight.dtype)
    for bag in range(first, last):
        found = y[bag]
        found[:] = -1
        for i in range(offsets[bag], offsets[bag + 1]):
            _prefetch_row(weight, indices, i + _AHEAD)
            index = indices[i]
            row, start = weight[np.uint64(index)], i == offsets[bag]
            for j in range(peaks.shape[0]):
                larger = start or row[j] > peaks[j]
                peaks[j] = row[j] if larger else peaks[j]
                found[j] = index if larger else found[j]


@jit_parallel
def _find_maxima_parallel(weight, indices, offsets, each, y):
    for task in numba.prange((y.shape[0] + each - 1) // each):
        _find_maxima(weight, indices, offsets, task * each, min(y.shape[0], (task + 1) * each), y)


def _bags_of_a_task(weight: Array, indices: Array, bags: int) -> int:
    return max(1, GRAIN * bags // max(1, indices.size * weight.shape[1]))


def sum_bags(weight: Array, indices: Array, offsets: Array, factors: Array | None) -> Array:
    """The sums (B, D) of the rows of `weight` (V, D), float32 or float64, that indices[offsets[b] : offsets[b + 1]] name, each
    times its factor, if there are `factors` (n,). The indices are int64 and in range; offsets (B + 1,) do not decrease.
    """
    y = empty((offsets.size - 1, weight.shape[1]), weight.dtype)
    scales = np.empty(0, weight.dtype) if factors is None else contiguous(factors)
    each = _bags_of_a_task(weight, indices, len(y))
    _sum_bags_parallel(contiguous(weight), contiguous(indices), contiguous(offsets), scales, each, y)
    return y


def find_maxima(weight: Array, indices: Array, offsets: Array) -> Array:
    """The rows (B, D) in which the maxima of bags stand, -1 where a bag is empty: the first of equal ones; NaN where it is first.

    The arguments are those of `sum_bags`.
    """
    y = empty((offsets.size - 1, weight.shape[1]), np.int64)
    each = _bags_of_a_task(weight, indices, len(y))
    _find_maxima_parallel(contiguous(weight), contiguous(indices), contiguous(offsets), each, y)
    return y
