"""The gradient of a lookup table. Looking up is NumPy's `take`, at the speed of the memory.

Each row of g is added to the row of its index, in the order of the indices: the result does not depend on the number of
threads. A task owns a block of columns, of all rows where there are blocks enough, else of every eighth row.
"""

from __future__ import annotations

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, chunk, chunks, contiguous, deliver, result
from ..runtime import tuning
from ..runtime.jit import jit, jit_parallel

# Columns of a task: several cache lines, so that tasks seldom write to the same one.
_COLUMNS = 128
# To this many tasks rows are dealt out, unless there are as many blocks of columns.
_PARTS = 8


@jit_parallel
def _clear_parallel(array):
    for i in numba.prange(chunks(array.size)):
        chunk(array, i)[:] = 0


@jit
def _add_rows(g, indices, padding_idx, part, mask, left, right, dx):
    """dx[indices[i]] += g[i] in columns left..right, where the index is `part` in the bits of `mask`.

    Return whether all of these indices were in range.
    """
    rows = np.uint64(dx.shape[0])
    good = True
    for i in range(indices.shape[0]):
        index = indices[i]
        if (index & mask) != part:
            continue
        if np.uint64(index) >= rows:
            good = False
        elif index != padding_idx:
            source, target = g[i, left:right], dx[index, left:right]
            for j in range(target.shape[0]):
                target[j] += source[j]
    return good


@jit_parallel
def _add_rows_parallel(g, indices, padding_idx, blocks, parts, dx):
    width = dx.shape[1]
    good = np.ones(1, np.bool_)
    for task in numba.prange(blocks * parts):
        left = task // parts * width // blocks
        right = (task // parts + 1) * width // blocks
        if not _add_rows(g, indices, padding_idx, task % parts, parts - 1, left, right, dx):
            good[0] = False
    return good[0]


@upcast_half
def embedding_grad(g: Array, indices: Array, *, rows: int, padding_idx: int | None, out: Array | None = None) -> Array:
    """Gradient (rows, D) of the table: the rows of g (n, D) added up by indices (n,), without those equal to `padding_idx`.

    IndexError where an index is out of range.
    """
    dx = result(out, (rows, g.shape[1]), g.dtype)
    if dx.size < tuning.PARALLEL_FROM:
        dx.fill(0)
    else:
        _clear_parallel(dx.reshape(-1))
    arguments = (contiguous(g), contiguous(indices), -1 if padding_idx is None else padding_idx)
    if g.size < tuning.PARALLEL_FROM:
        good = _add_rows(*arguments, 0, 0, 0, g.shape[1], dx)
    else:
        blocks = max(1, g.shape[1] // _COLUMNS)
        good = _add_rows_parallel(*arguments, blocks, 1 if blocks >= _PARTS else _PARTS, dx)
    if not good:
        raise IndexError(f"embedding_grad: an index is outside the table of {rows} rows")
    return deliver(out, dx)
