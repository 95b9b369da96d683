"""Products of a matrix of which only some elements are kept, by rows (CSR), and the same elements of a product of dense matrices.

Those of row r are values[compressed[r]:compressed[r + 1]], and stand in the columns plain[...]. A task owns rows of the result,
so sums are in one order whatever the number of threads; rows are dealt out by the elements that they hold.
"""

from __future__ import annotations

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, contiguous, deliver, result
from ..runtime import tuning
from ..runtime.jit import jit, jit_parallel

# Columns of the result whose sums stay in the first cache while the elements of a row are added.
_COLUMNS = 1024


@jit
def _add_rows(values, compressed, plain, dense, first, last, y):
    """y[r] = the sum of values[p] * dense[plain[p]] over the elements p of row r, for rows first..last."""
    width = dense.shape[1]
    if width == 1:
        for r in range(first, last):
            total = y.dtype.type(0)
            for p in range(compressed[r], compressed[r + 1]):
                total += values[p] * dense[plain[p], 0]
            y[r, 0] = total
        return
    for r in range(first, last):
        for left in range(0, width, _COLUMNS):
            right = min(width, left + _COLUMNS)
            row = y[r, left:right]
            row[:] = 0
            start, stop = compressed[r], compressed[r + 1]
            p = start
            while p + 3 < stop:  # four rows at a time: the sums are read and written a quarter as often
                a, b, c, d = values[p], values[p + 1], values[p + 2], values[p + 3]
                x, z = dense[plain[p], left:right], dense[plain[p + 1], left:right]
                v, w = dense[plain[p + 2], left:right], dense[plain[p + 3], left:right]
                for j in range(row.shape[0]):
                    row[j] = row[j] + a * x[j] + b * z[j] + c * v[j] + d * w[j]
                p += 4
            while p < stop:
                a, x = values[p], dense[plain[p], left:right]
                for j in range(row.shape[0]):
                    row[j] += a * x[j]
                p += 1


@jit_parallel
def _add_rows_parallel(values, compressed, plain, dense, tasks, y):
    count = values.shape[0]
    for task in numba.prange(tasks):
        first = np.searchsorted(compressed, count * task // tasks) if task else 0
        last = np.searchsorted(compressed, count * (task + 1) // tasks) if task + 1 < tasks else y.shape[0]
        _add_rows(values, compressed, plain, dense, min(first, y.shape[0]), min(last, y.shape[0]), y)


@upcast_half
def csr_matmul(values: Array, compressed: Array, plain: Array, dense: Array, *, out: Array | None = None) -> Array:
    """The product (rows, width) with `dense` (columns, width), of one dtype with `values` (n,); `compressed` is (rows + 1,)."""
    y = result(out, (compressed.shape[0] - 1, dense.shape[1]), dense.dtype)
    arguments = contiguous(values), contiguous(compressed), contiguous(plain), contiguous(dense)
    work = values.size * dense.shape[1]
    if work < tuning.PARALLEL_FROM:
        _add_rows(*arguments, 0, y.shape[0], y)
    else:
        _add_rows_parallel(*arguments, max(1, min(y.shape[0], work // GRAIN)), y)
    return deliver(out, y)


@jit
def _dot_rows(a, b, compressed, plain, first, last, y):
    for r in range(first, last):
        row = a[r]
        for p in range(compressed[r], compressed[r + 1]):
            other, total = b[plain[p]], y.dtype.type(0)
            for j in range(row.shape[0]):
                total += row[j] * other[j]
            y[p] = total


@jit_parallel
def _dot_rows_parallel(a, b, compressed, plain, tasks, y):
    rows = a.shape[0]
    for task in numba.prange(tasks):
        _dot_rows(a, b, compressed, plain, rows * task // tasks, rows * (task + 1) // tasks, y)


@upcast_half
def csr_sampled(a: Array, b: Array, compressed: Array, plain: Array, *, out: Array | None = None) -> Array:
    """The elements (n,) of ``a @ b.T`` that are kept, for `a` (rows, width) and `b` (columns, width) of one dtype."""
    y = result(out, plain.shape, a.dtype)
    arguments = contiguous(a), contiguous(b), contiguous(compressed), contiguous(plain)
    work = plain.size * a.shape[1]
    if work < tuning.PARALLEL_FROM:
        _dot_rows(*arguments, 0, a.shape[0], y)
    else:
        _dot_rows_parallel(*arguments, max(1, min(a.shape[0], work // GRAIN)), y)
    return deliver(out, y)
