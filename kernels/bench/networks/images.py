"""Networks of images: convolutions of every kind, and a transformer of patches."""

from __future__ import annotations

from typing import Any

from bench.library import Library
from bench.networks.network import Network, labels, numbers


def autoencoder(library: Library) -> Any:
    """Images of 28x28 through 32x7x7 and back."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 3, 2, 1, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 3, 2, 1, 1))


def discriminator(library: Library) -> Any:
    """Images of 32x32 -> one logit. Source: Radford et al., "Unsupervised Representation Learning with DCGANs", 2016."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64),
        nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2),
        nn.Conv2d(128, 1, 4), nn.Flatten())


def generator(library: Library) -> Any:
    """Noise (N, 100, 1, 1) -> images of 32x32, from the same paper."""
    nn = library.nn
    return nn.Sequential(
        nn.ConvTranspose2d(100, 128, 4, 1, 0, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())


def mobilenet(library: Library) -> Any:
    """Inverted residuals. Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018."""
    nn = library.nn

    def block(inputs: int, outputs: int, stride: int) -> Any:
        wide = 6 * inputs
        return nn.Sequential(
            nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
        block(16, 24, 2), block(24, 32, 2), block(32, 64, 2),
        nn.Conv2d(64, 256, 1), nn.BatchNorm2d(256), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


def unet(library: Library) -> Any:
    """Images -> a logit for each pixel. Source: Ronneberger et al., "U-Net", 2015."""
    nn, lib = library.nn, library.lib

    def pair(inputs: int, outputs: int) -> Any:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1), nn.BatchNorm2d(outputs), nn.ReLU(),
                             nn.Conv2d(outputs, outputs, 3, 1, 1), nn.BatchNorm2d(outputs), nn.ReLU())

    class UNet(nn.Module):
        """Three levels, joined at each."""

        def __init__(self, width: int = 16) -> None:
            super().__init__()
            self.down1, self.down2, self.bottom = pair(1, width), pair(width, 2 * width), pair(2 * width, 4 * width)
            self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, 1, 1)
            self.raise2, self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), pair(4 * width, 2 * width)
            self.raise1, self.up1 = nn.ConvTranspose2d(2 * width, width, 2, 2), pair(2 * width, width)

        def forward(self, x: Any) -> Any:
            """(N, 1, H, W) -> (N, 1, H, W)."""
            first = self.down1(x)
            second = self.down2(self.pool(first))
            y = self.up2(lib.cat([self.raise2(self.bottom(self.pool(second))), second], 1))
            return self.head(self.up1(lib.cat([self.raise1(y), first], 1)))

    return UNet()


def vit(library: Library) -> Any:
    """Images of 32x32 in patches of 4x4 -> ten classes. Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021."""
    nn, lib, width = library.nn, library.lib, 192

    class Block(nn.Module):
        """`nn.MultiheadAttention` and a perceptron, each added to its input."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = nn.MultiheadAttention(width, 3, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            """(N, T, width) -> (N, T, width)."""
            y = self.norm1(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.mlp(self.norm2(x))

    class ViT(nn.Module):
        """Patches, a class token, learnt positions and four blocks."""

        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, 4)
            self.token, self.positions = nn.Parameter(lib.zeros(1, 1, width)), nn.Parameter(lib.zeros(1, 65, width))
            self.blocks = nn.Sequential(*(Block() for _ in range(4)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            """(N, 3, 32, 32) -> (N, 10)."""
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = lib.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.norm(self.blocks(x))[:, 0])

    return ViT()


def convnext(library: Library) -> Any:
    """Two blocks for 96 channels of 28x28. Source: Liu et al., "A ConvNet for the 2020s", 2022."""
    nn, F, lib, width = library.nn, library.F, library.lib, 96

    class Block(nn.Module):
        """A depthwise convolution, then a perceptron over the channels."""

        def __init__(self) -> None:
            super().__init__()
            self.depthwise, self.norm = nn.Conv2d(width, width, 7, 1, 3, groups=width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.scale = nn.Parameter(lib.full((width,), 0.01))

        def forward(self, x: Any) -> Any:
            """(N, width, H, W) -> (N, width, H, W)."""
            y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)

    return nn.Sequential(Block(), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def densenet(library: Library) -> Any:
    """Two blocks of six layers. Source: Huang et al., "Densely Connected Convolutional Networks", 2017."""
    nn, lib = library.nn, library.lib

    class Block(nn.Module):
        """Each layer reads what all before it have computed."""

        def __init__(self, inputs: int, growth: int = 12) -> None:
            super().__init__()
            widths = range(inputs, inputs + 6 * growth, growth)
            self.layers = nn.ModuleList(
                nn.Sequential(nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, growth, 3, 1, 1, bias=False)) for n in widths)

        def forward(self, x: Any) -> Any:
            """(N, inputs, H, W) -> (N, inputs + 6 * growth, H, W)."""
            for layer in self.layers:
                x = lib.cat([x, layer(x)], 1)
            return x

    return nn.Sequential(nn.Conv2d(3, 24, 3, 1, 1), Block(24), nn.AvgPool2d(2), Block(96), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(168, 10))


IMAGES = {
    "autoencoder": Network(autoencoder, numbers(64, 1, 28, 28), numbers(64, 1, 28, 28), "MSELoss", True),
    "discriminator": Network(discriminator, numbers(32, 3, 32, 32), numbers(32, 1), "BCEWithLogitsLoss", True),
    "generator": Network(generator, numbers(32, 100, 1, 1), numbers(32, 3, 32, 32), "MSELoss", True),
    "MobileNetV2 blocks": Network(mobilenet, numbers(32, 3, 32, 32), labels(10, 32), of_images=True),
    "U-Net": Network(unet, numbers(8, 1, 64, 64), numbers(8, 1, 64, 64), "BCEWithLogitsLoss", True),
    "ViT": Network(vit, numbers(32, 3, 32, 32), labels(10, 32), of_images=True),
    "ConvNeXt blocks": Network(convnext, numbers(8, 96, 28, 28), labels(10, 8), of_images=True),
    "DenseNet blocks": Network(densenet, numbers(16, 3, 32, 32), labels(10, 16), of_images=True),
}
