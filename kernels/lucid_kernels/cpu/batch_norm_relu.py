"""Batch normalisation, an added residual and ReLU in one pass over (N, C, *S); see `batch_norm`.

Apart from each other these functions move the array three times as often. The gradient needs where the result was positive:
with a residual it reads that from the result, without one it computes it from the input again, which the pass over the
input hides. (N, C) without S takes the separate kernels: such arrays are small.
"""
from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from . import batch_norm as plain
from ._channel_microkernels import (
    grad,
    masked_grad_sums,
    normalize_add_relu,
    normalize_relu,
    recomputed_grad,
    recomputed_grad_sums,
)
from ._compile import jit, jit_parallel
from ._layout import PARALLEL_FROM, Array, deliver, outputs, result, upcast_half
from .batch_norm import (
    add_lanes,
    backwards,
    channels_at_once,
    deliver_running,
    finish_grad,
    grouped,
    inverse_deviation,
    memory_of,
    per_channel,
    place_of,
    statistics,
)
from .elementwise import relu_grad


@jit
def _forward(
    x, residual, weight, bias, training, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var,
    first, last,
):  # fmt: skip
    """y = max((x - mean) * rstd * weight + bias + residual, 0) for channels first..last of (N, C, S); an empty residual is none.

    Without `training`, mean and rstd are given.
    """
    if training:
        statistics(x, first, last, running_mean, running_var, momentum, eps, mean, rstd, new_mean, new_var)
    scale = rstd[first:last] * weight[first:last]
    place = backwards(x, first, last)
    if residual.size:
        normalize_add_relu(x, residual, place, mean[first:last], scale, bias[first:last], y)
    else:
        normalize_relu(x, x, place, mean[first:last], scale, bias[first:last], y)


