"""Batch normalisation, an added residual and ReLU over (N, C, S), some neighbouring channels at a time: two passes, along S.

In the second pass the caches still have what the first one read, as far as it fits. Channels are independent, so the result
does not depend on the number of threads.

Arguments that may be None are so for the compiler as well: what they leave out is not compiled.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import GRAIN
from ..runtime import tuning
from ..runtime.jit import jit, jit_exact, jit_parallel
from ..simd.nontemporal import fence
from ..simd.reduce import sum_of
from .channel_loops import RUN, SUM_BYTES
from .channel_microkernels import (
    constant_grad,
    grad,
    grad_sums,
    masked_grad_sums,
    normalize,
    normalize_add_relu,
    normalize_relu,
    recomputed_constant_grad,
    recomputed_grad,
    recomputed_grad_sums,
    shifted_sums,
)
from .channel_parameters import MEAN, finish, finish_grad, move_infinities, restore_means


@jit_exact
def _channels_per_pass(x):
    """How many neighbouring channels of x (N, C, S) a pass takes: RUN bytes of a sample, but a quarter of them at most."""
    _, channels, length = x.shape
    return max(1, min(RUN // (length * x.itemsize), channels // 4))


@jit_exact
def _channels_per_task(x):
    """How many channels of x (N, C, S) a thread takes at least: all of a small array, which is not worth a launch."""
    if 2 * x.size * x.itemsize < tuning.PARALLEL_BYTES:
        return x.shape[1]
    return max(_channels_per_pass(x), x.shape[1] * GRAIN // x.size)


@jit_exact
def _wide_sums(x, c, shift):
    """The sums of x - shift and of its square for channel c, in float64."""
    sum1 = 0.0
    sum2 = 0.0
    for n in range(x.shape[0]):
        for i in range(x.shape[2]):
            d = np.float64(x[n, c, i]) - shift
            sum1 += d
            sum2 += d * d
    return sum1, sum2


@jit
def _choose_shifts(x, parameters, first, last):
    """What the sums of channels first..last are taken around: the means of the first sample, near enough that sums in the dtype
    of x lose nothing; 0 where it is inf or NaN, so that only the mean has it.
    """
    length = x.shape[2]
    for c in range(first, last):
        start = np.uint64(c * length)
        shift = sum_of(x, start, start + np.uint64(length)) / length
        parameters[MEAN, c] = shift if np.isfinite(shift) else 0.0


@jit
def _finish_channel(x, parameters, c, sum1, sum2, momentum, eps):
    """Mean, 1/std and new running statistics of channel c, from the sums of x - shift and of its square.

    An inf or NaN of the sums comes from x or from a square that is too large for float32: float64 tells.
    """
    shift = np.float64(parameters[MEAN, c])
    if not np.isfinite(sum2):
        sum1, sum2 = _wide_sums(x, c, shift)
    finish(parameters, c, sum1, sum2, shift, x.shape[0] * x.shape[2], momentum, eps)


@jit
def _statistics(x, parameters, momentum, eps, memory, first, last):
    """Those of channels first..last."""
    _choose_shifts(x, parameters, first, last)
    shifted_sums(x, first, last, parameters, memory)
    for c in range(first, last):
        _finish_channel(x, parameters, c, memory[2 * (c - first)], memory[2 * (c - first) + 1], momentum, eps)


@jit
def _forward_of(x, residual, parameters, training, relu, momentum, eps, y, stream, first, last):
    """`forward` for channels first..last."""
    if training is not None:
        memory = np.empty((last - first) * (SUM_BYTES // 8))
        _statistics(x, parameters, momentum, eps, memory, first, last)
    move_infinities(parameters, first, last)
    if relu is None:
        normalize(x, x, first, last, parameters, y, stream)
    elif residual is None:
        normalize_relu(x, x, first, last, parameters, y, stream)
    else:
        normalize_add_relu(x, residual, first, last, parameters, y, stream)
    restore_means(parameters, first, last)


@jit_parallel
def forward(x, residual, parameters, training, relu, momentum, eps, y, stream):
    """y = (x - mean) * rstd * weight + bias; with `relu` the larger of that, plus the residual unless that is None, and 0.

    `parameters` has the rows of `channel_parameters`: weight, bias and the old running statistics are read, the others are
    written; with None for `training` mean and rstd are read, and nothing is written.
    """
    channels, each, step = x.shape[1], _channels_per_task(x), _channels_per_pass(x)
    for task in numba.prange((channels + each - 1) // each):
        end = min(channels, (task + 1) * each)
        for first in range(task * each, end, step):
            _forward_of(x, residual, parameters, training, relu, momentum, eps, y, stream, first, min(end, first + step))
        if stream:
            fence()


@jit
def _gradient_of(g, x, y, parameters, training, relu, dx, gm, stream, first, last):
    """`gradient` for channels first..last."""
    memory = np.empty((last - first) * (SUM_BYTES // 8))
    if relu is None:
        grad_sums(g, x, first, last, parameters, memory)
    elif gm is None:
        recomputed_grad_sums(g, x, first, last, parameters, memory)
    else:
        masked_grad_sums(g, y, x, first, last, parameters, gm, memory)
    for c in range(first, last):
        finish_grad(parameters, c, memory[2 * (c - first)], memory[2 * (c - first) + 1], x.shape[0] * x.shape[2])
    if training is not None:
        if relu is None:
            grad(g, x, first, last, parameters, dx, stream)
        elif gm is None:
            recomputed_grad(g, x, first, last, parameters, dx, stream)
        else:
            grad(gm, x, first, last, parameters, dx, stream)
    elif relu is None:
        constant_grad(g, x, first, last, parameters, dx, stream)
    elif gm is None:
        recomputed_constant_grad(g, x, first, last, parameters, dx, stream)
    else:
        constant_grad(gm, x, first, last, parameters, dx, stream)


@jit_parallel
def gradient(g, x, y, parameters, training, relu, dx, gm, stream):
    """The gradients of `forward`: dx, and those of weight and bias in `parameters`; of the residual gm, if there was one.

    With None for `training` mean and rstd are constants. y is the result, None like gm without a residual.
    """
    channels, each, step = x.shape[1], _channels_per_task(x), _channels_per_pass(x)
    for task in numba.prange((channels + each - 1) // each):
        end = min(channels, (task + 1) * each)
        for first in range(task * each, end, step):
            _gradient_of(g, x, y, parameters, training, relu, dx, gm, stream, first, min(end, first + step))
        if stream:
            fence()
