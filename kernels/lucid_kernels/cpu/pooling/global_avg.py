"""Average pooling of whole planes, and its gradient: rows (P, S) and one element of each."""
from __future__ import annotations

import numba

from ..arrays.layout import row_chunk
from ..runtime.jit import jit, jit_exact, jit_parallel
from ..simd.reduce import sum_of


@jit
def _average_rows(x, y, first, last):
    """`average_rows` for the rows first..last."""
    flat, length = x.reshape(-1), x.shape[1]
    for p in range(first, last):
        y[p] = sum_of(flat, p * length, (p + 1) * length) / length


@jit_parallel
def average_rows(x, y):
    """y (P,) = the averages of the rows of x (P, S)."""
    step = row_chunk(x.shape[1])
    for i in numba.prange((x.shape[0] + step - 1) // step):
        _average_rows(x, y, i * step, min(x.shape[0], (i + 1) * step))


@jit_exact
def _average_rows_grad(g, dx, first, last):
    """`average_rows_grad` for the rows first..last."""
    for p in range(first, last):
        dx[p] = g[p] / g.dtype.type(dx.shape[1])


@jit_parallel
def average_rows_grad(g, dx):
    """dx (P, S) = an equal share of g (P,) for each element of a row."""
    step = row_chunk(dx.shape[1])
    for i in numba.prange((dx.shape[0] + step - 1) // step):
        _average_rows_grad(g, dx, i * step, min(dx.shape[0], (i + 1) * step))
