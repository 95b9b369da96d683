"""VGG, with torchvision's keys."""
from __future__ import annotations

import lucid
from lucid import nn

from .registry import register_model

_REPEATS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}  # convolutions of each size


class VGG(nn.Module):
    """Convolutions of 3x3 and poolings, `depth` layers with weights (https://arxiv.org/abs/1409.1556)."""

    def __init__(self, depth: int, batch_norm: bool = False, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for repeats, width in zip(_REPEATS[depth], (64, 128, 256, 512, 512), strict=True):
            for _ in range(repeats):
                layers.append(nn.Conv2d(channels, width, 3, padding=1))
                if batch_norm:
                    layers.append(nn.BatchNorm2d(width))
                layers.append(nn.ReLU(inplace=True))
                channels = width
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(4096, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes for images (N, 3, H, W)."""
        return self.classifier(lucid.flatten(self.avgpool(self.features(x)), 1))


@register_model
def vgg11(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 11 layers."""
    return VGG(11, False, num_classes, dropout)


@register_model
def vgg11_bn(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 11 layers and batch normalization."""
    return VGG(11, True, num_classes, dropout)


@register_model
def vgg13(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 13 layers."""
    return VGG(13, False, num_classes, dropout)


@register_model
def vgg13_bn(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 13 layers and batch normalization."""
    return VGG(13, True, num_classes, dropout)


@register_model
def vgg16(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 16 layers."""
    return VGG(16, False, num_classes, dropout)


@register_model
def vgg16_bn(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 16 layers and batch normalization."""
    return VGG(16, True, num_classes, dropout)


@register_model
def vgg19(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 19 layers."""
    return VGG(19, False, num_classes, dropout)


@register_model
def vgg19_bn(num_classes: int = 1000, dropout: float = 0.5) -> VGG:
    """VGG with 19 layers and batch normalization."""
    return VGG(19, True, num_classes, dropout)
