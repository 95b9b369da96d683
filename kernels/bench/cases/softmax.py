"""Softmax and log-softmax of rows, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

SHAPES = ((4096, 1000), (16384, 128))


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax of the last axis, in the precision of `x`."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: np.ndarray) -> np.ndarray:
    """Log-softmax of the last axis, in the precision of `x`."""
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def cases(side: Side) -> Iterator[Case]:
    """The rows of a classifier and of attention."""
    for rows, columns in SHAPES[-1:] if side.quick else SHAPES:
        yield from _cases(side, rows, columns)


def _cases(side: Side, rows: int, columns: int) -> Iterator[Case]:
    k, torch = side.kernels("reduction.softmax"), side.torch
    aten = torch.ops.aten if torch is not None else None
    values, upstream = normal(rows, columns), normal(rows, columns, seed=1)
    shape, size = f"{rows}x{columns}", 4 * rows * columns
    x, g, y = side.array(values), side.array(upstream), side.array(softmax(values))
    yield side.case(
        f"softmax {shape}", ours=lambda: k.softmax(x, dim=1), torch=lambda: torch.softmax(x, 1), bytes=2 * size,
        numpy=None if side.device == "gpu" else lambda: softmax(x), exact=lambda: softmax(values.astype(np.float64)))
    yield side.case(
        f"softmax gradient {shape}", ours=lambda: k.softmax_grad(g, y, dim=1), bytes=3 * size,
        torch=lambda: aten._softmax_backward_data(g, y, 1, g.dtype), numpy=lambda: y * (g - (g * y).sum(-1, keepdims=True)),
        exact=lambda: gradient(upstream.astype(np.float64), softmax(values).astype(np.float64)))
    yield side.case(
        f"log-softmax {shape}", ours=lambda: k.log_softmax(x, dim=1), torch=lambda: torch.log_softmax(x, 1), bytes=2 * size,
        numpy=None if side.device == "gpu" else lambda: log_softmax(x),
        exact=lambda: log_softmax(values.astype(np.float64)))


def gradient(g: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of the input of softmax, from that of its result `y`."""
    return y * (g - (g * y).sum(-1, keepdims=True))
