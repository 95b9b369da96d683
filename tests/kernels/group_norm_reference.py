"""Group normalisation in NumPy, in float64, and cases for the kernels of both sides."""
from __future__ import annotations

import numpy as np

EPS = 1e-5
CASES = [((2, 6, 5, 7), 3), ((3, 4, 33), 1), ((1, 4, 9000), 4), ((5, 6, 1), 2), ((2, 3), 1), ((70, 90), 3), ((17, 8, 12, 12), 4)]


def data(shape, dtype=np.float64):
    """x, g, weight, bias."""
    rng = np.random.default_rng(0)
    x, g = rng.normal(0.5, 3.0, shape), rng.normal(size=shape)
    return tuple(array.astype(dtype) for array in (x, g, *rng.normal(size=(2, shape[1]))))


def expected(x, g, weight, bias, groups):
    """y, mean, rstd, dx, dweight and dbias in float64."""
    x, g = x.astype(np.float64), g.astype(np.float64)
    rows, column = (x.shape[0], groups, -1), (-1, *(1,) * (x.ndim - 2))
    weight, bias = (np.full(x.shape[1], start) if array is None else array.astype(np.float64)
                    for array, start in ((weight, 1.0), (bias, 0.0)))
    inner = x.reshape(rows)
    mean = inner.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(inner.var(-1, keepdims=True) + EPS)
    normal = (inner - mean) * rstd
    scaled = (g * weight.reshape(column)).reshape(rows)
    dx = rstd * (scaled - scaled.mean(-1, keepdims=True) - normal * (scaled * normal).mean(-1, keepdims=True))
    y, others = normal.reshape(x.shape), (0, *range(2, x.ndim))
    return (y * weight.reshape(column) + bias.reshape(column), mean[..., 0], rstd[..., 0], dx.reshape(x.shape),
            (g * y).sum(others), g.sum(others))
