"""Group normalisation: the groups of channels of each sample, one at a time; (N, C, *) is seen as (N * C, length).

A group is read two or three times while the caches have it, and the parameters of its channels are used on the way. Composed of
layer normalisation, a product and a sum it takes 2.5 times as long for 8x64x56x56, forward and backward.

Distances from the mean are exact where x * scale + shift, PyTorch's formula, cancels. Where that has infinities it is used, so
that NaN comes out where it does there.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..reduction.reduction import total
from ..runtime.jit import jit, jit_exact, jit_parallel
from .layer_norm import flat_parameter, row_mean, row_variance
from .row_microkernels import SUM_BLOCK


@jit_exact
def _normalize_channel(x, mean, scale, bias, y):
    for i in range(x.shape[0]):
        y[i] = (x[i] - mean) * scale + bias


@jit
def _channel_sums(g, x, mean):
    """The sums of g and of g * (x - mean), in float64 across blocks."""
    sum_g, sum_gx = 0.0, 0.0
    for start in range(0, x.shape[0], SUM_BLOCK):
        block_g, block_x = g[start : start + SUM_BLOCK], x[start : start + SUM_BLOCK]
        partial_g, partial_gx = x.dtype.type(0), x.dtype.type(0)
        for i in range(block_x.shape[0]):
            partial_g += block_g[i]
            partial_gx += block_g[i] * (block_x[i] - mean)
        sum_g += partial_g
        sum_gx += partial_gx
    return sum_g, sum_gx


@jit_exact
def _channel_grad(g, x, mean, scale, slope, shift, dx):
    for i in range(x.shape[0]):
        dx[i] = scale * g[i] - ((x[i] - mean) * slope + shift)


@jit_exact
def _normalize_members(x, mean, rstd, weight, bias, y):
    """A group of channels of a single element each."""
    for i in range(x.shape[0]):
        scale = rstd * weight[i]
        product = mean * scale
        centre, shift = (mean, bias[i]) if abs(product) < np.inf else (x.dtype.type(0), bias[i] - product)
        y[i] = (x[i] - centre) * scale + shift


@jit
def _member_sums(g, x, weight, mean, rstd, dweight, dbias):
    """For channels of a single element: what they add to the gradients of their parameters, and the sums of weight * g and of
    weight * g * (x - mean).
    """
    sum_g, sum_gx = 0.0, 0.0
    for i in range(x.shape[0]):
        gx = g[i] * (x[i] - mean)
        gx = gx if abs(gx) < np.inf else g[i] * x[i] - g[i] * mean
        dweight[i], dbias[i] = gx * rstd, g[i]
        sum_g += np.float64(weight[i] * g[i])
        sum_gx += np.float64(weight[i] * gx)
    return sum_g, sum_gx


@jit_exact
def _member_grad(g, x, mean, rstd, weight, slope, shift, dx):
    for i in range(x.shape[0]):
        dx[i] = rstd * weight[i] * g[i] - ((x[i] - mean) * slope + shift)


@jit_parallel
def _forward(x, groups, weight, bias, eps, y, mean, rstd):
    """x and y are (groups, channels of one, length), `groups` those of a sample; weight and bias have all its channels."""
    for k in numba.prange(x.shape[0]):
        members, length = x.shape[1], x.shape[2]
        row = x[k].reshape(members * length)
        m = x.dtype.type(row_mean(row))
        q = x.dtype.type(1.0 / np.sqrt(row_variance(row, m) + eps))
        mean[k] = m
        rstd[k] = q
        first = np.int64(k) % groups * members
        if length == 1:
            _normalize_members(row, m, q, weight[first : first + members], bias[first : first + members], y[k].reshape(members))
            continue
        for c in range(members):
            centre, scale, shift = m, q * weight[first + c], bias[first + c]
            if not np.isfinite(m * scale):
                centre, shift = x.dtype.type(0), shift - m * scale
            _normalize_channel(x[k, c], centre, scale, shift, y[k, c])


@jit_parallel
def _gradient(g, x, groups, weight, mean, rstd, dx, sums):
    """dx, and in `sums` (2, groups, channels of one) those of g * (x - mean) * rstd and of g for each channel."""
    for k in numba.prange(x.shape[0]):
        members, length = x.shape[1], x.shape[2]
        first = np.int64(k) % groups * members
        m, q = mean[k], rstd[k]
        centre, zero = m, x.dtype.type(0)
        shift, slope = 0.0, 0.0
        if length == 1:
            row_g, row_x, row_weight = g[k].reshape(members), x[k].reshape(members), weight[first : first + members]
            shift, slope = _member_sums(row_g, row_x, row_weight, m, q, sums[0, k], sums[1, k])
        else:
            for c in range(members):
                sum_g, sum_gx = _channel_sums(g[k, c], x[k, c], m)
                if not np.isfinite(sum_gx):
                    sum_gx = _channel_sums(g[k, c], x[k, c], zero)[1] - sum_g * m
                sums[0, k, c] = sum_gx * q
                sums[1, k, c] = sum_g
                shift += weight[first + c] * sum_g
                slope += weight[first + c] * sum_gx
        size = members * length
        shift = shift / size * q
        slope = slope / size * q * q * q
        if not np.isfinite(slope):
            sum_gx = 0.0
            for c in range(members):
                sum_gx += weight[first + c] * _channel_sums(g[k, c], x[k, c], zero)[1]
            centre = zero
            slope = (sum_gx / size * q - shift * m) * q * q
            shift -= slope * m
        slope_of_x, shift_of_x = x.dtype.type(slope), x.dtype.type(shift)
        if length == 1:
            _member_grad(row_g, row_x, centre, q, row_weight, slope_of_x, shift_of_x, dx[k].reshape(members))
            continue
        for c in range(members):
            _channel_grad(g[k, c], x[k, c], centre, q * weight[first + c], slope_of_x, shift_of_x, dx[k, c])


@upcast_half(results=(0, None, None))
def group_norm(
    x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Normalise each of `groups` groups of channels of each sample of x (N, C, *), not empty; weight and bias are (C,) or None.

    Returns y, and mean and 1/std of shape (N, groups).
    """
    out_y, out_mean, out_rstd = outputs(out, 3)
    samples, channels = x.shape[:2]
    y = result(out_y, x.shape, x.dtype)
    mean, rstd = result(out_mean, (samples, groups), x.dtype), result(out_rstd, (samples, groups), x.dtype)
    shape = (samples * groups, channels // groups, math.prod(x.shape[2:]))
    parameters = flat_parameter(weight, 1.0, channels, x.dtype), flat_parameter(bias, 0.0, channels, x.dtype)
    _forward(contiguous(x).reshape(shape), groups, *parameters, float(eps), y.reshape(shape), mean.reshape(-1), rstd.reshape(-1))
    return deliver(out_y, y), deliver(out_mean, mean), deliver(out_rstd, rstd)


@upcast_half(results=(1, 2, 2))
def group_norm_grad(
    g: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, *, groups: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Gradients dx, dweight and dbias of `group_norm`; the last two are (C,)."""
    out_dx, out_dweight, out_dbias = outputs(out, 3)
    samples, channels = x.shape[:2]
    dx = result(out_dx, x.shape, x.dtype)
    shape = (samples * groups, channels // groups, math.prod(x.shape[2:]))
    # Of a single element there is no sum to keep in float64.
    sums = np.empty((2, *shape[:2]), x.dtype if shape[2] == 1 else np.float64)
    statistics = (flat_parameter(statistic, 1.0, samples * groups, x.dtype) for statistic in (mean, rstd))
    _gradient(contiguous(g).reshape(shape), contiguous(x).reshape(shape), groups, flat_parameter(weight, 1.0, channels, x.dtype),
              *statistics, dx.reshape(shape), sums)  # fmt: skip
    dweight, dbias = total(sums, (2, samples, channels)).astype(x.dtype)
    return deliver(out_dx, dx), deliver(out_dweight, dweight), deliver(out_dbias, dbias)
