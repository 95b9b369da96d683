"""MobileNetV2, with torchvision's keys."""
from __future__ import annotations

import lucid
from lucid import nn

from .registry import register_model

#: Of each stage: by how much its blocks are wider inside, channels, blocks, stride of the first.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def _divisible(channels: float, divisor: int = 8) -> int:
    """The nearest multiple of `divisor` that is at most a tenth smaller."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


def _convolution(channels: int, width: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, width, size, stride, (size - 1) // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(width), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """A depthwise convolution between two of 1x1, wider than what goes in and out, beside a shortcut where shapes are equal."""

    def __init__(self, channels: int, width: int, stride: int, expand_ratio: int) -> None:
        super().__init__()
        inner = channels * expand_ratio
        layers: list[nn.Module] = [] if expand_ratio == 1 else [_convolution(channels, inner, 1)]
        self.conv = nn.Sequential(*layers, _convolution(inner, inner, 3, stride, inner),
                                  nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))
        self.shortcut = stride == 1 and channels == width

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The block's activations."""
        return x + self.conv(x) if self.shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals (https://arxiv.org/abs/1801.04381)."""

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2) -> None:
        super().__init__()
        channels = _divisible(32 * width_mult)
        layers: list[nn.Module] = [_convolution(3, channels, 3, 2)]
        for expand_ratio, base, count, stride in _STAGES:
            width = _divisible(base * width_mult)
            for position in range(count):
                layers.append(InvertedResidual(channels, width, stride if position == 0 else 1, expand_ratio))
                channels = width
        last = _divisible(1280 * max(1.0, width_mult))
        layers.append(_convolution(channels, last, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes for images (N, 3, H, W)."""
        x = nn.functional.adaptive_avg_pool2d(self.features(x), 1)
        return self.classifier(lucid.flatten(x, 1))


@register_model
def mobilenet_v2(num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2) -> MobileNetV2:
    """MobileNetV2."""
    return MobileNetV2(num_classes, width_mult, dropout)
