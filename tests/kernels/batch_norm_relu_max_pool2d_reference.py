"""Batch normalisation, ReLU and max pooling in float64 NumPy, for the tests of both backends."""
import numpy as np

from tests.kernels import batch_norm_relu_reference as plain

EPS, MOMENTUM = plain.EPS, plain.MOMENTUM
# Planes of one window, planes that windows do not cover, several threads, planes without a window, no planes.
SHAPES = [(3, 2, 2, 2), (4, 3, 7, 5), (16, 20, 8, 8), (8, 3, 40, 37), (2, 3, 1, 6), (0, 3, 4, 4)]


def data(shape, dtype, seed=0):
    """g of the maxima, x, weight, bias, running_mean, running_var."""
    _, x, _, *parameters = plain.data(shape, dtype, seed)
    g = np.random.default_rng(seed + 1).standard_normal((*shape[:2], shape[2] // 2, shape[3] // 2)).astype(dtype)
    return (g, x, *parameters)


def _windows(pixels):
    """(N, C, H, W) as (N, C, H // 2, W // 2, 4), the pixels of a window in row order."""
    samples, channels, height, width = (*pixels.shape[:2], *(n // 2 for n in pixels.shape[2:]))
    covered = pixels[:, :, : 2 * height, : 2 * width].reshape(samples, channels, height, 2, width, 2)
    return covered.transpose(0, 1, 2, 4, 3, 5).reshape(samples, channels, height, width, 4)


def reference(g, x, weight, bias, running_mean, running_var, training):
    """(y, winners, mean, rstd, running_mean, running_var), then (dx, dweight, dbias)."""
    parameters = weight, bias, running_mean, running_var, training
    (pixels, *statistics), _ = plain.reference(np.zeros(x.shape), x, None, *parameters)
    windows = _windows(pixels)
    places = windows.argmax(-1)
    winners = np.where(windows.max(-1) <= 0, 4, places)
    spread = np.where(np.arange(4) == winners[..., None], np.asarray(g, np.float64)[..., None], 0)
    full = np.zeros(x.shape)
    for k in range(4):
        rows, columns = 2 * g.shape[2], 2 * g.shape[3]
        full[:, :, k // 2 : rows : 2, k % 2 : columns : 2] = spread[..., k]
    _, gradients = plain.reference(full, x, None, *parameters)
    return (windows.max(-1), winners, *statistics), gradients[:3]
