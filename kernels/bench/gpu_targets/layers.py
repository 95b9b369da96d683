"""Layers whose last steps are in the epilogue of a product, weights that are kept packed, and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side, normal
from bench.library import Library, target

DTYPES = ("float32", "float16", "bfloat16")
ROWS, WIDTH = 4096, 768  # of a transformer; its inner layer is four times as wide


Layer = Callable[[Any], Any]
#: Made of a library's `nn`.
LAYERS: dict[str, Layer] = {
    "linear with bias": lambda nn: nn.Linear(WIDTH, 4 * WIDTH),
    "linear and ReLU": lambda nn: nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU()),
    "perceptron with GELU": lambda nn: nn.Sequential(
        nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))}


def cases(side: Side) -> Iterator[Case]:
    """Forward, and forward with the gradients; convolutions without gradients; recurrent layers."""
    for name, layer in LAYERS.items():
        for dtype in DTYPES:
            for backward in (False, True):
                yield _case(side, name, layer, dtype, backward)
    for dtype in DTYPES:
        yield _convolution(side, dtype)
    for name in ("LSTM", "GRU"):
        for dtype in ("float32", "bfloat16"):
            yield _recurrent(side, name, dtype)


def _case(side: Side, name: str, layer: Layer, dtype: str, backward: bool) -> Case:
    rows = 4 if side.quick else ROWS

    def build(library: Library) -> Callable[[], Any]:
        kind = getattr(library.lib, dtype)
        module = layer(library.nn).to(library.device).to(kind)
        x = library.tensor(normal(rows, WIDTH)).to(kind).requires_grad_()
        if not backward:
            def forward() -> Any:
                with library.lib.no_grad():
                    return module(x)

            return forward
        g = library.lib.ones_like(module(x).detach())

        def step() -> Any:
            return library.lib.autograd.grad(module(x), [x, *module.parameters()], g)

        return step

    products = (2 if name.startswith("perceptron") else 1) * (3 if backward else 1)
    return target(side, f"{name} {ROWS}x{WIDTH} {'forward + backward' if backward else 'forward'} {dtype}", None, build,
                  flops=products * 2 * ROWS * WIDTH * 4 * WIDTH, arithmetic=dtype)


def _convolution(side: Side, dtype: str) -> Case:
    batch, channels, size = (1, 8, 6) if side.quick else (32, 128, 28)

    def build(library: Library) -> Callable[[], Any]:
        kind = getattr(library.lib, dtype)
        layer = library.nn.Conv2d(channels, channels, 3, padding=1).to(library.device).to(kind)
        x = library.tensor(normal(batch, channels, size, size)).to(kind)

        def call() -> Any:
            with library.lib.no_grad():
                return layer(x)

        return call

    return target(side, f"convolution 3x3 128@28, batch 32, without gradients, {dtype}", None, build,
                  flops=2 * 32 * 28 * 28 * 128 * 128 * 9, arithmetic="tf32" if dtype == "float32" else dtype)


def _recurrent(side: Side, name: str, dtype: str) -> Case:
    steps, batch, width = (3, 2, 8) if side.quick else (128, 32, 256)

    def build(library: Library) -> Callable[[], Any]:
        kind = getattr(library.lib, dtype)
        net = getattr(library.nn, name)(width, width).to(library.device).to(kind)
        x = library.tensor(normal(steps, batch, width)).to(kind).requires_grad_()
        g = library.lib.ones_like(net(x)[0].detach())
        return lambda: library.lib.autograd.grad(net(x)[0], [x, *net.parameters()], g)

    gates = 4 if name == "LSTM" else 3
    return target(side, f"{name} 128x32x256 forward + backward {dtype}", None, build,
                  flops=3 * 2 * 2 * 128 * 32 * 256 * gates * 256, arithmetic=dtype)
