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

from ._address import address_of
from ._compile import jit_parallel
from ._pool import empty
from ._streaming import fence, streams
from ._strided_microkernels import copy_bytes
from .strided_copy import CHUNK, streams_rows

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
def _join_pieces(parts, target, pitch, rows, pieces, stream):
    """The same in units of CHUNK bytes of a row of a part: a row has `pieces` of them in all parts."""
    for task in numba.prange(rows * pieces):
        row, piece, end, part = task // pieces, task % pieces, target + task // pieces * pitch, 0
        while piece * CHUNK >= parts[part, 1]:
            piece -= (parts[part, 1] + CHUNK - 1) // CHUNK
            end += parts[part, 1]
            part += 1
        count = parts[part, 1]
        start, length = parts[part, 0] + row * count + piece * CHUNK, min(CHUNK, count - piece * CHUNK)
        copy_bytes(start, length, end + piece * CHUNK, length, 1, length, stream)
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
        _join_pieces(parts, start, pitch, rows, sum([-(-count // CHUNK) for count in counts]), stream)
    else:
        _join_rows(parts, start, pitch, rows, CHUNK // pitch, stream)
    return result
