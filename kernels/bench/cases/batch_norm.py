"""Batch normalisation in training and in evaluation, and its gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

EPS, MOMENTUM = 1e-5, 0.1
SHAPES = ((32, 64, 56, 56), (64, 32, 8, 8))


def cases(side: Side) -> Iterator[Case]:
    """A layer of ResNet and one of the digits net."""
    for shape in SHAPES[-1:] if side.quick else SHAPES:
        yield from _cases(side, shape)


def normalised(x: np.ndarray) -> np.ndarray:
    """The channels of `x` with mean 0 and variance 1."""
    mean, variance = (getattr(x, name)((0, 2, 3), keepdims=True) for name in ("mean", "var"))
    return (x - mean) / np.sqrt(variance + EPS)


def gradient(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of the input, for weight 1."""
    axes = (0, 2, 3)
    rstd = 1 / np.sqrt(x.var(axes, keepdims=True) + EPS)
    y = (x - x.mean(axes, keepdims=True)) * rstd
    return rstd * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))


def _cases(side: Side, shape: tuple[int, ...]) -> Iterator[Case]:
    k, torch = side.kernels("normalization.batch_norm"), side.torch
    aten = torch.ops.aten if torch is not None else None
    values, upstream = normal(*shape), normal(*shape, seed=1)
    x, g = side.array(values), side.array(upstream)
    channels, size, label = shape[1], values.nbytes, "x".join(map(str, shape))
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    weight, bias, running_mean, running_var = (side.array(a.copy()) for a in (ones, zeros, zeros, ones))
    mean = side.array(values.mean((0, 2, 3)))
    rstd = side.array((1 / np.sqrt(values.var((0, 2, 3)) + EPS)).astype(np.float32))
    part = np.s_[:, :4]  # channels are independent: a few tell the error
    yield side.case(
        f"batch norm training {label}", bytes=3 * size,
        ours=lambda: k.batch_norm(x, weight, bias, running_mean, running_var, momentum=MOMENTUM, eps=EPS,
                                  out=(None, None, None, running_mean, running_var)),
        torch=lambda: torch.native_batch_norm(x, weight, bias, running_mean, running_var, True, MOMENTUM, EPS),
        numpy=None if side.device == "gpu" else lambda: normalised(x),
        exact=lambda: normalised(values[part].astype(np.float64)), part=part)
    yield side.case(
        f"batch norm gradient {label}", bytes=5 * size, ours=lambda: k.batch_norm_grad(g, x, weight, mean, rstd),
        torch=lambda: aten.native_batch_norm_backward(g, x, weight, None, None, mean, rstd, True, EPS, [True] * 3),
        exact=lambda: gradient(upstream[part].astype(np.float64), values[part].astype(np.float64)), part=part)
    fixed_mean, fixed_var = side.array(zeros.copy()), side.array(ones.copy())
    yield side.case(
        f"batch norm evaluation {label}", bytes=2 * size,
        ours=lambda: k.batch_norm_eval(x, weight, bias, fixed_mean, fixed_var, eps=EPS),
        torch=lambda: torch.batch_norm(x, weight, bias, fixed_mean, fixed_var, False, MOMENTUM, EPS, False),
        exact=lambda: values[part].astype(np.float64) / np.sqrt(1 + EPS), part=part)
