"""Layer normalisation: one row at a time, with the row in cache; (*, *normalized) is seen as (rows, width).

Sums of float32 rows are taken in float32 by blocks and in float64 across blocks, in an order that the shape alone fixes.
The gradients of weight and bias are summed in a fixed number of row chunks, then over the chunks in order, so that they
do not depend on the number of threads. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import GRAIN, Array, contiguous, deliver, outputs, result
from ..runtime import tuning
from ..runtime.jit import jit, jit_exact, jit_parallel
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.nontemporal import fence, streams_rows
from .row_microkernels import (
    MOMENT_ROWS,
    ROWS,
    SUM_BLOCK,
    grad_block,
    grad_means_block,
    grad_means_row,
    grad_row,
    moments_block,
    moments_row,
    normalized_row,
    stream_grad,
    stream_normalized,
)

# Row chunks of the parallel kernels. Enough for 32 threads; each costs two rows of partial sums in the backward pass.
CHUNKS = 32
# Rows of a chunk of the backward pass where there are few: the partial sums of chunks of 32 rows were a seventh of 1024x256.
_LEAST_ROWS = 64
# Elements of the longest rows that are taken in blocks: 4 of g, x and dx are then in the L2 cache.
WIDEST = 1 << 14
# Bytes of the longest rows whose moments are taken several at a time with AVX2: they stay in the L1 cache, of 32 KiB. On one
# thread of a Zen 3 layer norm takes 0.55 of the time for rows of 64 float32, 0.75 for 256 and 0.9 for 768, RMS norm 0.7 to 0.95.
_LONGEST_OF_BLOCKS = 3 << 10
# Bytes from a row to what is prefetched meanwhile, at least.
_AHEAD = 1 << 13


@jit
def row_mean(row):
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
def row_variance(row, centre):
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
def normalize_blocks(x, weight, bias, eps, y, mean, rstd):
    """The same by blocks of rows; with None for bias and mean that of RMS normalisation."""
    rows, width = x.shape
    whole, ahead = rows - rows % MOMENT_ROWS, max(MOMENT_ROWS * width, _AHEAD // x.itemsize)
    for r in range(rows):
        if r >= whole:
            moments_row(x, r * width, width, width, eps, mean, rstd, r)
        elif r % MOMENT_ROWS == 0:
            moments_block(x, r * width, width, width, eps, mean, rstd, r)
        normalized_row(x, r * width, width, ahead, weight, bias, mean, rstd, r, y)


@jit
def _square_mean(row):
    """Mean of the squares of a row, summed by blocks."""
    total = 0.0
    for start in range(0, row.shape[0], SUM_BLOCK):
        block = row[start : start + SUM_BLOCK]
        partial = row.dtype.type(0)
        for i in range(block.shape[0]):
            partial += block[i] * block[i]
        total += partial
    return total / row.shape[0]


@jit
def _normalize(x, weight, bias, eps, y, mean, rstd):
    """Normalise each row of x (R, W): y = (x - mean) * rstd * weight + bias.

    With None for bias and mean that of RMS normalisation; what they leave out is not compiled.
    """
    if VECTOR_BYTES == 32 and x.shape[1] * x.itemsize <= _LONGEST_OF_BLOCKS:
        normalize_blocks(x, weight, bias, eps, y, mean, rstd)
        return
    rows, width = x.shape
    for r in range(rows):
        row = x[r]
        target = y[r]
        if mean is None:
            q = x.dtype.type(1.0 / np.sqrt(_square_mean(row) + eps))
            for i in range(width):
                target[i] = row[i] * q * weight[i]
        else:
            m = x.dtype.type(row_mean(row))
            q = x.dtype.type(1.0 / np.sqrt(row_variance(row, m) + eps))
            mean[r] = m
            for i in range(width):
                target[i] = (row[i] - m) * q * weight[i] + bias[i]
        rstd[r] = q


@jit
def _stream_normalize(x, weight, bias, eps, y, mean, rstd):
    """The same with non-temporal stores. Both in one function, or parts of them in a third, keep references to rows: half as
    fast."""
    rows, width = x.shape
    for r in range(rows):
        row = x[r]
        if mean is None:
            q = x.dtype.type(1.0 / np.sqrt(_square_mean(row) + eps))
            stream_normalized(x, r * width, width, weight, None, None, q, y)
        else:
            m = x.dtype.type(row_mean(row))
            q = x.dtype.type(1.0 / np.sqrt(row_variance(row, m) + eps))
            mean[r] = m
            stream_normalized(x, r * width, width, weight, bias, m, q, y)
        rstd[r] = q
    fence()


@jit
def _part_of(array, part):
    """Some elements of an array, or None."""
    if array is None:
        return None
    return array[part]


@jit_parallel
def _normalize_parallel(x, weight, bias, eps, y, mean, rstd, streaming):
    rows = x.shape[0]
    count = min(CHUNKS, max(1, x.size // GRAIN))
    for chunk in numba.prange(count):
        part = slice(chunk * rows // count, (chunk + 1) * rows // count)
        if streaming:
            _stream_normalize(x[part], weight, bias, eps, y[part], _part_of(mean, part), rstd[part])
        else:
            _normalize(x[part], weight, bias, eps, y[part], _part_of(mean, part), rstd[part])


@jit_exact
def _grad_of_infinities(g, x, weight, mean, rstd, dx):
    """dx of a row whose sums are not finite, by PyTorch's formula as it stands: NaN comes out where it does there."""
    sum_g, sum_gx = 0.0, 0.0
    for i in range(x.shape[0]):
        product = g[i] * weight[i]
        sum_g += product
        sum_gx += product * x[i]
    slope = (sum_g * mean - sum_gx) / x.shape[0] * rstd * rstd * rstd
    shift = -slope * mean - sum_g / x.shape[0] * rstd
    for i in range(x.shape[0]):
        dx[i] = rstd * g[i] * weight[i] + slope * x[i] + shift


