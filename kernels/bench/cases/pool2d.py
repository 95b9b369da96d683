"""Max and average pooling, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal

SHAPE = (32, 64, 56, 56)
SMALL = (64, 64, 14, 14)  # narrow planes, in the cache


def cases(side: Side) -> Iterator[Case]:
    """Windows of 2 with stride 2, and of 3 with stride 2; narrow planes."""
    for kernel, padding in ((2, 0),) if side.quick else ((2, 0), (3, 1)):
        yield from _cases(side, SHAPE, kernel, padding)
    if not side.quick:
        yield from _cases(side, SMALL, 2, 0)


def windows(x: np.ndarray, kernel: int, padding: int, fill: float) -> np.ndarray:
    """Every window with stride 2 of the images, padded with `fill`: (N, C, OH, OW, kernel, kernel)."""
    edge = (padding, padding)
    padded = np.pad(x, ((0, 0), (0, 0), edge, edge), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))[:, :, ::2, ::2]


def gradient(g: np.ndarray, x: np.ndarray, kernel: int, padding: int, largest: bool) -> np.ndarray:
    """The gradient of the input of max (`largest`) or average pooling with stride 2."""
    total = np.zeros((*x.shape[:2], *(length + 2 * padding for length in x.shape[2:])))
    views = np.lib.stride_tricks.sliding_window_view(total, (kernel, kernel), (2, 3), writeable=True)[:, :, ::2, ::2]
    first = windows(x, kernel, padding, -np.inf).reshape(*g.shape, -1).argmax(-1)
    for i in range(kernel):
        for j in range(kernel):
            views[..., i, j] += g * (first == i * kernel + j) if largest else g / kernel**2
    return total[:, :, padding : padding + x.shape[2], padding : padding + x.shape[3]]


def _cases(side: Side, shape: tuple[int, ...], kernel: int, padding: int) -> Iterator[Case]:
    k, torch = side.kernels("pooling.pool2d"), side.torch
    aten = torch.ops.aten if torch is not None else None
    values = normal(*shape)
    maxima = windows(values, kernel, padding, -np.inf).max((-1, -2))
    x, g = side.array(values), side.array(normal(*maxima.shape, seed=1))
    size, edge = (kernel, kernel), (padding, padding)
    traffic = values.nbytes + maxima.nbytes
    options = {"kernel_size": size, "stride": (2, 2), "padding": edge}
    average = {**options, "ceil_mode": False, "count_include_pad": True, "divisor_override": None}
    label = f"{kernel}x{kernel} stride 2{', narrow' if shape == SMALL else ''}"
    indices = None
    if side.name == "torch":
        indices = torch.nn.functional.max_pool2d(x, size, 2, edge, return_indices=True)[1]
    elif k is not None:
        indices = k.max_pool2d(x, **options, dilation=(1, 1), ceil_mode=False)[1]
    yield side.case(
        f"max pool {label}", bytes=traffic + 2 * maxima.nbytes,
        ours=lambda: k.max_pool2d(x, **options, dilation=(1, 1), ceil_mode=False),
        torch=lambda: torch.nn.functional.max_pool2d(x, size, 2, edge, return_indices=True),
        numpy=None if side.device == "gpu" else lambda: windows(x, kernel, padding, -np.inf).max((-1, -2)),
        exact=lambda: maxima)
    yield side.case(
        f"max pool gradient {label}", bytes=traffic + 2 * maxima.nbytes,
        ours=lambda: k.max_pool2d_grad(g, indices, input_shape=shape, window=(size, (2, 2), edge, (1, 1))),
        torch=lambda: aten.max_pool2d_with_indices_backward(g, x, size, (2, 2), edge, (1, 1), False, indices))
    yield side.case(
        f"average pool {label}", bytes=traffic, ours=lambda: k.avg_pool2d(x, **average),
        torch=lambda: torch.nn.functional.avg_pool2d(x, size, 2, edge),
        numpy=None if side.device == "gpu" else lambda: windows(x, kernel, padding, 0).mean((-1, -2)),
        exact=lambda: windows(values.astype(np.float64), kernel, padding, 0).mean((-1, -2)))
    yield side.case(
        f"average pool gradient {label}", bytes=traffic,
        ours=lambda: k.avg_pool2d_grad(g, input_shape=shape, **average),
        torch=lambda: aten.avg_pool2d_backward(g, x, size, (2, 2), edge, False, True, None))
