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
def finish(numbers, c, sum1, sum2, shift, count, momentum, eps):
    """Turn the float64 sums of x - shift and of its square into mean, 1/std and new running statistics of channel `c`."""
    centred = sum1 / count
    variance = sum2 / count - centred * centred
    variance = np.maximum(variance, 0.0)  # below 0 by rounding; a NaN stays
    mean = centred + shift
    numbers[MEAN, c] = mean
    numbers[RSTD, c] = 1.0 / np.sqrt(variance + eps)
    numbers[NEW_MEAN, c] = numbers[OLD_MEAN, c] * (1.0 - momentum) + momentum * mean
    numbers[NEW_VAR, c] = numbers[OLD_VAR, c] * (1.0 - momentum) + momentum * variance * count / (count - 1)


@jit_exact
def move_infinities(numbers, first, last):
    """Where the scale of one of channels first..last is infinite, make its mean 0 and its bias that of x * scale + bias.

    So PyTorch computes all channels: infinities of two signs make NaN. The means are kept in the row of the old ones.
    """
    for c in range(first, last):
        product = numbers[MEAN, c] * (numbers[RSTD, c] * numbers[WEIGHT, c])
        numbers[OLD_MEAN, c] = numbers[MEAN, c]
        if not np.isfinite(product):
            numbers[BIAS, c] -= product
            numbers[MEAN, c] = 0.0


@jit_exact
def restore_means(numbers, first, last):
    """The means before `move_infinities`."""
    for c in range(first, last):
        numbers[MEAN, c] = numbers[OLD_MEAN, c]


@jit_exact
def finish_grad(numbers, c, sum_g, sum_gx, count):
    """Turn the float64 sums of g and of g * (x - mean) into the gradients of channel `c` and what dx needs of them."""
    rstd = numbers[RSTD, c]
    numbers[DBIAS, c] = sum_g
    numbers[DWEIGHT, c] = sum_gx * rstd
    numbers[SHIFT, c] = sum_g / count
    numbers[SLOPE, c] = sum_gx / count * rstd * rstd
