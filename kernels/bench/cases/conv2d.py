"""Convolution: forward, input gradient, weight gradient, and that of weight and bias together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.case import Case, Side, normal


@dataclass(frozen=True)
class Layer:
    """A convolution: (batch, channels, outputs), the side of the image and of the kernel, and the rest."""

    name: str
    batch: int
    channels: int
    outputs: int
    image: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    bias: bool = False

    @property
    def result(self) -> int:
        """The side of the result."""
        return (self.image + 2 * self.padding - self.kernel) // self.stride + 1

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Images, filters and an upstream gradient."""
        return (normal(self.batch, self.channels, self.image, self.image),
                normal(self.outputs, self.channels // self.groups, self.kernel, self.kernel, seed=1),
                normal(self.batch, self.outputs, self.result, self.result, seed=2))


LAYERS = (
    Layer("3x3 64@56", 8, 64, 64, 56, 3, padding=1),
    Layer("3x3 256@14", 32, 256, 256, 14, 3, padding=1),
    Layer("3x3 512@7", 32, 512, 512, 7, 3, padding=1),
    Layer("3x3 512@4", 64, 512, 512, 4, 3, padding=1),
    Layer("1x1 64->256@56", 8, 64, 256, 56, 1),
    Layer("1x1 256->64@14", 32, 256, 64, 14, 1),
    Layer("1x1 1024->512@14, one image", 1, 1024, 512, 14, 1),
    Layer("1x1 stride 2 64->128@32", 64, 64, 128, 32, 1, 2),
    Layer("7x7 stride 2 3->64@224", 4, 3, 64, 224, 7, 2, 3),
    Layer("depthwise 3x3 64@56", 8, 64, 64, 56, 3, padding=1, groups=64),
    Layer("depthwise 3x3 stride 2 128@56", 8, 128, 128, 56, 3, 2, 1, groups=128),
    Layer("3x3 stride 2 64->128@56", 8, 64, 128, 56, 3, 2, 1),
    Layer("4x4 stride 2 64->32@56", 8, 64, 32, 56, 4, 2, 1),
    Layer("5x5 32->64@28", 32, 32, 64, 28, 5, padding=2),
    Layer("3x3 32->64@14", 64, 32, 64, 14, 3, padding=1, bias=True),
    Layer("3x3 1->16@8", 64, 1, 16, 8, 3, padding=1, bias=True),
    Layer("3x3 16->32@8", 64, 16, 32, 8, 3, padding=1, bias=True),
)


def cases(side: Side) -> Iterator[Case]:
    """Layers of ResNet, one of MobileNet, and the two of the digits net."""
    for layer in LAYERS[-2:] if side.quick else LAYERS:
        yield from _cases(side, layer)


def _cases(side: Side, layer: Layer) -> Iterator[Case]:
    k, torch = side.kernels("convolution.conv2d"), side.torch
    aten = torch.ops.aten if torch is not None else None
    images, filters, upstream = layer.arrays()
    x, weight, g = side.array(images), side.array(filters), side.array(upstream)
    stride, padding = (layer.stride,) * 2, (layer.padding,) * 2
    options = {"stride": stride, "padding": padding, "dilation": (1, 1), "groups": layer.groups}
    flops = 2 * upstream.size * filters[0].size

    def backward(mask: list[bool]) -> object:
        return aten.convolution_backward(
            g, x, weight, [layer.outputs], stride, padding, (1, 1), False, (0, 0), layer.groups, mask)

    yield side.case(
        f"conv {layer.name}", ours=lambda: k.conv2d(x, weight, None, **options), flops=flops,
        torch=lambda: torch.nn.functional.conv2d(x, weight, None, stride, padding, 1, layer.groups),
        exact=lambda: convolve(images[:1], filters, layer), part=np.s_[:1])
    yield side.case(
        f"conv input gradient {layer.name}", flops=flops,
        ours=lambda: k.conv2d_grad_input(g, weight, input_shape=images.shape, **options),
        torch=lambda: backward([True, False, False])[0],
        exact=lambda: input_gradient(upstream[:1], filters, layer), part=np.s_[:1])
    yield side.case(
        f"conv weight gradient {layer.name}", flops=flops,
        ours=lambda: k.conv2d_grad_weight(g, x, weight_shape=filters.shape, **options),
        torch=lambda: backward([False, True, False])[1],
        exact=lambda: weight_gradient(upstream, images, layer), part=np.s_[:2])
    if layer.bias:
        yield side.case(
            f"conv weight and bias gradients {layer.name}", flops=flops,
            ours=lambda: k.conv2d_grad_parameters(g, x, weight_shape=filters.shape, **options)[1],
            torch=lambda: backward([False, True, True])[2],
            exact=lambda: upstream.sum((0, 2, 3), dtype=np.float64))


def _windows(images: np.ndarray, layer: Layer) -> np.ndarray:
    """Every window of the padded images, in float64, by group: (N, groups, channels, OH, OW, kernel, kernel)."""
    edge = (layer.padding, layer.padding)
    padded = np.pad(images.astype(np.float64), ((0, 0), (0, 0), edge, edge))
    views = np.lib.stride_tricks.sliding_window_view(padded, (layer.kernel, layer.kernel), (2, 3))
    views = views[:, :, :: layer.stride, :: layer.stride]
    return views.reshape(len(images), layer.groups, -1, *views.shape[2:])


def convolve(images: np.ndarray, filters: np.ndarray, layer: Layer) -> np.ndarray:
    """The convolution in float64."""
    grouped = filters.astype(np.float64).reshape(layer.groups, -1, *filters.shape[1:])
    result = np.einsum("ngcyxij,gocij->ngoyx", _windows(images, layer), grouped, optimize=True)
    return result.reshape(len(images), layer.outputs, layer.result, layer.result)


def weight_gradient(upstream: np.ndarray, images: np.ndarray, layer: Layer) -> np.ndarray:
    """The gradient of the first two filters."""
    if layer.groups > 1:  # depthwise: filter i sees image channel i only
        pairs = [weight_gradient(upstream[:, i : i + 1], images[:, i : i + 1], _alone(layer)) for i in range(2)]
        return np.concatenate(pairs)
    windows = _windows(images, layer)[:, 0]
    return np.einsum("noyx,ncyxij->ocij", upstream[:, :2].astype(np.float64), windows, optimize=True)


def _alone(layer: Layer) -> Layer:
    return Layer(layer.name, layer.batch, 1, 1, layer.image, layer.kernel, layer.stride, layer.padding)


def input_gradient(upstream: np.ndarray, filters: np.ndarray, layer: Layer) -> np.ndarray:
    """The gradient of the images in float64."""
    grouped = filters.astype(np.float64).reshape(layer.groups, -1, *filters.shape[1:])
    g = upstream.astype(np.float64).reshape(len(upstream), layer.groups, -1, layer.result, layer.result)
    side = layer.image + 2 * layer.padding
    total = np.zeros((len(upstream), layer.channels, side, side))
    reach = layer.stride * (layer.result - 1) + 1
    for i in range(layer.kernel):
        for j in range(layer.kernel):
            tap = np.einsum("ngoyx,goc->ngcyx", g, grouped[..., i, j], optimize=True)
            total[:, :, i : i + reach : layer.stride, j : j + reach : layer.stride] += tap.reshape(
                len(upstream), layer.channels, layer.result, layer.result)
    inner = slice(layer.padding, layer.padding + layer.image)
    return total[:, :, inner, inner]