@jit
def _grad(g, x, weight, mean, rstd, dx, dweight, dbias, streaming):
    """Gradients of the rows of x (R, W); dweight and dbias (W,) are overwritten with the sums over these rows.

    With None for mean and dbias those of RMS normalisation; what they leave out is not compiled.
    """
    rows, width = x.shape
    offsets, slopes = np.empty(ROWS, x.dtype), np.empty(ROWS, x.dtype)
    written = x if streaming else dx
    dweight[:] = 0
    if dbias is not None:
        dbias[:] = 0
    r = 0
    while r < rows:
        block = r + ROWS <= rows and width <= WIDEST
        count = ROWS if block else 1
        start = r * width
        if block:
            grad_means_block(g, x, start, width, width, weight, mean, rstd, r, written, offsets, slopes)
        else:
            grad_means_row(g, x, start, width, width, weight, mean, rstd, r, written, offsets, slopes)
        if streaming:
            for k in range(count):
                at = start + k * width
                stream_grad(g, x, at, width, width, weight, mean, rstd, r + k, offsets, slopes, k, dx, dweight, dbias)
        elif block:
            grad_block(g, x, start, width, width, weight, mean, rstd, r, offsets, slopes, 0, dx, dweight, dbias)
        else:
            grad_row(g, x, start, width, width, weight, mean, rstd, r, offsets, slopes, 0, dx, dweight, dbias)
        if mean is not None:
            for k in range(count):
                if not np.isfinite(slopes[k]):
                    _grad_of_infinities(g[r + k], x[r + k], weight, mean[r + k], rstd[r + k], dx[r + k])
        r += count
    if streaming:
        fence()


@jit
def _add_up(partial, total):
    """The sum of the rows, in order."""
    total[:] = partial[0]
    for k in range(1, partial.shape[0]):
        row = partial[k]
        for i in range(row.shape[0]):
            total[i] += row[i]


