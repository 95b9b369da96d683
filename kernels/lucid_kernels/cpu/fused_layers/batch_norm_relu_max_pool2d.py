"""Batch normalisation, ReLU and max pooling over 2x2 windows in one call, and the gradients.

Some channels are normalised and pooled while they are in the cache. Of a maximum only the winner is kept, a byte; the gradient
is spread out where dx will be: forward takes 0.65 to 0.95 of the time of two calls, from (64, 32, 8, 8) to (16, 64, 112, 112),
backward 0.6 to 1.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from ..normalization import batch_norm_planes as rows
from ..normalization import batch_norm_samples as by_samples
from ..normalization.batch_norm import deliver_running, numbers_of
from ..normalization.channel_parameters import DBIAS, DWEIGHT, MEAN, NEW_MEAN, NEW_VAR, RSTD
from ..pooling.max_2x2 import expand_2x2_planes, max_2x2_planes
from ..runtime.allocator import empty
from ..runtime.jit import jit_parallel
from .batch_norm_relu import numbers_of_mode


@jit_parallel
def _forward(x, numbers, training, momentum, eps, planes, y, winners):
    """ReLU of the maxima y (P, OH, OW) of 2x2 normalised pixels of x (N, C, S), and their winners; P is N * C.

    `planes` (P, H, W) is for the normalised pixels. `numbers` and `training` are those of `batch_norm_planes.forward`.
    """
    channels, each, step = x.shape[1], rows.each_of(x), rows.at_once(x)
    for task in numba.prange((channels + each - 1) // each):
        end = min(channels, (task + 1) * each)
        for first in range(task * each, end, step):
            last = min(end, first + step)
            normalized = planes.reshape(x.shape)
            rows.forward_of(x, None, numbers, training, None, momentum, eps, normalized, False, first, last)
            for n in range(x.shape[0]):
                max_2x2_planes(planes, y, winners, n * channels + first, n * channels + last)


@jit_parallel
def _gradient(g, winners, x, numbers, training, dx):
    """dx (P, H, W), and the gradients of weight and bias in `numbers`, from g (P, OH, OW), the gradient of the maxima."""
    channels, each, step = x.shape[1], rows.each_of(x), rows.at_once(x)
    for task in numba.prange((channels + each - 1) // each):
        end = min(channels, (task + 1) * each)
        for first in range(task * each, end, step):
            last = min(end, first + step)
            for n in range(x.shape[0]):
                expand_2x2_planes(g, winners, dx, n * channels + first, n * channels + last)
            spread = dx.reshape(x.shape)
            rows.gradient_of(spread, x, None, numbers, training, None, spread, None, False, first, last)


def _planes(array: Array) -> Array:
    """(N, C, H, W) as (N * C, H, W)."""
    samples, channels, height, width = array.shape
    return array.reshape(samples * channels, height, width)


def _rows(x: Array) -> Array:
    """(N, C, H, W) as contiguous (N, C, H * W)."""
    return contiguous(x).reshape(*x.shape[:2], math.prod(x.shape[2:]))


@upcast_half(results=(0, None, None, None, 3, 4))
def batch_norm_relu_max_pool2d(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    *,
    training: bool,
    momentum: float,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array, Array | None, Array | None]:
    """ReLU of the maxima (N, C, H // 2, W // 2) of 2x2 pixels each of batch_norm(x), x (N, C, H, W), and their winners.

    Returns these, the mean (C,) and 1/std (C,) that were used, and the new running statistics: see `batch_norm_relu`. A winner
    says which pixel passes its gradient, 0 to 3 in row order as uint8, or 4 where ReLU lets none pass.
    """
    out_y, out_winners, out_mean, out_rstd, out_running_mean, out_running_var = outputs(out, 6)
    shape = (*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2)
    y, winners = result(out_y, shape, x.dtype), result(out_winners, shape, np.uint8)
    numbers = numbers_of_mode(x, weight, bias, running_mean, running_var, training, eps)
    if x.size and by_samples.suits(_rows(x), training):
        by_samples.pooled_forward(_rows(x), numbers, float(momentum), float(eps), x.shape[2], _planes(y), _planes(winners))
    elif x.size:
        _forward(_rows(x), numbers, training or None, float(momentum), float(eps), _planes(empty(x.shape, x.dtype)), _planes(y),
                 _planes(winners))  # fmt: skip
    return (
        deliver(out_y, y),
        deliver(out_winners, winners),
        deliver(out_mean, numbers[MEAN]),
        deliver(out_rstd, numbers[RSTD]),
        deliver_running(out_running_mean, numbers[NEW_MEAN], running_mean),
        deliver_running(out_running_var, numbers[NEW_VAR], running_var),
    )


@upcast_half(results=(2, 3, 3))
def batch_norm_relu_max_pool2d_grad(
    g: Array,
    winners: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    *,
    training: bool,
    out: Any = None,
) -> tuple[Array, Array, Array]:
    """Gradients dx (N, C, H, W), dweight (C,) and dbias (C,) of `batch_norm_relu_max_pool2d` from g (N, C, H // 2, W // 2)."""
    out_dx, out_dweight, out_dbias = outputs(out, 3)
    dx = result(out_dx, x.shape, x.dtype)
    numbers = numbers_of(x, weight, None, mean, rstd)
    if x.size:
        gradient = by_samples.pooled_gradient if by_samples.suits(_rows(x), training) else _gradient
        gradient(_planes(contiguous(g)), _planes(contiguous(winners)), _rows(x), numbers, training or None, _planes(dx))
    else:
        numbers[DWEIGHT], numbers[DBIAS] = 0, 0
    return deliver(out_dx, dx), deliver(out_dweight, numbers[DWEIGHT]), deliver(out_dbias, numbers[DBIAS])
