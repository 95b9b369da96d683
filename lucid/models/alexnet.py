"""AlexNet, with torchvision's keys."""
from __future__ import annotations

import lucid
from lucid import nn

from .registry import register_model


class AlexNet(nn.Module):
    """The variant on one device (https://arxiv.org/abs/1404.5997)."""

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2))
        self.avgpool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(inplace=True),
            nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, num_classes))

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes for images (N, 3, H, W)."""
        return self.classifier(lucid.flatten(self.avgpool(self.features(x)), 1))


@register_model
def alexnet(num_classes: int = 1000, dropout: float = 0.5) -> AlexNet:
    """AlexNet."""
    return AlexNet(num_classes, dropout)
