"""Planes of another size, whose rows and columns are weighted sums of a few neighbours: interpolation and its gradients.

Rows are added up as they lie. For the columns as many rows as a vector has lanes are transposed, so that neighbouring columns
are whole vectors: no element is gathered by itself, whatever the weights. Both happen in the L1 cache, between x and y.
"""
from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, contiguous, result
from ..arrays.strided_copy import transpose_panel
from ..runtime.jit import jit, jit_parallel
from ..simd.aligned import aligned_empty
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.strided import copy_tiles
from .resize_microkernels import weigh_columns, weigh_rows


class Band(NamedTuple):
    """A matrix whose rows have their non-zeros side by side: row i has weights[i, :counts[i]] from column starts[i] on."""

    starts: Array
    counts: Array
    weights: Array


@jit
def _weigh_block(x, rows, height, first, count, target, start, pitch):
    """Rows first..first + count of the results of all planes of x, to `target` from `start` on, `pitch` apart."""
    width = x.shape[2]
    flat, weights = x.reshape(-1), rows.weights.reshape(-1)
    for r in range(count):
        plane, i = (first + r) // height, (first + r) % height
        weigh_rows(flat, (plane * x.shape[1] + rows.starts[i]) * width, width, weights, i * rows.weights.shape[1],
                   rows.counts[i], target, start + r * pitch, width)


@jit
def _weigh_planes(x, rows, columns, first, last, y):
    """Rows first..last of the results (P * OH, OW) of all planes of x (P, H, W), a vector's lanes of them at a time."""
    width, (total, out_width) = x.shape[2], y.shape
    size = x.itemsize
    lanes = VECTOR_BYTES // size
    height, pitch = rows.counts.shape[0], (width + lanes - 1) // lanes * lanes
    lines, turned, sums = aligned_empty(lanes * pitch, x), aligned_empty(lanes * pitch, x), aligned_empty(lanes * out_width, x)
    lines[:] = 0
    flat, weights = y.reshape(-1), columns.weights.reshape(-1)
    for block in range(first, last, lanes):
        start = max(0, min(block, total - lanes))  # the last block computes some rows again
        count = min(lanes, total - start)
        _weigh_block(x, rows, height, start, count, lines, 0, pitch)
        for column in range(0, pitch, lanes):
            copy_tiles(lines, lines.ctypes.data + column * size, pitch * size, turned.ctypes.data + column * lanes * size,
                       lanes * size, 1, 0, False)
        here = flat.ctypes.data + start * out_width * size
        weigh_columns(turned, columns.starts, columns.counts, weights, columns.weights.shape[1], sums, here)
        transpose_panel(flat, sums.ctypes.data, lanes * size, here, out_width * size, out_width, count, lanes, 0, False)


@jit_parallel
def _weigh_planes_parallel(x, rows, columns, each, y):
    for task in numba.prange((y.shape[0] + each - 1) // each):
        _weigh_planes(x, rows, columns, task * each, min(y.shape[0], (task + 1) * each), y)


@jit_parallel
def _weigh_rows_parallel(x, rows, each, y):
    for task in numba.prange((y.shape[0] + each - 1) // each):
        first = task * each
        _weigh_block(x, rows, rows.counts.shape[0], first, min(y.shape[0], first + each) - first, y.reshape(-1),
                     first * y.shape[1], y.shape[1])


def resample(x: Array, rows: Band | None, columns: Band | None, *, out: Array | None = None) -> Array:
    """The planes rows @ x[p] @ columns.T (P, OH, OW) of x (P, H, W), float32 or float64 as the weights; None is the identity."""
    planes, height, width = x.shape
    if rows is None:
        rows = Band(np.arange(height), np.ones(height, np.int64), np.ones((height, 1), x.dtype))
    shape = (planes, rows.counts.size, width if columns is None else columns.counts.size)
    y = result(out, shape, x.dtype)
    if y.size == 0 or x.size == 0:
        y.fill(0)
        return y
    lines = y.reshape(-1, shape[2])
    lanes = VECTOR_BYTES // x.itemsize
    each = -(-max(1, GRAIN // max(width, shape[2])) // lanes) * lanes
    if columns is None:
        _weigh_rows_parallel(contiguous(x), rows, each, lines)
    else:
        _weigh_planes_parallel(contiguous(x), rows, columns, each, lines)
    return y