@jit_parallel
def _forward_parallel(
    x, residual, weight, bias, training, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var
):
    channels, step = x.shape[1], channels_at_once(x)
    for i in numba.prange((channels + step - 1) // step):
        _forward(
            x, residual, weight, bias, training, running_mean, running_var, momentum, eps, y, mean, rstd, new_mean, new_var,
            i * step, min(channels, (i + 1) * step),
        )  # fmt: skip


@jit
def _gradient(g, x, y, weight, bias, mean, rstd, training, dx, gm, dweight, dbias, first, last):
    """Gradients of channels first..last of (N, C, S); without a residual y and gm are empty."""
    samples, _, length = x.shape
    zero = x.dtype.type(0)
    centre, offset = mean[first:last], bias[first:last]
    scale = weight[first:last] * rstd[first:last]
    buffer, totals, sums = memory_of(x, first, last)
    shift, slope = np.empty(last - first, x.dtype), np.empty(last - first, x.dtype)
    if gm.size:
        masked_grad_sums(g, y, x, place_of(x, first, last), centre, gm, buffer, totals)
    else:
        recomputed_grad_sums(g, x, place_of(x, first, last), centre, scale, offset, buffer, totals)
    add_lanes(totals, sums)
    finish_grad(sums, first, last, samples * length, rstd, dweight, dbias, shift, slope)
    if training and gm.size:
        grad(gm, x, backwards(x, first, last), centre, scale, offset, shift, slope, dx)
    elif training:
        recomputed_grad(g, x, backwards(x, first, last), centre, scale, offset, shift, slope, dx)
    else:
        # No gradient flows through the statistics. With a slope of 0 instead, NaN and inf in x would reach dx.
        for n in range(samples):
            for c in range(first, last):
                m, k, b = mean[c], scale[c - first], bias[c]
                if gm.size:
                    for i in range(length):
                        dx[n, c, i] = k * gm[n, c, i]
                else:
                    for i in range(length):
                        masked = zero if (x[n, c, i] - m) * k + b <= zero else g[n, c, i]
                        dx[n, c, i] = k * masked


@jit_parallel
def _gradient_parallel(g, x, y, weight, bias, mean, rstd, training, dx, gm, dweight, dbias):
    channels, step = x.shape[1], channels_at_once(x)
    for i in numba.prange((channels + step - 1) // step):
        _gradient(
            g, x, y, weight, bias, mean, rstd, training, dx, gm, dweight, dbias, i * step, min(channels, (i + 1) * step)
        )


# ---- entry points --------------------------------------------------------------------------------------------------


def _no_array(x: Array) -> Array:
    """What stands for an absent array of the shape (N, C, S)."""
    return np.empty((0, 0, 0), x.dtype)


@upcast_half(results=(0, None, None, 4, 5))
def batch_norm_relu(
    x: Array,
    residual: Array | None,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    *,
    training: bool,
    momentum: float,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    """max(batch_norm(x) + residual, 0) for x (N, C, *S) and a residual of its shape, or None for 0.

    Returns y, the mean (C,) and 1/std (C,) that were used, and the new running statistics: see `batch_norm`. Without
    `training` the running statistics are used, and returned as they are.
    """
    out_y, out_mean, out_rstd, out_running_mean, out_running_var = outputs(out, 5)
    y = result(out_y, x.shape, x.dtype)
    old_mean = per_channel(running_mean, 0.0, x)
    old_var = per_channel(running_var, 1.0, x)
    if training:
        mean, rstd = result(out_mean, x.shape[1:2], x.dtype), result(out_rstd, x.shape[1:2], x.dtype)
    else:
        mean, rstd = old_mean.copy(), inverse_deviation(old_var, eps, x)
    new_mean, new_var = (np.empty_like(old_mean), np.empty_like(old_var)) if training else (old_mean, old_var)
    inputs = grouped(x)
    if x.size and inputs.ndim == 3:
        arguments = (
            inputs, _no_array(x) if residual is None else grouped(residual), per_channel(weight, 1.0, x),
            per_channel(bias, 0.0, x), training, old_mean, old_var, float(momentum), float(eps), grouped(y), mean, rstd,
            new_mean, new_var,
        )  # fmt: skip
        if x.size < PARALLEL_FROM:
            _forward(*arguments, 0, x.shape[1])
        else:
            _forward_parallel(*arguments)
    elif training:
        normal, mean[...], rstd[...], *_ = plain.batch_norm(
            x, weight, bias, old_mean, old_var, momentum=momentum, eps=eps, out=(None, None, None, new_mean, new_var)
        )
        _add_and_relu(normal, residual, y)
    else:
        _add_and_relu(plain.batch_norm_eval(x, weight, bias, old_mean, old_var, eps=eps), residual, y)
    return (
        deliver(out_y, y),
        deliver(out_mean, mean),
        deliver(out_rstd, rstd),
        deliver_running(out_running_mean, new_mean, running_mean),
        deliver_running(out_running_var, new_var, running_var),
    )


def _add_and_relu(normal: Array, residual: Array | None, y: Array) -> None:
    if residual is not None:
        normal += residual
    np.maximum(normal, 0, out=y)


@upcast_half(results=(1, 3, 4, 0))
def batch_norm_relu_grad(
    g: Array,
    x: Array,
    y: Array | None,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    rstd: Array,
    *,
    training: bool,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array | None]:
    """Gradients dx (N, C, *S), dweight (C,), dbias (C,) and dresidual of `batch_norm_relu`.

    `y` is the result if there was a residual. Without one, `y` and the last result are None.
    """
    out_dx, out_dweight, out_dbias, out_dresidual = outputs(out, 4)
    dx = result(out_dx, x.shape, x.dtype)
    dweight = result(out_dweight, x.shape[1:2], x.dtype)
    dbias = result(out_dbias, x.shape[1:2], x.dtype)
    dresidual = None if y is None else result(out_dresidual, x.shape, x.dtype)
    mean, rstd = per_channel(mean, 0.0, x), per_channel(rstd, 1.0, x)
    inputs = grouped(x)
    if x.size and inputs.ndim == 3:
        none = _no_array(x)
        arguments = (
            grouped(g), inputs, none if y is None else grouped(y), per_channel(weight, 1.0, x), per_channel(bias, 0.0, x),
            mean, rstd, training, grouped(dx), none if dresidual is None else grouped(dresidual), dweight, dbias,
        )  # fmt: skip
        if x.size < PARALLEL_FROM:
            _gradient(*arguments, 0, x.shape[1])
        else:
            _gradient_parallel(*arguments)
    else:
        if y is None:
            factor = rstd if weight is None else rstd * weight
            y = ((inputs - mean) * factor + per_channel(bias, 0.0, x)).reshape(x.shape) if x.size else x
        plain.gradients(relu_grad(g, y, out=dresidual), x, weight, mean, rstd, training, (dx, dweight, dbias))
    return deliver(out_dx, dx), deliver(out_dweight, dweight), deliver(out_dbias, dbias), _optional(out_dresidual, dresidual)


def _optional(out: Array | None, computed: Array | None) -> Array | None:
    return None if computed is None else deliver(out, computed)
