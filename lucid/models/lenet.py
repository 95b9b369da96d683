"""LeNet-5, with the layer names of PyTorch's tutorials."""
from __future__ import annotations

import lucid
from lucid import nn

from .registry import register_model


class LeNet(nn.Module):
    """Two convolutions and three linear layers, for images of 32x32 pixels (https://doi.org/10.1109/5.726791)."""

    def __init__(self, num_classes: int = 10, in_channels: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.pool = nn.AvgPool2d(2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes for images (N, in_channels, 32, 32)."""
        x = self.pool(lucid.tanh(self.conv1(x)))
        x = self.pool(lucid.tanh(self.conv2(x)))
        x = lucid.tanh(self.fc1(lucid.flatten(x, 1)))
        return self.fc3(lucid.tanh(self.fc2(x)))


@register_model
def lenet_5(num_classes: int = 10, in_channels: int = 1) -> LeNet:
    """LeNet-5 for images of 32x32 pixels."""
    return LeNet(num_classes, in_channels)
