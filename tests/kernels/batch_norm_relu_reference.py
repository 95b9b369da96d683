"""Batch normalisation, an added residual and ReLU in float64 NumPy, for the tests of both backends."""
import numpy as np

EPS, MOMENTUM = 1e-3, 0.3
# A channel of one row, rows beyond the parallel size, small planes, no planes, three dimensions.
SHAPES = [(3, 2, 5), (8, 3, 40, 37), (16, 20, 8, 8), (6, 5), (4, 3, 1, 1), (2, 3, 2, 3, 4)]


def data(shape, dtype, seed=0):
    """g, x, residual, weight, bias, running_mean, running_var."""
    rng = np.random.default_rng(seed)
    g, x, residual = rng.standard_normal((3, *shape))
    weight, bias, mean = rng.standard_normal((3, shape[1]))
    return tuple(a.astype(dtype) for a in (g, 2 * x + 1, residual, weight, bias, mean, rng.uniform(0.5, 2, shape[1])))


def reference(g, x, residual, weight, bias, running_mean, running_var, training):
    """(y, mean, rstd, running_mean, running_var), then (dx, dweight, dbias, dresidual)."""
    g, x, running_mean, running_var = (np.asarray(a, np.float64) for a in (g, x, running_mean, running_var))
    dims = (0, *range(2, x.ndim))
    column = (-1,) + (1,) * (x.ndim - 2)
    count = x.size // x.shape[1]
    mean, var = (x.mean(dims), x.var(dims)) if training else (running_mean, running_var)
    rstd = 1 / np.sqrt(var + EPS)
    normal = (x - mean.reshape(column)) * rstd.reshape(column)
    scale = np.ones(x.shape[1]) if weight is None else np.asarray(weight, np.float64)
    value = normal * scale.reshape(column)
    value = value if bias is None else value + bias.reshape(column)
    value = value if residual is None else value + residual
    y = np.maximum(value, 0)
    if training:
        running_mean = (1 - MOMENTUM) * running_mean + MOMENTUM * mean
        running_var = (1 - MOMENTUM) * running_var + MOMENTUM * var * count / (count - 1)
    masked = np.where(y <= 0, 0, g)
    dweight, dbias = (masked * normal).sum(dims), masked.sum(dims)
    dx = masked
    if training:
        dx = masked - dbias.reshape(column) / count - normal * dweight.reshape(column) / count
    dx = dx * (scale * rstd).reshape(column)
    return (y, mean, rstd, running_mean, running_var), (dx, dweight, dbias, masked)