@jit_parallel
def _grad_parallel(g, x, weight, mean, rstd, dx, partial, dweight, dbias, streaming):
    """The same in chunks of rows, as many as partial (1 or 2, chunks, W) has for their sums."""
    rows = x.shape[0]
    count = partial.shape[1]
    for chunk in numba.prange(count):
        first = chunk * rows // count
        last = (chunk + 1) * rows // count
        rows_of_g, rows_of_x, rows_of_dx = g[first:last], x[first:last], dx[first:last]
        if mean is None:
            _grad(rows_of_g, rows_of_x, weight, None, rstd[first:last], rows_of_dx, partial[0, chunk], None, streaming)
        else:
            _grad(
                rows_of_g, rows_of_x, weight, mean[first:last], rstd[first:last], rows_of_dx,
                partial[0, chunk], partial[1, chunk], streaming,
            )
    _add_up(partial[0], dweight)
    if dbias is not None:
        _add_up(partial[1], dbias)


# ---- entry points --------------------------------------------------------------------------------------------------


def flat_parameter(array: Array | None, default: float, size: int, dtype: np.dtype) -> Array:
    """A parameter as a contiguous (size,) array, so that one compiled kernel is enough; `default` where it is None."""
    if array is None:
        return _constant(size, default, dtype)
    if array.dtype is not dtype:
        array = array.astype(dtype, copy=False)
    return contiguous(array).reshape(size)


@functools.lru_cache(maxsize=64)
def _constant(size: int, value: float, dtype: np.dtype) -> Array:
    return np.full(size, value, dtype)


def streams_norm(arrays: int, written: Array, width: int) -> bool:
    """Whether to stream rows of `width` elements into one of several `arrays` of a size."""
    return width <= WIDEST and streams_rows(arrays * written.nbytes, width * written.itemsize)


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
        bias = flat_parameter(bias, 0.0, width, x.dtype)
        flat = contiguous(x).reshape(rows, width)
        normalize_rows(flat, weight, bias, eps, y, mean.reshape(rows), rstd.reshape(rows), y is not out_y)
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
    return gradients(g, x, weight, mean, rstd, normalized_ndim, outputs(out, 3))


# ---- what `rms_norm` shares ------------------------------------------------------------------------------------------


def normalize_rows(
    x: Array, weight: Array | None, bias: Array | None, eps: float, y: Array, mean: Array | None, rstd: Array, new: bool
) -> None:
    """Fill y, which may be streamed if it is `new`, from the rows of x (R, W); with None for bias and mean as `rms_norm`."""
    width = x.shape[1]
    arguments = x, flat_parameter(weight, 1.0, width, x.dtype), bias, float(eps), y.reshape(x.shape), mean, rstd
    if 2 * x.nbytes < tuning.PARALLEL_BYTES:
        _normalize(*arguments)
    else:
        _normalize_parallel(*arguments, new and streams_norm(2, y, width))


def gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    mean: Array | None,
    rstd: Array,
    normalized_ndim: int,
    out: Sequence[Array | None],
) -> Any:
    """dx, dweight and dbias; with None for `mean` those of `rms_norm`, and None for dbias."""
    out_dx, out_dweight, out_dbias = out
    shape = x.shape[x.ndim - normalized_ndim :]
    rows, width = math.prod(x.shape[: x.ndim - normalized_ndim]), math.prod(shape)
    dx, dweight = result(out_dx, x.shape, x.dtype), result(out_dweight, shape, x.dtype)
    dbias = None if mean is None else result(out_dbias, shape, x.dtype)
    arguments = (
        contiguous(g).reshape(rows, width), contiguous(x).reshape(rows, width), flat_parameter(weight, 1.0, width, x.dtype),
        None if mean is None else flat_parameter(mean, 0.0, rows, x.dtype), flat_parameter(rstd, 1.0, rows, x.dtype),
        dx.reshape(rows, width),
    )  # fmt: skip
    sums = (dweight.reshape(width), None if dbias is None else dbias.reshape(width))
    if x.size < tuning.PARALLEL_FROM:
        _grad(*arguments, *sums, False)
    else:
        partial = np.empty((1 if mean is None else 2, grad_chunks(rows), width), x.dtype)
        _grad_parallel(*arguments, partial, *sums, dx is not out_dx and streams_norm(3, dx, width))
    return deliver(out_dx, dx), deliver(out_dweight, dweight), None if dbias is None else deliver(out_dbias, dbias)
