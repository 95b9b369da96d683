"""What batch normalisation knows of each channel, as one argument of its kernels: a matrix (8, C) in the dtype of x."""
from __future__ import annotations

import numpy as np

from ..runtime.jit import jit_exact

WEIGHT, BIAS, MEAN, RSTD = range(4)
#: The other rows forward: the running statistics before and after.
OLD_MEAN, OLD_VAR, NEW_MEAN, NEW_VAR = range(4, 8)
#: The other rows backward: the gradients, the mean of g, and the slope of -dx / scale over x.
DWEIGHT, DBIAS, SHIFT, SLOPE = range(4, 8)
ROWS = 8


@jit_exact
def finish(parameters, c, sum1, sum2, shift, count, momentum, eps):
    """Turn the float64 sums of x - shift and of its square into mean, 1/std and new running statistics of channel `c`."""
    centred = sum1 / count
    variance = sum2 / count - centred * centred
    variance = np.maximum(variance, 0.0)  # below 0 by rounding; a NaN stays
    mean = centred + shift
    parameters[MEAN, c] = mean
    parameters[RSTD, c] = 1.0 / np.sqrt(variance + eps)
    parameters[NEW_MEAN, c] = parameters[OLD_MEAN, c] * (1.0 - momentum) + momentum * mean
    parameters[NEW_VAR, c] = parameters[OLD_VAR, c] * (1.0 - momentum) + momentum * variance * count / (count - 1)


@jit_exact
def move_infinities(parameters, first, last):
    """Where the scale of one of channels first..last is infinite, make its mean 0 and its bias that of x * scale + bias.

    So PyTorch computes all channels: infinities of two signs make NaN. The means are kept in the row of the old ones.
    """
    for c in range(first, last):
        product = parameters[MEAN, c] * (parameters[RSTD, c] * parameters[WEIGHT, c])
        parameters[OLD_MEAN, c] = parameters[MEAN, c]
        if not np.isfinite(product):
            parameters[BIAS, c] -= product
            parameters[MEAN, c] = 0.0


@jit_exact
def restore_means(parameters, first, last):
    """The means before `move_infinities`."""
    for c in range(first, last):
        parameters[MEAN, c] = parameters[OLD_MEAN, c]


@jit_exact
def finish_grad(parameters, c, sum_g, sum_gx, count):
    """Turn the float64 sums of g and of g * (x - mean) into the gradients of channel `c` and what dx needs of them."""
    rstd = parameters[RSTD, c]
    parameters[DBIAS, c] = sum_g
    parameters[DWEIGHT, c] = sum_gx * rstd
    parameters[SHIFT, c] = sum_g / count
    parameters[SLOPE, c] = sum_gx / count * rstd * rstd
