"""ResNet, ResNeXt and Wide ResNet, with torchvision's keys: the strides of bottlenecks stand in their 3x3 convolutions."""
from __future__ import annotations

from collections.abc import Sequence

import lucid
from lucid import nn

from .registry import register_model


class BasicBlock(nn.Module):
    """Two convolutions of 3x3 beside a shortcut."""

    expansion = 1

    def __init__(self, channels: int, width: int, stride: int, downsample: nn.Module | None, groups: int, base: int) -> None:
        super().__init__()
        if groups != 1 or base != 64:
            raise ValueError("only bottlenecks have groups and other widths")
        self.conv1 = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The block's activations."""
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + shortcut)


class Bottleneck(nn.Module):
    """Convolutions of 1x1, 3x3 and 1x1 beside a shortcut."""

    expansion = 4

    def __init__(self, channels: int, width: int, stride: int, downsample: nn.Module | None, groups: int, base: int) -> None:
        super().__init__()
        inner, outer = width * base // 64 * groups, width * self.expansion
        self.conv1 = nn.Conv2d(channels, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, padding=1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = nn.Conv2d(inner, outer, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The block's activations."""
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(out)))))
        return self.relu(out + shortcut)


class ResNet(nn.Module):
    """Four stages of blocks (https://arxiv.org/abs/1512.03385)."""

    def __init__(self, block: type[BasicBlock | Bottleneck], layers: Sequence[int], num_classes: int = 1000, groups: int = 1,
                 width_per_group: int = 64, zero_init_residual: bool = False) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = 64
        for number, (count, width) in enumerate(zip(layers, (64, 128, 256, 512), strict=True), 1):
            blocks = []
            for position in range(count):
                stride = 2 if number > 1 and position == 0 else 1
                outer = width * block.expansion
                downsample = None
                if stride != 1 or channels != outer:
                    downsample = nn.Sequential(nn.Conv2d(channels, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
                blocks.append(block(channels, width, stride, downsample, groups, width_per_group))
                channels = outer
            self.add_module(f"layer{number}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(module, (BasicBlock, Bottleneck)):
                nn.init.zeros_((module.bn2 if isinstance(module, BasicBlock) else module.bn3).weight)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes for images (N, 3, H, W)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(lucid.flatten(self.avgpool(x), 1))


@register_model
def resnet18(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-18."""
    return ResNet(BasicBlock, (2, 2, 2, 2), num_classes, zero_init_residual=zero_init_residual)


@register_model
def resnet34(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-34."""
    return ResNet(BasicBlock, (3, 4, 6, 3), num_classes, zero_init_residual=zero_init_residual)


@register_model
def resnet50(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-50."""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes, zero_init_residual=zero_init_residual)


@register_model
def resnet101(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-101."""
    return ResNet(Bottleneck, (3, 4, 23, 3), num_classes, zero_init_residual=zero_init_residual)


@register_model
def resnet152(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-152."""
    return ResNet(Bottleneck, (3, 8, 36, 3), num_classes, zero_init_residual=zero_init_residual)


@register_model
def resnext50_32x4d(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNeXt-50 with 32 groups of 4 channels."""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes, 32, 4, zero_init_residual)


@register_model
def resnext101_32x8d(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNeXt-101 with 32 groups of 8 channels."""
    return ResNet(Bottleneck, (3, 4, 23, 3), num_classes, 32, 8, zero_init_residual)


@register_model
def wide_resnet50_2(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-50 with bottlenecks of twice the width."""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes, 1, 128, zero_init_residual)


@register_model
def wide_resnet101_2(num_classes: int = 1000, zero_init_residual: bool = False) -> ResNet:
    """ResNet-101 with bottlenecks of twice the width."""
    return ResNet(Bottleneck, (3, 4, 23, 3), num_classes, 1, 128, zero_init_residual)
