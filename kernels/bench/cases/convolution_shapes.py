"""Convolutions over one, two and three dimensions, strided, dilated, grouped and transposed: forward and both gradients.

Rows without targets, of the whole library on a CPU, against the faster of PyTorch's layouts.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Calls, Library, target

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """A convolution: batch, channels, outputs, lengths of the input and of the kernel, and the rest.

    A `transposed` one is that which takes this convolution's outputs to its channels.
    """

    name: str
    batch: int
    channels: int
    outputs: int
    image: Sizes
    kernel: Sizes
    stride: int | Sizes = 1
    padding: int | Sizes = 0
    dilation: int | Sizes = 1
    groups: int = 1
    transposed: bool = False

    def each(self, value: int | Sizes) -> Sizes:
        """`value` for each dimension."""
        return value if isinstance(value, tuple) else (value,) * len(self.image)

    @property
    def result(self) -> Sizes:
        """The lengths of the result."""
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(
            self.image, self.kernel, self.each(self.stride), self.each(self.padding), self.each(self.dilation)))

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the layer takes, its filters and the gradient of what it gives."""
        pair = (normal(self.batch, self.channels, *self.image), normal(self.batch, self.outputs, *self.result, seed=2))
        x, g = pair[::-1] if self.transposed else pair
        return x, normal(self.outputs, self.channels // self.groups, *self.kernel, seed=1), g


LAYERS = (
    Layer("1d 64@1024 k3", 32, 64, 64, (1024,), (3,), padding=1),
    Layer("1d 1->32@16000 k80 s4", 32, 1, 32, (16000,), (80,), 4, 38),
    Layer("1d 256@512 k9", 16, 256, 256, (512,), (9,), padding=4),
    Layer("1d 64->128@2048 k2 d8", 8, 64, 128, (2048,), (2,), dilation=8),
    Layer("1d depthwise 256@400 k31", 16, 256, 256, (400,), (31,), padding=15, groups=256),
    Layer("1d 1x1 256@512", 16, 256, 256, (512,), (1,)),
    Layer("3x3x3 16@16x56x56", 8, 16, 16, (16, 56, 56), (3, 3, 3), padding=1),
    Layer("3x3x3 64@8x28x28", 4, 64, 64, (8, 28, 28), (3, 3, 3), padding=1),
    Layer("3x3x3 s2 64->128@8x28x28", 4, 64, 128, (8, 28, 28), (3, 3, 3), 2, 1),
    Layer("3x7x7 stem 3->64@16x112x112", 2, 3, 64, (16, 112, 112), (3, 7, 7), (1, 2, 2), (1, 3, 3)),
    Layer("1x1x1 64@8x28x28", 4, 64, 64, (8, 28, 28), (1, 1, 1)),
    Layer("1x3x3 64@8x28x28", 4, 64, 64, (8, 28, 28), (1, 3, 3), padding=(0, 1, 1)),
    Layer("3x1x1 64@8x28x28", 4, 64, 64, (8, 28, 28), (3, 1, 1), padding=(1, 0, 0)),
    Layer("3x3x3 depthwise 54@16x56x56", 1, 54, 54, (16, 56, 56), (3, 3, 3), padding=1, groups=54),
    Layer("3x3x3 depthwise 216@16x7x7", 2, 216, 216, (16, 7, 7), (3, 3, 3), padding=1, groups=216),
    Layer("patches 16x16 3->192@224", 8, 3, 192, (224, 224), (16, 16), 16),
    Layer("transposed 4x4 s2 64->32@28", 32, 32, 64, (56, 56), (4, 4), 2, 1, transposed=True),
    Layer("transposed 2x2 s2 128->64@28", 16, 64, 128, (56, 56), (2, 2), 2, transposed=True),
    Layer("transposed 1d 128->64@512 k4 s2", 16, 64, 128, (1024,), (4,), 2, 1, transposed=True),
    Layer("transposed 2x2x2 s2 32->16@8x14x14", 4, 16, 32, (16, 28, 28), (2, 2, 2), 2, transposed=True),
    Layer("3x3 s2 64->128@56", 8, 64, 128, (56, 56), (3, 3), 2, 1),
    Layer("1x1 s2 64->128@56", 8, 64, 128, (56, 56), (1, 1), 2),
    Layer("3x3 d2 64@56", 8, 64, 64, (56, 56), (3, 3), 1, 2, 2),
    Layer("3x3 d4 512@28", 4, 512, 512, (28, 28), (3, 3), 1, 4, 4),
    Layer("3x3 d12 512->256@65", 1, 512, 256, (65, 65), (3, 3), 1, 12, 12),
    Layer("depthwise 3x3 s2 64@112", 8, 64, 64, (112, 112), (3, 3), 2, 1, groups=64),
    Layer("depthwise 3x3 s2 256@14", 32, 256, 256, (14, 14), (3, 3), 2, 1, groups=256),
    Layer("depthwise 3x3 192@28", 8, 192, 192, (28, 28), (3, 3), padding=1, groups=192),
    Layer("depthwise 3x3 s2 144@56", 8, 144, 144, (56, 56), (3, 3), 2, 1, groups=144),
    Layer("depthwise 7x7 96@56", 8, 96, 96, (56, 56), (7, 7), padding=3, groups=96),
    Layer("depthwise 3x3 960@7", 32, 960, 960, (7, 7), (3, 3), padding=1, groups=960),
    Layer("depthwise 5x5 s2 672@14", 32, 672, 672, (14, 14), (5, 5), 2, 2, groups=672),
    Layer("depthwise 7x7 768@7", 32, 768, 768, (7, 7), (7, 7), padding=3, groups=768),
    Layer("depthwise 7x7 384@14", 16, 384, 384, (14, 14), (7, 7), padding=3, groups=384),
    Layer("depthwise 13x13 128@28", 4, 128, 128, (28, 28), (13, 13), padding=6, groups=128),
    Layer("depthwise 31x31 64@56", 4, 64, 64, (56, 56), (31, 31), padding=15, groups=64),
    Layer("transposed depthwise 4x4 s2 64@28", 4, 64, 64, (56, 56), (4, 4), 2, 1, groups=64, transposed=True),
    Layer("patches 16x16 3->768@224", 2, 3, 768, (224, 224), (16, 16), 16),
    Layer("3x3 32@64x1", 16, 32, 32, (64, 1), (3, 3), padding=1),
    Layer("3x3 512@2", 8, 512, 512, (2, 2), (3, 3), padding=1),
    Layer("3x3 32 groups 512@14", 8, 512, 512, (14, 14), (3, 3), padding=1, groups=32),
    Layer("one image 1x1 2048->512@7", 1, 2048, 512, (7, 7), (1, 1)),
    Layer("one image 3x3 512@7", 1, 512, 512, (7, 7), (3, 3), padding=1),
    Layer("one image 3x3 s2 512@14", 1, 512, 512, (14, 14), (3, 3), 2, 1),
    Layer("one image 1x1 s2 1024->2048@14", 1, 1024, 2048, (14, 14), (1, 1), 2),
    Layer("one image 3x3 32 groups 1024@7", 1, 1024, 1024, (7, 7), (3, 3), padding=1, groups=32),
    Layer("1x1 1280->320@1", 8, 1280, 320, (1, 1), (1, 1)),
    Layer("3x3 64->3@128", 4, 64, 3, (128, 128), (3, 3), padding=1),
    Layer("transposed 4x4 100->512@1", 64, 512, 100, (4, 4), (4, 4), transposed=True),
    Layer("3x3 32 groups 128@56", 8, 128, 128, (56, 56), (3, 3), padding=1, groups=32),
    Layer("3x3 s2 32 groups 256@56", 8, 256, 256, (56, 56), (3, 3), 2, 1, groups=32),
    Layer("3x3 64 groups 256@14", 16, 256, 256, (14, 14), (3, 3), padding=1, groups=64),
    Layer("3x3 s2 64 groups 256@28", 16, 256, 256, (28, 28), (3, 3), 2, 1, groups=64),
    Layer("3x3 3->64@56", 32, 3, 64, (56, 56), (3, 3), padding=1),
    Layer("5x5 1@128", 32, 1, 1, (128, 128), (5, 5), padding=2),
    Layer("1x1 64->1@112", 8, 64, 1, (112, 112), (1, 1)),
)
#: What a rough look measures.
QUICK = ("transposed 2x2x2 s2 32->16@8x14x14", "depthwise 3x3 s2 256@14")
#: PyTorch's layouts with the channels last, by the number of dimensions.
CHANNELS_LAST = {2: "channels_last", 3: "channels_last_3d"}


def cases(side: Side) -> Iterator[Case]:
    """Layers for sound, video, segmentation and generation, and those of MobileNet and ResNeXt."""
    for layer in LAYERS:
        if not side.quick or layer.name in QUICK:
            yield from _cases(side, layer)


def _cases(side: Side, layer: Layer) -> Iterator[Case]:
    x, filters, upstream = layer.arrays()
    dims, options = len(layer.image), {name: getattr(layer, name) for name in ("stride", "padding", "dilation", "groups")}
    function = f"conv_transpose{dims}d" if layer.transposed else f"conv{dims}d"
    result = x if layer.transposed else upstream
    facts: dict[str, Any] = {"flops": 2 * result.size * filters[0].size, "needs": (f"nn.functional.{function}",),
                             "bytes": x.nbytes + filters.nbytes + upstream.nbytes}

    def in_layouts(library: Library, *tensors: Any) -> dict[str, tuple[Any, ...]]:
        found = {"NCHW": tensors}
        if library.is_torch and dims in CHANNELS_LAST:
            last = getattr(library.lib, CHANNELS_LAST[dims])
            found[CHANNELS_LAST[dims]] = tuple(tensor.contiguous(memory_format=last) for tensor in tensors)
        return found

    def forward(library: Library) -> Calls:
        call = getattr(library.F, function)
        return {layout: functools.partial(call, *pair, None, **options) for layout, pair in
                in_layouts(library, library.tensor(x), library.tensor(filters)).items()}

    def gradient(library: Library, of_input: bool) -> Calls:
        calls = {}
        tensors = map(library.tensor, (x, filters, upstream))
        for layout, (images, weight, g) in in_layouts(library, *tensors).items():
            leaf = (images if of_input else weight).requires_grad_()
            calls[layout] = library.backward(getattr(library.F, function)(images, weight, None, **options), [leaf], g)
        return calls

    ways = (input_gradient, convolve) if layer.transposed else (convolve, input_gradient)
    yield target(side, f"{layer.name} forward", None, forward, **facts, part=np.s_[:1],
                 exact=lambda: ways[0](x[:1], filters, layer))
    yield target(side, f"{layer.name} input gradient", None, lambda library: gradient(library, True), **facts, part=np.s_[:1],
                 exact=lambda: ways[1](upstream[:1], filters, layer))
    yield target(side, f"{layer.name} weight gradient", None, lambda library: gradient(library, False), **facts,
                 exact=lambda: weight_gradient(*((x, upstream) if layer.transposed else (upstream, x)), layer))


# ---- in float64, tap by tap ----------------------------------------------------------------------------------------------


def _last(indices: Iterable[Any]) -> Any:
    """The index that has `indices` for the last dimensions."""
    return (..., *indices)


def _taps(layer: Layer) -> Iterator[tuple[Sizes, Any]]:
    """Each tap and the index of what it meets in padded images (N, G, C / G, *lengths)."""
    for tap in itertools.product(*map(range, layer.kernel)):
        met = (slice(k * d, k * d + (n - 1) * s + 1, s)
               for k, d, n, s in zip(tap, layer.each(layer.dilation), layer.result, layer.each(layer.stride)))
        yield tap, _last(met)


def _grouped(values: np.ndarray, layer: Layer, axis: int) -> np.ndarray:
    """In float64, with an axis of groups before `axis`."""
    shape = values.shape
    return values.astype(np.float64).reshape(*shape[:axis], layer.groups, shape[axis] // layer.groups, *shape[axis + 1 :])


def _padded(images: np.ndarray, layer: Layer) -> np.ndarray:
    return _grouped(np.pad(images, ((0, 0), (0, 0), *((p, p) for p in layer.each(layer.padding)))), layer, 1)


def convolve(images: np.ndarray, filters: np.ndarray, layer: Layer) -> np.ndarray:
    """The convolution."""
    padded, grouped = _padded(images, layer), _grouped(filters, layer, 0)
    total = sum(np.einsum("ngc...,goc->ngo...", padded[met], grouped[_last(tap)], optimize=True) for tap, met in _taps(layer))
    return np.reshape(total, (len(images), layer.outputs, *layer.result))


def input_gradient(upstream: np.ndarray, filters: np.ndarray, layer: Layer) -> np.ndarray:
    """The gradient of the images, or the transposed convolution."""
    lengths, pads = layer.image, layer.each(layer.padding)
    total = _padded(np.zeros((len(upstream), layer.channels, *lengths)), layer)
    g, grouped = _grouped(upstream, layer, 1), _grouped(filters, layer, 0)
    for tap, met in _taps(layer):
        total[met] += np.einsum("ngo...,goc->ngc...", g, grouped[_last(tap)], optimize=True)
    inner = total[_last(slice(p, p + n) for p, n in zip(pads, lengths))]
    return inner.reshape(len(upstream), layer.channels, *lengths)


def weight_gradient(upstream: np.ndarray, images: np.ndarray, layer: Layer) -> np.ndarray:
    """The gradient of the filters."""
    padded, g = _padded(images, layer), _grouped(upstream, layer, 1)
    total = np.empty((layer.groups, layer.outputs // layer.groups, layer.channels // layer.groups, *layer.kernel))
    g = np.moveaxis(g, 0, 2).reshape(*g.shape[1:3], -1)
    for tap, met in _taps(layer):
        values = np.moveaxis(padded[met], 0, 2)
        total[_last(tap)] = np.matmul(g, values.reshape(*values.shape[:2], -1).swapaxes(1, 2))
    return total.reshape(layer.outputs, -1, *layer.kernel)
