"""Normalisation by the root of the mean square: one row at a time, with the row in cache; see `layer_norm`.

Sums of float32 rows are taken in float32 by blocks and in float64 across blocks, in an order that the shape alone fixes.
The gradient of the weight is summed in a fixed number of row chunks, then over the chunks in order, so that it does not
depend on the number of threads. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array, contiguous, deliver, outputs, result, upcast_half
from .layer_norm import CHUNKS, SUM_BLOCK, flat_parameter, grad_chunks


@jit
def _square_sum(row):
    """Sum of the squares of a row, by blocks."""
    total = 0.0
    for start in range(0, row.shape[0], SUM_BLOCK):
        block = row[start : start + SUM_BLOCK]
        partial = row.dtype.type(0)
        for i in range(block.shape[0]):
            partial += block[i] * block[i]
        total += partial
    return total


@jit
def _normalize(x, weight, eps, y, rstd):
    """Normalise each row of x (R, W): y = x * rstd * weight."""
    rows, width = x.shape
    for r in range(rows):
        row = x[r]
        target = y[r]
        scale = x.dtype.type(1.0 / np.sqrt(_square_sum(row) / width + eps))
        rstd[r] = scale
        for i in range(width):
            target[i] = row[i] * scale * weight[i]


@jit_parallel
def _normalize_parallel(x, weight, eps, y, rstd):
    rows = x.shape[0]
    for chunk in numba.prange(CHUNKS):
        first = chunk * rows // CHUNKS
        last = (chunk + 1) * rows // CHUNKS
        _normalize(x[first:last], weight, eps, y[first:last], rstd[first:last])


@jit
def _row_product(grad, row, weight):
    """Sum of g * w * x over a row, by blocks."""
    total = 0.0
    for start in range(0, row.shape[0], SUM_BLOCK):
        grads = grad[start : start + SUM_BLOCK]
        values = row[start : start + SUM_BLOCK]
        weights = weight[start : start + SUM_BLOCK]
        partial = row.dtype.type(0)
        for i in range(values.shape[0]):
            partial += grads[i] * weights[i] * values[i]
        total += partial
    return total


@jit
def _grad(g, x, weight, rstd, dx, dweight):
    """Gradients of the rows of x (R, W); dweight (W,) is overwritten with the sum over these rows."""
    rows, width = x.shape
    for i in range(width):
        dweight[i] = 0
    for r in range(rows):
        row = x[r]
        grad = g[r]
        target = dx[r]
        scale = rstd[r]
        slope = x.dtype.type(_row_product(grad, row, weight) / width * scale * scale)
        for i in range(width):
            dweight[i] += grad[i] * (row[i] * scale)
            target[i] = (grad[i] * weight[i] - row[i] * slope) * scale


@jit_parallel
def _grad_parallel(g, x, weight, rstd, dx, dweight):
    """The same in chunks of rows, as many as dweight (chunks, W) has rows."""
    rows = x.shape[0]
    count = dweight.shape[0]
    for chunk in numba.prange(count):
        first = chunk * rows // count
        last = (chunk + 1) * rows // count
        _grad(g[first:last], x[first:last], weight, rstd[first:last], dx[first:last], dweight[chunk])


@upcast_half(results=(0, None))
def rms_norm(
    x: Array, weight: Array | None, *, normalized_ndim: int, eps: float, out: Sequence[Array | None] | None = None
) -> tuple[Array, Array]:
    """x / sqrt(mean(x^2) + eps) * weight, the mean over the last `normalized_ndim` axes, the shape of weight.

    Returns y, and 1 / sqrt(mean(x^2) + eps) in the shape of the leading axes.
    """
    out_y, out_rstd = outputs(out, 2)
    leading = x.shape[: x.ndim - normalized_ndim]
    rows, width = math.prod(leading), math.prod(x.shape[x.ndim - normalized_ndim :])
    y = result(out_y, x.shape, x.dtype)
    rstd = result(out_rstd, leading, x.dtype)
    if width == 0:
        rstd.fill(np.nan)
    else:
        (_normalize if x.size < PARALLEL_FROM else _normalize_parallel)(
            contiguous(x).reshape(rows, width), flat_parameter(weight, 1.0, width, x.dtype), float(eps),
            y.reshape(rows, width), rstd.reshape(rows),
        )  # fmt: skip
    return deliver(out_y, y), deliver(out_rstd, rstd)


@upcast_half(results=(1, 2))
def rms_norm_grad(
    g: Array,
    x: Array,
    weight: Array | None,
    rstd: Array,
    *,
    normalized_ndim: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array]:
    """Gradients dx and dweight of `rms_norm`; the latter has the shape of the normalised axes."""
    out_dx, out_dweight = outputs(out, 2)
    shape = x.shape[x.ndim - normalized_ndim :]
    rows, width = math.prod(x.shape[: x.ndim - normalized_ndim]), math.prod(shape)
    dx = result(out_dx, x.shape, x.dtype)
    arguments = (
        contiguous(g).reshape(rows, width), contiguous(x).reshape(rows, width), flat_parameter(weight, 1.0, width, x.dtype),
        flat_parameter(rstd, 1.0, rows, x.dtype), dx.reshape(rows, width),
    )  # fmt: skip
    if x.size < PARALLEL_FROM:
        dweight = result(out_dweight, shape, x.dtype)
        _grad(*arguments, dweight.reshape(width))
    else:
        partial = np.empty((grad_chunks(rows), width), x.dtype)
        _grad_parallel(*arguments, partial)
        dweight = partial.sum(axis=0).reshape(shape)
    return deliver(out_dx, dx), deliver(out_dweight, dweight)
