"""Training steps of ResNet-50 and of the smallest GPT-2, in bfloat16: cross entropy and Adam, parameters in bfloat16 too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.case import Case, Side
from bench.library import Library
from bench.targets.models import Decoder, Model, gpt
from bench.targets.training import case

DEPTHS = (3, 4, 6, 3)
GPT2 = Decoder(12, 768, 12, 1024, 50257)
_ATTENTION = ("nn.functional.scaled_dot_product_attention",)


def resnet50(library: Library, depths: tuple[int, ...] = DEPTHS, width: int = 64) -> Any:
    """Bottlenecks with the stride in their 3x3 convolution, for images of 224x224.

    Source: He et al., "Deep Residual Learning for Image Recognition", 2016; the stride as in torchvision.
    """
    nn = library.nn

    class Block(nn.Module):
        """1x1, 3x3 and 1x1 beside an identity, or a 1x1 convolution where the shape changes."""

        def __init__(self, inputs: int, narrow: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * narrow
            self.conv1, self.norm1 = nn.Conv2d(inputs, narrow, 1, bias=False), nn.BatchNorm2d(narrow)
            self.conv2, self.norm2 = nn.Conv2d(narrow, narrow, 3, stride, 1, bias=False), nn.BatchNorm2d(narrow)
            self.conv3, self.norm3 = nn.Conv2d(narrow, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU()
            self.shortcut = nn.Identity() if inputs == outputs and stride == 1 else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            """(N, inputs, H, W) -> (N, 4 narrow, H / stride, W / stride)."""
            y = self.relu(self.norm1(self.conv1(x)))
            y = self.relu(self.norm2(self.conv2(y)))
            return self.relu(self.norm3(self.conv3(y)) + self.shortcut(x))

    blocks, inputs = [], width
    for stage, depth in enumerate(depths):
        narrow = width << stage
        for index in range(depth):
            blocks.append(Block(inputs, narrow, 2 if stage and not index else 1))
            inputs = 4 * narrow
    return nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def layers(depths: tuple[int, ...], size: int, width: int = 64) -> tuple[int, ...]:
    """`Model.layers` of a ResNet of bottlenecks for images of size x size."""
    size //= 2
    found, inputs = [49 * 3 * width * size**2], width
    size //= 2
    for stage, depth in enumerate(depths):
        narrow = width << stage
        for index in range(depth):
            before, size = size, size // (2 if stage and not index else 1)
            products = inputs * narrow * before**2 + (9 * narrow + 4 * narrow) * narrow * size**2
            found.append(products + (0 if index else inputs * 4 * narrow * size**2))
            inputs = 4 * narrow
    return (*found, inputs * 1000)


MODELS = {
    "ResNet-50 224x224, batch 64, channels_last, bfloat16": Model(
        resnet50, 64, (3, 224, 224), 1000, layers(DEPTHS, 224), None, dtype="bfloat16", channels_last=True),
    "GPT-2 12x768, context 1024, batch 4, bfloat16": Model(
        lambda library: gpt(library, GPT2), 4, (), GPT2.vocabulary, GPT2.products, None, _ATTENTION, context=GPT2.context,
        dtype="bfloat16"),
}
_TINY = Decoder(1, 16, 2, 8, 16)
#: The same code in sizes for a test.
QUICK = {
    "ResNet-50 224x224, batch 64, channels_last, bfloat16": Model(
        lambda library: resnet50(library, (1, 1), 8), 2, (3, 16, 16), 10, layers((1, 1), 16, 8), None, dtype="bfloat16",
        channels_last=True),
    "GPT-2 12x768, context 1024, batch 4, bfloat16": Model(
        lambda library: gpt(library, _TINY), 2, (), _TINY.vocabulary, _TINY.products, None, _ATTENTION, context=_TINY.context,
        dtype="bfloat16"),
}


def cases(side: Side) -> Iterator[Case]:
    """Both networks."""
    for name, model in (QUICK if side.quick else MODELS).items():
        yield case(side, name, model)
