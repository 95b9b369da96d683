"""Batch normalisation over large (N, C): a block of channels at a time, along the rows, with sums in float64.

Channels are independent, and so are rows where the statistics are given: the result does not depend on the number of threads.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import row_chunk
from ..runtime.jit import jit, jit_parallel
from .channel_parameters import (
    BIAS,
    MEAN,
    RSTD,
    SHIFT,
    SLOPE,
    WEIGHT,
    finish,
    finish_grad,
    move_infinities,
    restore_means,
)

# Channels of a block: their float64 sums stay in L1, and a row of a block is 1 KiB of float32.
_BLOCK = 256


@jit
def _shift_of(first):
    """The value that sums are taken around; 0 where the channel starts with inf or NaN, so that only the mean has it."""
    shift = np.float64(first)
    return shift if np.isfinite(shift) else 0.0


@jit
def _affine(x, parameters, y, first, last):
    """y = (x - mean) * rstd * weight + bias for the rows first..last of (N, C)."""
    parameters = parameters.copy()
    move_infinities(parameters, 0, x.shape[1])
    mean, bias = parameters[MEAN], parameters[BIAS]
    scale = parameters[RSTD] * parameters[WEIGHT]
    for n in range(first, last):
        row = x[n]
        target = y[n]
        for c in range(row.shape[0]):
            target[c] = (row[c] - mean[c]) * scale[c] + bias[c]


@jit_parallel
def affine(x, parameters, y):
    """y = (x - mean) * rstd * weight + bias for x (N, C)."""
    count = x.shape[0]
    step = row_chunk(x.shape[1])
    for i in numba.prange((count + step - 1) // step):
        _affine(x, parameters, y, i * step, min(count, (i + 1) * step))


@jit
def _train(x, parameters, momentum, eps, y, first, last):
    """Normalise channels first..last of (N, C)."""
    samples = x.shape[0]
    width = last - first
    shift = np.empty(width)
    sum1 = np.zeros(width)
    sum2 = np.zeros(width)
    for j in range(width):
        shift[j] = _shift_of(x[0, first + j])
    for n in range(samples):
        row = x[n, first:last]
        for j in range(row.shape[0]):
            d = row[j] - shift[j]
            sum1[j] += d
            sum2[j] += d * d
    for j in range(width):
        finish(parameters, first + j, sum1[j], sum2[j], shift[j], samples, momentum, eps)
    move_infinities(parameters, first, last)
    mean, bias = parameters[MEAN, first:last], parameters[BIAS, first:last]
    scale = parameters[RSTD, first:last] * parameters[WEIGHT, first:last]
    for n in range(samples):
        row = x[n, first:last]
        target = y[n, first:last]
        for j in range(row.shape[0]):
            target[j] = (row[j] - mean[j]) * scale[j] + bias[j]
    restore_means(parameters, first, last)


@jit_parallel
def train(x, parameters, momentum, eps, y):
    """y = (x - mean) * rstd * weight + bias with the statistics of x (N, C), which are put into `parameters`."""
    channels = x.shape[1]
    for block in numba.prange((channels + _BLOCK - 1) // _BLOCK):
        _train(x, parameters, momentum, eps, y, block * _BLOCK, min(channels, (block + 1) * _BLOCK))


@jit
def _gradient(g, x, parameters, training, dx, first, last):
    """`gradient` for channels first..last."""
    samples = x.shape[0]
    width = last - first
    sum_g = np.zeros(width)
    sum_gx = np.zeros(width)
    mean = parameters[MEAN, first:last]
    for n in range(samples):
        row = x[n, first:last]
        grad = g[n, first:last]
        for j in range(row.shape[0]):
            sum_g[j] += grad[j]
            sum_gx[j] += np.float64(grad[j]) * (row[j] - mean[j])
    scale = np.empty(width, x.dtype)
    for j in range(width):
        finish_grad(parameters, first + j, sum_g[j], sum_gx[j], samples)
        scale[j] = parameters[WEIGHT, first + j] * parameters[RSTD, first + j]
    shift, slope = parameters[SHIFT, first:last], parameters[SLOPE, first:last]
    for n in range(samples):
        row = x[n, first:last]
        grad = g[n, first:last]
        target = dx[n, first:last]
        if training is None:
            for j in range(row.shape[0]):
                target[j] = scale[j] * grad[j]
        else:
            for j in range(row.shape[0]):
                target[j] = scale[j] * (grad[j] - shift[j] - (row[j] - mean[j]) * slope[j])


@jit_parallel
def gradient(g, x, parameters, training, dx):
    """dx (N, C), and the gradients of weight and bias in `parameters`; with None for `training` mean and rstd are constants."""
    channels = x.shape[1]
    for block in numba.prange((channels + _BLOCK - 1) // _BLOCK):
        _gradient(g, x, parameters, training, dx, block * _BLOCK, min(channels, (block + 1) * _BLOCK))
