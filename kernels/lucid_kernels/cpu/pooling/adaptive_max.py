"""Max pooling of planes over windows without gaps that are given by the rows and columns where they start and stop.

The maxima down the columns are taken of whole rows of the plane. As many of those results as a vector has lanes are transposed,
so that the columns of a window are whole vectors: no element is shuffled by itself, whatever the windows, and narrow planes
fill the lanes too.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array
from ..runtime.jit import jit_exact, jit_parallel
from ..simd.aligned import aligned_empty
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.strided import copy_tiles
from .max_planes import clip_planes
from .range_microkernels import max_across, max_down

# Columns that are transposed at a time, unless a window has more: their four arrays fill 64 KiB of the L2 cache.
_SPAN = 256


@jit_exact
def _to_lanes(kind, rows, pitch, columns, turned):
    """A vector's lanes of rows become lanes of `columns` vectors, or a few more."""
    size = kind.itemsize
    lanes = VECTOR_BYTES // size
    for column in range(0, columns, lanes):
        source, target = rows.ctypes.data + column * size, turned.ctypes.data + column * lanes * size
        copy_tiles(kind, source, pitch * size, target, lanes * size, 1, 0, False)


@jit_exact
def _to_rows(kind, turned, columns, rows, pitch):
    """The inverse of `_to_lanes`."""
    size = kind.itemsize
    lanes = VECTOR_BYTES // size
    tiles = (columns + lanes - 1) // lanes
    copy_tiles(kind, turned.ctypes.data, lanes * size, rows.ctypes.data, pitch * size, tiles, 0, False)


@jit_exact
def _max_ranges(x, rows, columns, span, kind, y, indices, first, last):
    """`max_ranges` for the rows first..last of the results (P * OH, OW), a vector's lanes of them at a time."""
    _, height, width = x.shape
    total, out_width = y.shape
    out_height = rows.shape[1]
    lanes = VECTOR_BYTES // x.itemsize
    pitch = (span // lanes + 2) * lanes  # a vector more: rows a power of two apart share few sets of the cache
    best, turned = aligned_empty(lanes * pitch, x), aligned_empty(lanes * pitch, x)
    positions, turned_positions = aligned_empty(lanes * pitch, kind), aligned_empty(lanes * pitch, kind)
    best[:] = 0
    flat = x.reshape(-1)
    for block in range(first, last, lanes):
        start = max(0, min(block, total - lanes))  # the last block computes some rows again
        count = min(lanes, total - start)
        left = 0
        while left < out_width:
            shift, right = columns[0, left], left + 1
            while right < out_width and right - left < span and columns[1, right] - shift <= span:
                right += 1
            read = columns[1, right - 1] - shift
            for r in range(count):
                plane, i = (start + r) // out_height, (start + r) % out_height
                position = rows[0, i] * width + shift
                corner, taps = plane * height * width + position, rows[1, i] - rows[0, i]
                max_down(flat, corner, width, taps, position, best, positions, r * pitch, read)
            _to_lanes(kind, best, pitch, read, turned)
            _to_lanes(kind, positions, pitch, read, turned_positions)
            # The rows are not needed any more: the results take their place.
            max_across(turned, turned_positions, columns[0], columns[1], left, right, shift, best, positions)
            results = right - left
            _to_rows(kind, best, results, turned, pitch)
            _to_rows(kind, positions, results, turned_positions, pitch)
            for r in range(count):
                for j in range(results):
                    y[start + r, left + j] = turned[r * pitch + j]
                for j in range(results):
                    indices[start + r, left + j] = turned_positions[r * pitch + j]
            left = right


@jit_parallel
def _max_ranges_parallel(x, rows, columns, span, kind, relu, each, y, indices):
    for task in numba.prange((y.shape[0] + each - 1) // each):
        first, last = task * each, min(y.shape[0], (task + 1) * each)
        _max_ranges(x, rows, columns, span, kind, y, indices, first, last)
        if relu:
            clip_planes(y, indices, first, last)


def max_ranges(x: Array, rows: Array, columns: Array, relu: bool, y: Array, indices: Array) -> None:
    """Maxima of x (P, H, W), to y (P, OH, OW), and their positions in the plane; with `relu` ReLU of them.

    Window (oh, ow) has the rows rows[0, oh]..rows[1, oh] and the columns columns[0, ow]..columns[1, ow], at least one of each,
    which do not decrease from one window to the next. In float32 planes have less than 2^31 elements.
    """
    if y.size == 0:
        return
    width = x.shape[2]
    lanes = VECTOR_BYTES // x.itemsize
    span = max(min(width, _SPAN), int((columns[1] - columns[0]).max()))
    area = int((rows[1] - rows[0]).max()) * width  # of a row of the results, at most
    each = -(-max(1, GRAIN // area) // lanes) * lanes
    flat = (-1, y.shape[2])
    kind = np.empty(0, f"i{x.itemsize}")
    _max_ranges_parallel(x, rows, columns, span, kind, relu, each, y.reshape(flat), indices.reshape(flat))
