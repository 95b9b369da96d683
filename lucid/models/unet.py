"""U-Net with padded convolutions and batch normalization, under the keys of the implementation that is on PyTorch Hub."""
from __future__ import annotations

import lucid
from lucid import nn

from .registry import register_model


class DoubleConv(nn.Module):
    """Two convolutions of 3x3, each with a normalization."""

    def __init__(self, in_channels: int, out_channels: int, mid_channels: int | None = None) -> None:
        super().__init__()
        middle = mid_channels or out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, middle, 3, padding=1, bias=False), nn.BatchNorm2d(middle), nn.ReLU(inplace=True),
            nn.Conv2d(middle, out_channels, 3, padding=1, bias=False), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True))

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The block's activations."""
        return self.double_conv(x)


class Down(nn.Module):
    """Half the resolution."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The block's activations."""
        return self.maxpool_conv(x)


class Up(nn.Module):
    """Twice the resolution, beside what the way down had there."""

    def __init__(self, in_channels: int, out_channels: int, bilinear: bool) -> None:
        super().__init__()
        self.up: nn.Module
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, 2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x: lucid.Tensor, skip: lucid.Tensor) -> lucid.Tensor:
        """The block's activations, of the size of `skip`."""
        x = self.up(x)
        rows, columns = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        if rows or columns:
            x = nn.functional.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
        return self.conv(lucid.cat([skip, x], dim=1))


class OutConv(nn.Module):
    """Scores of the classes."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """The scores of each pixel."""
        return self.conv(x)


class UNet(nn.Module):
    """Four times down and up again (https://arxiv.org/abs/1505.04597); `width` is the number of channels at full resolution."""

    def __init__(self, n_channels: int = 3, n_classes: int = 2, bilinear: bool = False, width: int = 64) -> None:
        super().__init__()
        factor = 2 if bilinear else 1
        self.inc = DoubleConv(n_channels, width)
        self.down1 = Down(width, 2 * width)
        self.down2 = Down(2 * width, 4 * width)
        self.down3 = Down(4 * width, 8 * width)
        self.down4 = Down(8 * width, 16 * width // factor)
        self.up1 = Up(16 * width, 8 * width // factor, bilinear)
        self.up2 = Up(8 * width, 4 * width // factor, bilinear)
        self.up3 = Up(4 * width, 2 * width // factor, bilinear)
        self.up4 = Up(2 * width, width, bilinear)
        self.outc = OutConv(width, n_classes)

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """Scores of the classes of each pixel, (N, n_classes, H, W) for images (N, n_channels, H, W)."""
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(self.down4(x4), x4)
        return self.outc(self.up4(self.up3(self.up2(x, x3), x2), x1))


@register_model
def unet(n_channels: int = 3, n_classes: int = 2, bilinear: bool = False, width: int = 64) -> UNet:
    """U-Net for images of any size from 16 pixels."""
    return UNet(n_channels, n_classes, bilinear, width)
