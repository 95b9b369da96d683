"""Batch normalisation over (N, C, *S): one pass for the statistics, one for the result, some channels at a time.

Channels must be walked along contiguous memory: `implementations` chooses how. `batch_norm_planes` takes (N, C, S) and runs
along S, `batch_norm_2d` a large (N, C) and runs along a block of channels. A small (N, C) is copied to (1, C, N).

Statistics are summed around a shift, of (N, C, S) in the dtype of x within tiles and in float64 across them, of (N, C) in
float64: so float32 inputs with a large mean stay exact. float16 and bfloat16 are computed in float32.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from .channel_parameters import BIAS, DBIAS, DWEIGHT, MEAN, NEW_MEAN, NEW_VAR, OLD_MEAN, OLD_VAR, ROWS, RSTD, WEIGHT
from .implementations import FORWARD, GRADIENT, chosen


@upcast_half(results=(0, None, None, 3, 4))
def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    counter: Array | None = None,
    *,
    momentum: float,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    """Normalise x (N, C, *S) by the statistics of each channel.

    Returns y, mean (C,), 1/std (C,) and the new running mean and unbiased running variance (None where they are None);
    the running results may be the running arguments. An empty x changes no running statistics. `counter`, an array of one
    int64, grows by 1, in place.
    """
    out_y, out_mean, out_rstd, out_running_mean, out_running_var = outputs(out, 5)
    y = result(out_y, x.shape, x.dtype)
    parameters = parameters_to_train(x, weight, bias, running_mean, running_var)
    if x.size:
        run, shape = chosen(FORWARD, x.shape)
        run(contiguous(x).reshape(shape), None, parameters, True, None, float(momentum), float(eps), y.reshape(shape))
    count(counter)
    return (
        deliver(out_y, y),
        deliver(out_mean, parameters[MEAN]),
        deliver(out_rstd, parameters[RSTD]),
        deliver_running(out_running_mean, parameters[NEW_MEAN], running_mean),
        deliver_running(out_running_var, parameters[NEW_VAR], running_var),
    )


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
    return gradients(g, x, parameters_of(x, weight, None, mean, rstd), True, out)


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
    if x.size:
        parameters = parameters_of(x, weight, bias, running_mean, inverse_deviation(running_var, eps))
        run, shape = chosen(FORWARD, x.shape)
        run(contiguous(x).reshape(shape), None, parameters, None, None, 0.0, 0.0, y.reshape(shape))
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
    return gradients(g, x, parameters_of(x, weight, None, running_mean, inverse_deviation(running_var, eps)), None, out)


# ---- what `batch_norm_relu` shares -----------------------------------------------------------------------------------


def parameters_of(x: Array, weight: Array | None, bias: Array | None, mean: Array | None, rstd: Array | None) -> Array:
    """The rows of `channel_parameters` for x (N, C, *), of which the kernels fill the last four."""
    parameters = np.empty((ROWS, x.shape[1]), x.dtype)
    parameters[WEIGHT] = 1 if weight is None else weight
    parameters[BIAS] = 0 if bias is None else bias
    if mean is not None:
        parameters[MEAN], parameters[RSTD] = mean, rstd
    return parameters


def parameters_to_train(
    x: Array, weight: Array | None, bias: Array | None, running_mean: Array | None, running_var: Array | None
) -> Array:
    """The rows of `channel_parameters` for x (N, C, *), of which the kernel fills the statistics, unless x is empty."""
    parameters = parameters_of(x, weight, bias, None, None)
    parameters[OLD_MEAN] = 0 if running_mean is None else running_mean
    parameters[OLD_VAR] = 1 if running_var is None else running_var
    if x.size == 0:
        parameters[MEAN : RSTD + 1] = 0
        parameters[NEW_MEAN], parameters[NEW_VAR] = parameters[OLD_MEAN], parameters[OLD_VAR]
    return parameters


def count(counter: Array | None) -> None:
    """Add 1 to `counter`, if there is one."""
    if counter is not None:
        counter[...] = counter.item() + 1  # through Python, in a fifth of the time of NumPy's addition


def inverse_deviation(variance: Array, eps: float) -> Array:
    """1 / sqrt(variance + eps) in float64."""
    deviation = variance.astype(np.float64)
    deviation += eps
    np.sqrt(deviation, out=deviation)
    return np.reciprocal(deviation, out=deviation)


def deliver_running(out: Array | None, updated: Array, old: Array | None) -> Array | None:
    """The updated running statistic in the dtype of the old one; None where that is None."""
    if old is None:
        return None
    return updated.astype(old.dtype, copy=False) if out is None else deliver(out, updated)


def gradients(
    g: Array, x: Array, parameters: Array, training: bool | None, out: Sequence[Array | None] | None
) -> tuple[Array, Array, Array]:
    """dx, dweight and dbias; with None for `training` mean and rstd are constants."""
    out_dx, out_dweight, out_dbias = outputs(out, 3)
    dx = result(out_dx, x.shape, x.dtype)
    if x.size:
        run, shape = chosen(GRADIENT, x.shape)
        inputs = (contiguous(array).reshape(shape) for array in (g, x))
        run(*inputs, None, parameters, training, None, dx.reshape(shape), None)
    else:
        parameters[DWEIGHT], parameters[DBIAS] = 0, 0
    return deliver(out_dx, dx), deliver(out_dweight, parameters[DWEIGHT]), deliver(out_dbias, parameters[DBIAS])
