"""Layer normalisation: one row at a time, with the row in cache; (*, *normalized) is seen as (rows, width).

Sums of float32 rows are taken in float32 by blocks and in float64 across blocks, in an order that the shape alone fixes.
The gradients of weight and bias are summed in a fixed number of row chunks, then over the chunks in order, so that they
do not depend on the number of threads. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np

from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array, contiguous, deliver, outputs, result, upcast_half

# Row chunks of the parallel kernels. Enough for 32 threads; each costs two rows of partial sums in the backward pass.
CHUNKS = 32
# Rows of a chunk of the backward pass where there are few: with chunks of 2 rows, the partial sums were a third of 64x768.
_LEAST_ROWS = 16
# Elements summed in the row's own dtype before float64 takes over. float64 throughout costs 1.6x on 8192x256 float32.
SUM_BLOCK = 4096


@jit
def _row_mean(row):
    """Mean of a row, summed by blocks."""
    total = 0.0
    for start in range(0, row.shape[0], SUM_BLOCK):
        block = row[start : start + SUM_BLOCK]
        partial = row.dtype.type(0)
        for i in range(block.shape[0]):
            partial += block[i]
        total += partial
    return total / row.shape[0]


@jit
def _row_variance(row, centre):
    """Mean squared distance of a row from `centre`, summed by blocks."""
    total = 0.0
    for start in range(0, row.shape[0], SUM_BLOCK):
        block = row[start : start + SUM_BLOCK]
        partial = row.dtype.type(0)
        for i in range(block.shape[0]):
            d = block[i] - centre
            partial += d * d
        total += partial
    return total / row.shape[0]


@jit
def _normalize(x, weight, bias, eps, y, mean, rstd):
    """Normalise each row of x (R, W): y = (x - mean) * rstd * weight + bias."""
    rows, width = x.shape
    for r in range(rows):
        row = x[r]
        target = y[r]
        m = x.dtype.type(_row_mean(row))
        q = x.dtype.type(1.0 / np.sqrt(_row_variance(row, m) + eps))
        mean[r] = m
        rstd[r] = q
        for i in range(width):
            target[i] = (row[i] - m) * q * weight[i] + bias[i]


@jit_parallel
def _normalize_parallel(x, weight, bias, eps, y, mean, rstd):
    rows = x.shape[0]
    for chunk in numba.prange(CHUNKS):
        first = chunk * rows // CHUNKS
        last = (chunk + 1) * rows // CHUNKS
        _normalize(x[first:last], weight, bias, eps, y[first:last], mean[first:last], rstd[first:last])


@jit
def _row_grad_sums(g, x, r, weight, centre):
    """Sums of g*w and of g*w*(x - mean) over row r, by blocks."""
    width = x.shape[1]
    partial_g = x.dtype.type(0)
    partial_gx = x.dtype.type(0)
    if width <= SUM_BLOCK:
        for i in range(width):
            gw = g[r, i] * weight[i]
            partial_g += gw
            partial_gx += gw * (x[r, i] - centre)
        return np.float64(partial_g), np.float64(partial_gx)
    sum_g = 0.0
    sum_gx = 0.0
    for start in range(0, width, SUM_BLOCK):
        grads = g[r, start : start + SUM_BLOCK]
        values = x[r, start : start + SUM_BLOCK]
        weights = weight[start : start + SUM_BLOCK]
        partial_g = x.dtype.type(0)
        partial_gx = x.dtype.type(0)
        for i in range(values.shape[0]):
            gw = grads[i] * weights[i]
            partial_g += gw
            partial_gx += gw * (values[i] - centre)
        sum_g += partial_g
        sum_gx += partial_gx
    return sum_g, sum_gx


@jit
def _grad(g, x, weight, mean, rstd, dx, dweight, dbias):
    """Gradients of the rows of x (R, W); dweight and dbias (W,) are overwritten with the sums over these rows.

    One loop writes all three: taking two rows at a time was 1.2-1.6x slower, four separate loops no faster. Rows are indexed in
    full: with views of them, as in the forward pass, which is faster with them, this took 1.15 times as long.
    """
    rows, width = x.shape
    for i in range(width):
        dweight[i] = 0
        dbias[i] = 0
    for r in range(rows):
        m = mean[r]
        q = rstd[r]
        sum_g, sum_gx = _row_grad_sums(g, x, r, weight, m)
        mean_g = x.dtype.type(sum_g / width)
        slope = x.dtype.type(sum_gx / width * q * q)
        for i in range(width):
            d = x[r, i] - m
            dweight[i] += g[r, i] * (d * q)
            dbias[i] += g[r, i]
            dx[r, i] = (g[r, i] * weight[i] - mean_g - d * slope) * q


@jit_parallel
def _grad_parallel(g, x, weight, mean, rstd, dx, dweight, dbias):
    """The same in chunks of rows, as many as dweight and dbias (chunks, W) have rows."""
    rows = x.shape[0]
    count = dweight.shape[0]
    for chunk in numba.prange(count):
        first = chunk * rows // count
        last = (chunk + 1) * rows // count
        _grad(
            g[first:last], x[first:last], weight, mean[first:last], rstd[first:last], dx[first:last],
            dweight[chunk], dbias[chunk],
        )


# ---- entry points --------------------------------------------------------------------------------------------------


def flat_parameter(array: Array | None, default: float, size: int, dtype: np.dtype) -> Array:
    """A parameter as a contiguous (size,) array, so that one compiled kernel serves; `default` where it is None."""
    if array is None:
        return np.full(size, default, dtype)
    return contiguous(array.astype(dtype, copy=False)).reshape(size)


def grad_chunks(rows: int) -> int:
    """The number of chunks of `rows` rows whose gradients of the parameters are summed apart."""
    return max(1, min(CHUNKS, rows // _LEAST_ROWS))


@upcast_half(results=(0, None, None))
def layer_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    *,
    normalized_ndim: int,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array]:
    """Normalise x over its last `normalized_ndim` axes, which are the shape of weight and bias.

    Returns y, and mean and 1/std in the shape of the leading axes.
    """
    out_y, out_mean, out_rstd = outputs(out, 3)
    leading = x.shape[: x.ndim - normalized_ndim]
    rows, width = math.prod(leading), math.prod(x.shape[x.ndim - normalized_ndim :])
    y = result(out_y, x.shape, x.dtype)
    mean = result(out_mean, leading, x.dtype)
    rstd = result(out_rstd, leading, x.dtype)
    if width == 0:
        mean.fill(0)
        rstd.fill(np.nan)
    else:
        arguments = (
            contiguous(x).reshape(rows, width), flat_parameter(weight, 1.0, width, x.dtype),
            flat_parameter(bias, 0.0, width, x.dtype), float(eps), y.reshape(rows, width), mean.reshape(rows), rstd.reshape(rows),
        )
        (_normalize if x.size < PARALLEL_FROM else _normalize_parallel)(*arguments)
    return deliver(out_y, y), deliver(out_mean, mean), deliver(out_rstd, rstd)


@upcast_half(results=(1, 2, 2))
def layer_norm_grad(
    g: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    *,
    normalized_ndim: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array]:
    """Gradients dx, dweight and dbias of `layer_norm`; the last two have the shape of the normalised axes."""
    out_dx, out_dweight, out_dbias = outputs(out, 3)
    shape = x.shape[x.ndim - normalized_ndim :]
    rows, width = math.prod(x.shape[: x.ndim - normalized_ndim]), math.prod(shape)
    dx = result(out_dx, x.shape, x.dtype)
    arguments = (
        contiguous(g).reshape(rows, width), contiguous(x).reshape(rows, width), flat_parameter(weight, 1.0, width, x.dtype),
        flat_parameter(mean, 0.0, rows, x.dtype), flat_parameter(rstd, 1.0, rows, x.dtype), dx.reshape(rows, width),
    )
    if x.size < PARALLEL_FROM:
        dweight, dbias = result(out_dweight, shape, x.dtype), result(out_dbias, shape, x.dtype)
        _grad(*arguments, dweight.reshape(width), dbias.reshape(width))
    else:
        partial = np.empty((2, grad_chunks(rows), width), x.dtype)
        _grad_parallel(*arguments, partial[0], partial[1])
        dweight, dbias = (part.reshape(shape) for part in partial.sum(axis=1))
    return deliver(out_dx, dx), deliver(out_dweight, dweight), deliver(out_dbias, dbias)
