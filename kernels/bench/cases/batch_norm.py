"""Batch normalisation in training and in evaluation, and its gradient; with ReLU and max pooling, and the gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal

EPS, MOMENTUM = 1e-5, 0.1
SHAPES = ((32, 64, 56, 56), (64, 32, 8, 8))


def cases(side: Side) -> Iterator[Case]:
    """A layer of ResNet and one of the digits net."""
    for shape in SHAPES[-1:] if side.quick else SHAPES:
        yield from _cases(side, shape)
        yield from _pooled(side, shape)


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


def _pooled(side: Side, shape: tuple[int, ...]) -> Iterator[Case]:
    """Batch normalisation, ReLU and max pooling over 2x2 pixels, forward, and with all gradients."""
    k, torch = side.kernels("fused_layers.batch_norm_relu_max_pool2d"), side.torch
    values, channels, label = normal(*shape), shape[1], "x".join(map(str, shape))
    upstream = normal(*shape[:2], *(n // 2 for n in shape[2:]), seed=1)
    x, g = side.array(values), side.array(upstream)
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    weight, bias = side.array(ones), side.array(zeros)
    part = np.s_[:, :4]

    def ours() -> tuple[Any, ...]:
        results: tuple[Any, ...] = k.batch_norm_relu_max_pool2d(x, weight, bias, None, None, training=True, momentum=MOMENTUM,
                                                                eps=EPS)
        return results

    def our_gradients() -> Any:
        _, winners, mean, rstd, *_ = ours()
        return k.batch_norm_relu_max_pool2d_grad(g, winners, x, weight, mean, rstd, training=True)[2]

    def theirs(*leaves: Any) -> Any:
        y = torch.batch_norm(*(leaves or (x, weight, bias)), None, None, True, MOMENTUM, EPS, False)
        return torch.nn.functional.max_pool2d(y.relu(), 2)

    def their_gradients() -> Any:
        leaves = [array.detach().requires_grad_() for array in (x, weight, bias)]
        return torch.autograd.grad(theirs(*leaves), leaves, g)[2]

    def pooled() -> np.ndarray:
        y = normalised(values[part].astype(np.float64))
        samples, some, height, width = y.shape
        windows = y.reshape(samples, some, height // 2, 2, width // 2, 2)
        return np.maximum(windows.max((3, 5)), 0)

    name = f"batch norm, ReLU and max pooling {label}"
    yield side.case(name, ours=lambda: ours()[0], torch=theirs, exact=pooled, part=part)
    yield side.case(f"{name}, and gradients", ours=our_gradients, torch=their_gradients, part=np.s_[:4],
                    exact=lambda: np.where(pooled() > 0, upstream[part], 0).sum((0, 2, 3), dtype=np.float64))
