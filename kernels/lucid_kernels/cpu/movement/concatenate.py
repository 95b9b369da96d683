"""Arrays one after the other along a dimension, in one launch for all of them.

The arrays are rows of bytes, those of the result one row of each, one after the other. A unit of work is some rows of the result,
or of long ones a piece of one: a thread that wrote every other run of rows of the result would take lines from the one that
writes those between, which took twice as long for rows of 128 bytes.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.strided_copy import CHUNK, streams_rows
from ..runtime.allocator import empty
from ..runtime.jit import jit_parallel
from ..simd.address import address_of
from ..simd.nontemporal import fence, streams
from ..simd.strided import copy_bytes

Array = np.ndarray[Any, Any]


@jit_parallel
def _join_rows(parts, target, pitch, rows, piece, stream):
    """Rows of the target, `pitch` bytes each, in units of `piece` rows, from parts: of each its address and its rows' bytes."""
    for task in numba.prange((rows + piece - 1) // piece):
        first = task * piece
        number, end = min(piece, rows - first), target + first * pitch
        for part in range(parts.shape[0]):
            address, count = parts[part]
            copy_bytes(address + first * count, count, end, pitch, number, count, stream)
            end += count
        if stream:
            fence()


@jit_parallel
def _join_pieces(parts, ends, target, pitch, rows, stream):
    """The same in units of CHUNK bytes of a row of the target, in which the parts end at `ends`."""
    pieces = (pitch + CHUNK - 1) // CHUNK
    for task in numba.prange(rows * pieces):
        row, begin = np.int64(task) // pieces, np.int64(task) % pieces * CHUNK
        stop: Any = min(pitch, begin + CHUNK)
        part = np.searchsorted(ends, begin, side="right")
        while begin < stop:
            address, count = parts[part]
            length = min(stop, ends[part]) - begin
            start = address + row * count + begin - (ends[part] - count)
            copy_bytes(start, length, target + row * pitch + begin, length, 1, length, stream)
            begin += length
            part += 1
        if stream:
            fence()


def join(arrays: Sequence[Array], axis: int) -> Array:
    """The arrays one after the other along `axis`: contiguous ones of one dtype, of one shape but for `axis`, none empty."""
    first = arrays[0]
    length = sum([array.shape[axis] for array in arrays])
    result: Array = empty((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype)
    rows = math.prod(first.shape[:axis])
    parts = np.array([(address_of(array), array.nbytes // rows) for array in arrays], np.int64)
    start, pitch = address_of(result), result.nbytes // rows
    counts = parts[:, 1].tolist()
    stream = streams(2 * result.nbytes) and streams_rows(min(counts), start, pitch, *counts)
    if pitch > CHUNK:
        _join_pieces(parts, np.cumsum(parts[:, 1]), start, pitch, rows, stream)
    else:
        _join_rows(parts, start, pitch, rows, CHUNK // pitch, stream)
    return result
