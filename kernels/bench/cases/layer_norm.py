"""Layer normalisation of rows, and its gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

EPS = 1e-5
SHAPES = ((8192, 768), (1024, 256))


def cases(side: Side) -> Iterator[Case]:
    """A batch of a transformer, large and small."""
    for rows, width in SHAPES[-1:] if side.quick else SHAPES:
        yield from _cases(side, rows, width)


def normalised(x: np.ndarray, centred: bool = True) -> np.ndarray:
    """The rows of `x` with mean 0 and variance 1, or not `centred`, as RMS norm does, with mean square 1."""
    if centred:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)


def gradient(g: np.ndarray, x: np.ndarray, centred: bool = True) -> np.ndarray:
    """The gradient of the input, for weight 1."""
    y = normalised(x, centred)
    if centred:
        x, g = x - x.mean(-1, keepdims=True), g - g.mean(-1, keepdims=True)
    return (g - y * (g * y).mean(-1, keepdims=True)) / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)


def _cases(side: Side, rows: int, width: int) -> Iterator[Case]:
    k, torch = side.kernels("normalization.layer_norm"), side.torch
    aten = torch.ops.aten if torch is not None else None
    values, upstream = normal(rows, width), normal(rows, width, seed=1)
    x, g = side.array(values), side.array(upstream)
    weight, bias = side.array(np.ones(width, np.float32)), side.array(np.zeros(width, np.float32))
    mean = values.mean(1)
    rstd = (1 / np.sqrt(values.var(1) + EPS)).astype(np.float32)
    if torch is not None:  # PyTorch keeps the reduced axis
        mean, rstd = mean[:, None], rstd[:, None]
    m, r = side.array(np.ascontiguousarray(mean)), side.array(np.ascontiguousarray(rstd))
    yield side.case(
        f"layer norm {rows}x{width}", bytes=2 * values.nbytes,
        ours=lambda: k.layer_norm(x, weight, bias, normalized_ndim=1, eps=EPS),
        torch=lambda: torch.native_layer_norm(x, [width], weight, bias, EPS),
        numpy=None if side.device == "gpu" else lambda: normalised(x),
        exact=lambda: normalised(values.astype(np.float64)))
    yield side.case(
        f"layer norm gradient {rows}x{width}", bytes=3 * values.nbytes,
        ours=lambda: k.layer_norm_grad(g, x, weight, m, r, normalized_ndim=1),
        torch=lambda: aten.native_layer_norm_backward(g, x, [width], m, r, weight, bias, [True] * 3),
        exact=lambda: gradient(upstream.astype(np.float64), values.astype(np.float64)))
