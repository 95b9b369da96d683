"""Batch normalisation over (N, C, *S): one pass for the statistics, one for the result, some channels at a time.

Two layouts have their own loops, because channels must be walked along contiguous memory: `rows` takes (N, C, S) and
runs along S; `columns` takes (N, C) and runs along a block of channels. Channels are independent, so the result does
not depend on the number of threads.

Statistics are summed around a shift, of (N, C, S) in the dtype of x within stretches and in float64 across them, of (N, C) in
float64: so float32 inputs with a large mean stay exact. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np

from ._channel_microkernels import grad, grad_sums, normalize, shifted_sums
from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array, contiguous, deliver, outputs, result, row_chunk, upcast_half
from ._microkernels import VECTOR_BYTES
from ._reduction_microkernels import sum_of

# Channels of one `columns` block: their float64 sums stay in L1, and a row of a block is 1 KiB of float32.
_BLOCK = 256
# Bytes of neighbouring channels of a sample that one thread takes at once, and how far it asks ahead in rows that are LONG.
RUN = 4096
_LONG = 1 << 14


@jit
def shift_of(first):
    """The value that sums are taken around; 0 where the channel starts with inf or NaN, so that only the mean has it."""
    shift = np.float64(first)
    return shift if np.isfinite(shift) else 0.0


@jit
def finish(sum1, sum2, shift, count, c, momentum, eps, mean, rstd, running_mean, running_var, new_mean, new_var):
    """Turn the shifted sums of channel `c` into its mean, 1/std and new running statistics."""
    centred = sum1 / count
    variance = sum2 / count - centred * centred
    variance = np.maximum(variance, 0.0)  # below 0 by rounding; a NaN stays
    exact_mean = centred + shift
    mean[c] = exact_mean
    rstd[c] = 1.0 / np.sqrt(variance + eps)
    new_mean[c] = running_mean[c] * (1.0 - momentum) + momentum * exact_mean
    new_var[c] = running_var[c] * (1.0 - momentum) + momentum * variance * count / (count - 1)


@jit
def channels_at_once(x):
    """How many neighbouring channels of x (N, C, S) one thread takes: RUN bytes of a sample, but a quarter of them at most."""
    _, channels, length = x.shape
    return max(1, min(RUN // (length * x.itemsize), channels // 4))


@jit
def place_of(x, first, last):
    """Where the channels first..last of x (N, C, S) lie, for the loops of `_channel_microkernels`."""
    samples, channels, length = x.shape
    pitch = channels * length
    # The next sample of these channels, if the L1 cache keeps it until then.
    ahead = pitch if length * x.itemsize <= _LONG else RUN // x.itemsize
    return first * length, samples, pitch, last - first, length, ahead


@jit
def backwards(x, first, last):
    """The same from the last sample to the first: those that were read last are still in the cache."""
    start, samples, pitch, channels, length, ahead = place_of(x, first, last)
    return start + (samples - 1) * pitch, samples, -pitch, channels, length, -ahead if ahead == pitch else ahead


@jit
def memory_of(x, first, last):
    """Memory for the sums of the channels first..last: in the dtype of x and in float64, and for their results."""
    size = 2 * (last - first) * VECTOR_BYTES // x.itemsize
    return np.empty(size, x.dtype), np.empty(size), np.empty(2 * (last - first))


@jit
def add_lanes(totals, sums):
    """Add up the lanes of the two vectors of each channel."""
    lanes = totals.shape[0] // sums.shape[0]
    for k in range(sums.shape[0]):
        total = 0.0
        for lane in range(lanes):
            total += totals[k * lanes + lane]
        sums[k] = total


@jit
def _channel_sums(x, first, last, centres):
    """The sums (2 each) of channels first..last of x (N, C, S) and of its squares, around shifts that are put into `centres`.

    A shift is the mean of the first sample, near enough that sums in the dtype of x lose nothing. An inf or NaN comes from x or
    from a square that is too large for float32: float64 tells.
    """
    samples, _, length = x.shape
    for k in range(last - first):
        start = np.uint64((first + k) * length)
        centres[k] = shift_of(np.float64(sum_of(x, start, start + np.uint64(length))) / length)
    buffer, totals, sums = memory_of(x, first, last)
    shifted_sums(x, place_of(x, first, last), centres, buffer, totals)
    add_lanes(totals, sums)
    for k in range(last - first):
        if not np.isfinite(sums[2 * k + 1]):
            sum1 = 0.0
            sum2 = 0.0
            for n in range(samples):
                for i in range(length):
                    d = np.float64(x[n, first + k, i]) - np.float64(centres[k])
                    sum1 += d
                    sum2 += d * d
            sums[2 * k] = sum1
            sums[2 * k + 1] = sum2
    return sums


@jit
def statistics(x, first, last, running_mean, running_var, momentum, eps, mean, rstd, new_mean, new_var):
    """Mean, 1/std and new running statistics of channels first..last of x (N, C, S)."""
    samples, _, length = x.shape
    centres = np.empty(last - first, x.dtype)
    sums = _channel_sums(x, first, last, centres)
    for k in range(last - first):
        finish(
            sums[2 * k], sums[2 * k + 1], np.float64(centres[k]), samples * length, first + k, momentum, eps, mean, rstd,
            running_mean, running_var, new_mean, new_var,
        )


@jit
def _train_rows(
    x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var, first, last
):
    """Normalise channels first..last of (N, C, S)."""
    statistics(x, first, last, running_mean, running_var, momentum, eps, mean, rstd, new_mean, new_var)
    scale = rstd[first:last] * weight[first:last]
    normalize(x, x, backwards(x, first, last), mean[first:last], scale, bias[first:last], y)


@jit_parallel
def _train_rows_parallel(
    x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var
):
    channels, step = x.shape[1], channels_at_once(x)
    for i in numba.prange((channels + step - 1) // step):
        _train_rows(
            x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var,
            i * step, min(channels, (i + 1) * step),
        )


@jit
def _train_columns(
    x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var, first, last
):
    """Normalise channels first..last of (N, C)."""
    samples = x.shape[0]
    width = last - first
    shift = np.empty(width)
    sum1 = np.zeros(width)
    sum2 = np.zeros(width)
    for j in range(width):
        shift[j] = shift_of(x[0, first + j])
    for n in range(samples):
        row = x[n, first:last]
        for j in range(row.shape[0]):
            d = row[j] - shift[j]
            sum1[j] += d
            sum2[j] += d * d
    for j in range(width):
        finish(
            sum1[j], sum2[j], shift[j], samples, first + j, momentum, eps, mean, rstd, running_mean, running_var,
            new_mean, new_var,
        )
    centre = mean[first:last]
    scale = rstd[first:last] * weight[first:last]
    offset = bias[first:last]
    for n in range(samples):
        row = x[n, first:last]
        target = y[n, first:last]
        for j in range(row.shape[0]):
            target[j] = (row[j] - centre[j]) * scale[j] + offset[j]


@jit_parallel
def _train_columns_parallel(
    x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var
):
    channels = x.shape[1]
    for block in numba.prange((channels + _BLOCK - 1) // _BLOCK):
        _train_columns(
            x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var,
            block * _BLOCK, min(channels, (block + 1) * _BLOCK),
        )


@jit
def finish_grad(sums, first, last, count, rstd, dweight, dbias, shift, slope):
    """Turn the two sums of channels first..last into dweight, dbias, and what the gradient of x needs of them."""
    for k in range(last - first):
        c = first + k
        dbias[c] = sums[2 * k]
        dweight[c] = sums[2 * k + 1] * rstd[c]
        shift[k] = sums[2 * k] / count
        slope[k] = sums[2 * k + 1] / count * rstd[c] * rstd[c]


@jit
def _grad_rows(g, x, weight, mean, rstd, training, dx, dweight, dbias, first, last):
    """Gradients of channels first..last of (N, C, S); without `training` the statistics are constants."""
    samples, _, length = x.shape
    centre = mean[first:last]
    scale = weight[first:last] * rstd[first:last]
    buffer, totals, sums = memory_of(x, first, last)
    shift, slope = np.empty(last - first, x.dtype), np.empty(last - first, x.dtype)
    grad_sums(g, x, place_of(x, first, last), centre, scale, scale, buffer, totals)
    add_lanes(totals, sums)
    finish_grad(sums, first, last, samples * length, rstd, dweight, dbias, shift, slope)
    if training:
        grad(g, x, backwards(x, first, last), centre, scale, scale, shift, slope, dx)
    else:
        for n in range(samples):
            for c in range(first, last):
                for i in range(length):
                    dx[n, c, i] = scale[c - first] * g[n, c, i]


@jit_parallel
def _grad_rows_parallel(g, x, weight, mean, rstd, training, dx, dweight, dbias):
    channels, step = x.shape[1], channels_at_once(x)
    for i in numba.prange((channels + step - 1) // step):
        _grad_rows(g, x, weight, mean, rstd, training, dx, dweight, dbias, i * step, min(channels, (i + 1) * step))


@jit
def _grad_columns(g, x, weight, mean, rstd, training, dx, dweight, dbias, first, last):
    """Gradients of channels first..last of (N, C); without `training` the statistics are constants."""
    samples = x.shape[0]
    width = last - first
    sum_g = np.zeros(width)
    sum_gx = np.zeros(width)
    centre = mean[first:last]
    for n in range(samples):
        row = x[n, first:last]
        grad = g[n, first:last]
        for j in range(row.shape[0]):
            sum_g[j] += grad[j]
            sum_gx[j] += np.float64(grad[j]) * (row[j] - centre[j])
    scale = np.empty(width, x.dtype)
    mean_g = np.empty(width, x.dtype)
    slope = np.empty(width, x.dtype)
    for j in range(width):
        c = first + j
        dbias[c] = sum_g[j]
        dweight[c] = sum_gx[j] * rstd[c]
        scale[j] = weight[c] * rstd[c]
        mean_g[j] = sum_g[j] / samples
        slope[j] = sum_gx[j] / samples * rstd[c] * rstd[c]
    for n in range(samples):
        row = x[n, first:last]
        grad = g[n, first:last]
        target = dx[n, first:last]
        if training:
            for j in range(row.shape[0]):
                target[j] = scale[j] * (grad[j] - mean_g[j] - (row[j] - centre[j]) * slope[j])
        else:
            for j in range(row.shape[0]):
                target[j] = scale[j] * grad[j]


@jit_parallel
def _grad_columns_parallel(g, x, weight, mean, rstd, training, dx, dweight, dbias):
    channels = x.shape[1]
    for block in numba.prange((channels + _BLOCK - 1) // _BLOCK):
        _grad_columns(
            g, x, weight, mean, rstd, training, dx, dweight, dbias,
            block * _BLOCK, min(channels, (block + 1) * _BLOCK),
        )


@jit
def _affine_rows(x, centre, scale, offset, y, first, last):
    """y = (x - centre) * scale + offset, a channel each, for the rows first..last of (N * C, S)."""
    channels = centre.shape[0]
    for r in range(first, last):
        c = r % channels
        row = x[r]
        target = y[r]
        m = centre[c]
        k = scale[c]
        b = offset[c]
        for i in range(row.shape[0]):
            target[i] = (row[i] - m) * k + b


@jit_parallel
def _affine_rows_parallel(x, centre, scale, offset, y):
    count = x.shape[0]
    step = row_chunk(x.shape[1])
    for i in numba.prange((count + step - 1) // step):
        _affine_rows(x, centre, scale, offset, y, i * step, min(count, (i + 1) * step))


@jit
def _affine_columns(x, centre, scale, offset, y, first, last):
    """y = (x - centre) * scale + offset for the rows first..last of (N, C)."""
    for n in range(first, last):
        row = x[n]
        target = y[n]
        for c in range(row.shape[0]):
            target[c] = (row[c] - centre[c]) * scale[c] + offset[c]


@jit_parallel
def _affine_columns_parallel(x, centre, scale, offset, y):
    count = x.shape[0]
    step = row_chunk(x.shape[1])
    for i in numba.prange((count + step - 1) // step):
        _affine_columns(x, centre, scale, offset, y, i * step, min(count, (i + 1) * step))


# ---- entry points --------------------------------------------------------------------------------------------------


def grouped(array: Array) -> Array:
    """(N, C, *S) as contiguous (N, C) where S is one element, else as (N, C, prod(S))."""
    length = math.prod(array.shape[2:])
    return contiguous(array).reshape(array.shape[:2] if length == 1 else (*array.shape[:2], length))


def per_channel(array: Array | None, default: float, x: Array) -> Array:
    """A contiguous (C,) array in the dtype of x, so that one compiled kernel serves; `default` where it is None."""
    if array is None:
        return np.full(x.shape[1], default, x.dtype)
    return contiguous(array if array.dtype == x.dtype else array.astype(x.dtype))


@upcast_half(results=(0, None, None, 3, 4))
def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    *,
    momentum: float,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    """Normalise x (N, C, *S) by the statistics of each channel.

    Returns y, mean (C,), 1/std (C,) and the new running mean and unbiased running variance (None where they are None);
    the running results may be the running arguments. An empty x changes no running statistics.
    """
    out_y, out_mean, out_rstd, out_running_mean, out_running_var = outputs(out, 5)
    y = result(out_y, x.shape, x.dtype)
    mean = result(out_mean, x.shape[1:2], x.dtype)
    rstd = result(out_rstd, x.shape[1:2], x.dtype)
    old_mean = per_channel(running_mean, 0.0, x)
    old_var = per_channel(running_var, 1.0, x)
    new_mean, new_var = np.empty_like(old_mean), np.empty_like(old_var)
    if x.size == 0:
        mean.fill(0)
        rstd.fill(0)
        new_mean, new_var = old_mean, old_var
    else:
        _train(
            grouped(x), per_channel(weight, 1.0, x), per_channel(bias, 0.0, x), old_mean, old_var,
            float(momentum), float(eps), grouped(y), mean, rstd, new_mean, new_var,
        )
    return (
        deliver(out_y, y),
        deliver(out_mean, mean),
        deliver(out_rstd, rstd),
        deliver_running(out_running_mean, new_mean, running_mean),
        deliver_running(out_running_var, new_var, running_var),
    )


def deliver_running(out: Array | None, updated: Array, old: Array | None) -> Array | None:
    """The updated running statistic in the dtype of the old one; a copy, never the old array; None where it is None."""
    if old is None:
        return None
    if out is not None:
        return deliver(out, updated)
    return updated.copy() if updated is old else updated.astype(old.dtype, copy=False)


def _train(x: Array, *arguments: Array | float) -> None:
    """Call the kernel for the layout and the size of x (N, C) or (N, C, S)."""
    serial, parallel = (
        (_train_columns, _train_columns_parallel) if x.ndim == 2 else (_train_rows, _train_rows_parallel)
    )
    if x.size < PARALLEL_FROM:
        serial(x, *arguments, 0, x.shape[1])
    else:
        parallel(x, *arguments)


@upcast_half(results=(1, 2, 2))
def batch_norm_grad(
    g: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    *,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array]:
    """Gradients dx (N, C, *S), dweight (C,) and dbias (C,) of `batch_norm`, through its statistics too."""
    return gradients(g, x, weight, mean, rstd, True, out)


@upcast_half
def batch_norm_eval(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    *,
    eps: float,
    out: Array | None = None,
) -> Array:
    """Normalise x (N, C, *S) by the running statistics."""
    y = result(out, x.shape, x.dtype)
    centre = per_channel(running_mean, 0.0, x)
    scale = per_channel(weight, 1.0, x) * inverse_deviation(running_var, eps, x)
    offset = per_channel(bias, 0.0, x)
    if x.size == 0:
        return deliver(out, y)
    rows, target = grouped(x), grouped(y)
    if rows.ndim == 2:
        serial, parallel = _affine_columns, _affine_columns_parallel
    else:
        rows, target = (array.reshape(-1, array.shape[2]) for array in (rows, target))
        serial, parallel = _affine_rows, _affine_rows_parallel
    if x.size < PARALLEL_FROM:
        serial(rows, centre, scale, offset, target, 0, rows.shape[0])
    else:
        parallel(rows, centre, scale, offset, target)
    return deliver(out, y)


@upcast_half(results=(1, 2, 2))
def batch_norm_eval_grad(
    g: Array,
    x: Array,
    weight: Array | None,
    running_mean: Array,
    running_var: Array,
    *,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array]:
    """Gradients dx (N, C, *S), dweight (C,) and dbias (C,) of `batch_norm_eval`; the statistics are constants."""
    return gradients(g, x, weight, running_mean, inverse_deviation(running_var, eps, x), False, out)


def inverse_deviation(variance: Array, eps: float, x: Array) -> Array:
    """1 / sqrt(variance + eps), computed in float64, in the dtype of x."""
    return (1.0 / np.sqrt(variance.astype(np.float64) + eps)).astype(x.dtype)


def gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    training: bool,
    out: Sequence[Array | None] | None,
) -> tuple[Array, Array, Array]:
    """dx, dweight and dbias; without `training` mean and rstd are constants."""
    out_dx, out_dweight, out_dbias = outputs(out, 3)
    dx = result(out_dx, x.shape, x.dtype)
    dweight = result(out_dweight, x.shape[1:2], x.dtype)
    dbias = result(out_dbias, x.shape[1:2], x.dtype)
    if x.size == 0:
        dweight.fill(0)
        dbias.fill(0)
    else:
        inputs = grouped(x)
        arguments = (
            grouped(g), inputs, per_channel(weight, 1.0, x), per_channel(mean, 0.0, x), per_channel(rstd, 1.0, x),
            training, grouped(dx), dweight, dbias,
        )
        serial, parallel = (
            (_grad_columns, _grad_columns_parallel) if inputs.ndim == 2 else (_grad_rows, _grad_rows_parallel)
        )
        if x.size < PARALLEL_FROM:
            serial(*arguments, 0, x.shape[1])
        else:
            parallel(*arguments)
    return deliver(out_dx, dx), deliver(out_dweight, dweight), deliver(out_dbias, dbias)
