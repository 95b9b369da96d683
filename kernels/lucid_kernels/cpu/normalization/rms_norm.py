"""Normalisation by the root of the mean square: one row at a time, with the row in cache; see `layer_norm`.

Sums of float32 rows are taken in float32 by blocks and in float64 across blocks, in an order that the shape alone fixes.
The gradient is that of layer normalisation without mean and bias. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import PARALLEL_BYTES, Array, contiguous, deliver, outputs, result
from ..runtime.jit import jit, jit_parallel
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.nontemporal import fence
from .layer_norm import LONGEST_OF_BLOCKS, flat_parameter, gradients, norm_chunks, normalize_blocks, streams_norm
from .row_microkernels import SUM_BLOCK, stream_normalized


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
    if VECTOR_BYTES == 32 and x.shape[1] * x.itemsize <= LONGEST_OF_BLOCKS:
        normalize_blocks(x, weight, None, eps, y, None, rstd)
        return
    rows, width = x.shape
    for r in range(rows):
        row = x[r]
        target = y[r]
        scale = x.dtype.type(1.0 / np.sqrt(_square_sum(row) / width + eps))
        rstd[r] = scale
        for i in range(width):
            target[i] = row[i] * scale * weight[i]


@jit
def _stream_normalize(x, weight, eps, y, rstd):
    """The same past the caches; in a function of its own, as that of layer normalisation."""
    rows, width = x.shape
    for r in range(rows):
        scale = x.dtype.type(1.0 / np.sqrt(_square_sum(x[r]) / width + eps))
        rstd[r] = scale
        stream_normalized(x, r * width, width, weight, None, None, scale, y)
    fence()


@jit_parallel
def _normalize_parallel(x, weight, eps, y, rstd, streaming):
    rows = x.shape[0]
    count = norm_chunks(x)
    for chunk in numba.prange(count):
        part = slice(chunk * rows // count, (chunk + 1) * rows // count)
        if streaming:
            _stream_normalize(x[part], weight, eps, y[part], rstd[part])
        else:
            _normalize(x[part], weight, eps, y[part], rstd[part])


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
        arguments = (contiguous(x).reshape(rows, width), flat_parameter(weight, 1.0, width, x.dtype), float(eps),
                     y.reshape(rows, width), rstd.reshape(rows))
        if 2 * x.nbytes < PARALLEL_BYTES:
            _normalize(*arguments)
        else:
            _normalize_parallel(*arguments, y is not out_y and streams_norm(2, y, width))
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
    dx, dweight, _ = gradients(g, x, weight, None, rstd, normalized_ndim, (*outputs(out, 2), None))
    return dx, dweight
