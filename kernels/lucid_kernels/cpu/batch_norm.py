"""Batch normalisation over (N, C, *S): one pass for the statistics, one for the result, a channel at a time.

Two layouts have their own loops, because a channel must be walked along contiguous memory: `rows` takes (N, C, S) and
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

from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array, contiguous, deliver, outputs, result, row_chunk, upcast_half

# Channels of one `columns` block: their float64 sums stay in L1, and a row of a block is 1 KiB of float32.
_BLOCK = 256
# Products of a gradient that are summed in its own dtype before float64 takes them: 0.85 of the time of float64
# throughout at 64 elements a row; a vector lane adds at most a few dozen of them, so little is lost.
STRETCH = 128
# The same for sums around a shift, of which a vector lane adds a dozen and one; float64 throughout took 1.6 times as long.
SUM_STRETCH = 1024


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
def _sample_sum(x, c):
    """The sum of x[0, c] in float64."""
    total = 0.0
    for i in range(x.shape[2]):
        total += x[0, c, i]
    return total


@jit
def _shifted_sums(x, n, c, shift):
    """The sums of x[n, c] - shift and of its squares: of up to SUM_STRETCH numbers in the dtype of x, then in float64."""
    length = x.shape[2]
    part1 = x.dtype.type(0)
    part2 = x.dtype.type(0)
    if length <= SUM_STRETCH:  # without views of the rows
        for i in range(length):
            d = x[n, c, i] - shift
            part1 += d
            part2 += d * d
        return np.float64(part1), np.float64(part2)
    sum1 = 0.0
    sum2 = 0.0
    for start in range(0, length, SUM_STRETCH):
        row = x[n, c, start : start + SUM_STRETCH]
        part1 = x.dtype.type(0)
        part2 = x.dtype.type(0)
        for i in range(row.shape[0]):
            d = row[i] - shift
            part1 += d
            part2 += d * d
        sum1 += part1
        sum2 += part2
    return sum1, sum2


@jit
def channel_sums(x, c):
    """The sums of x[:, c] and of its squares around a shift, and the shift; x is (N, C, S).

    The shift is the mean of the first sample, near enough that sums in the dtype of x lose nothing. An inf or NaN comes from x or
    from a square that is too large for float32: float64 tells.
    """
    samples, _, length = x.shape
    shift = shift_of(np.float64(_sample_sum(x, c)) / length)
    centre = x.dtype.type(shift)
    sum1 = 0.0
    sum2 = 0.0
    for n in range(samples):
        part1, part2 = _shifted_sums(x, n, c, centre)
        sum1 += part1
        sum2 += part2
    if not np.isfinite(sum2):
        sum1 = 0.0
        sum2 = 0.0
        for n in range(samples):
            for i in range(length):
                d = np.float64(x[n, c, i]) - np.float64(centre)
                sum1 += d
                sum2 += d * d
    return sum1, sum2, np.float64(centre)


@jit
def _train_rows(
    x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var, first, last
):
    """Normalise channels first..last of (N, C, S)."""
    samples, _, length = x.shape
    for c in range(first, last):
        sum1, sum2, shift = channel_sums(x, c)
        finish(
            sum1, sum2, shift, samples * length, c, momentum, eps, mean, rstd, running_mean, running_var,
            new_mean, new_var,
        )
        centre = mean[c]
        scale = rstd[c] * weight[c]
        offset = bias[c]
        for k in range(samples):
            n = samples - 1 - k  # those that were read last are still in the cache
            for i in range(length):
                y[n, c, i] = (x[n, c, i] - centre) * scale + offset


@jit_parallel
def _train_rows_parallel(
    x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var
):
    for c in numba.prange(x.shape[1]):
        _train_rows(
            x, weight, bias, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var, c, c + 1
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
def _grad_rows(g, x, weight, mean, rstd, training, dx, dweight, dbias, first, last):
    """Gradients of channels first..last of (N, C, S); without `training` the statistics are constants."""
    samples, _, length = x.shape
    for c in range(first, last):
        centre = mean[c]
        sum_g = 0.0
        sum_gx = 0.0
        for n in range(samples):
            for start in range(0, length, STRETCH):
                grad = g[n, c, start : start + STRETCH]
                row = x[n, c, start : start + STRETCH]
                part_g = x.dtype.type(0)
                part_gx = x.dtype.type(0)
                for i in range(row.shape[0]):
                    part_g += grad[i]
                    part_gx += grad[i] * (row[i] - centre)
                sum_g += part_g
                sum_gx += part_gx
        dbias[c] = sum_g
        dweight[c] = sum_gx * rstd[c]
        scale = weight[c] * rstd[c]
        count = samples * length
        mean_g = x.dtype.type(sum_g / count)
        slope = x.dtype.type(sum_gx / count * rstd[c] * rstd[c])
        for k in range(samples):
            n = samples - 1 - k  # those that were read last are still in the cache
            # Indexed in full: with views of the rows the whole kernel took 1.6 times as long at 64 elements a row.
            if training:
                for i in range(length):
                    dx[n, c, i] = scale * (g[n, c, i] - mean_g - (x[n, c, i] - centre) * slope)
            else:
                for i in range(length):
                    dx[n, c, i] = scale * g[n, c, i]


@jit_parallel
def _grad_rows_parallel(g, x, weight, mean, rstd, training, dx, dweight, dbias):
    for c in numba.prange(x.shape[1]):
        _grad_rows(g, x, weight, mean, rstd, training, dx, dweight, dbias, c, c + 1)


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
