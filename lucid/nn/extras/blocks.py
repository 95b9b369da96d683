"""Convolutions with what follows them, and attention to channels."""
from __future__ import annotations

from typing import Any

from ...ops.manipulation.joining import stack
from ...ops.nn.activation import relu, sigmoid, softmax
from ...tensor import Tensor
from ..modules.activation import ReLU
from ..modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..modules.container import ModuleList, Sequential
from ..modules.conv import Conv1d, Conv2d, Conv3d
from ..modules.linear import Linear
from ..modules.module import Module
from ..modules.pooling import AdaptiveAvgPool2d

__all__ = ["ConvBNReLU1d", "ConvBNReLU2d", "ConvBNReLU3d", "DepthSeparableConv1d", "DepthSeparableConv2d", "DepthSeparableConv3d",
           "SEModule", "SelectiveKernel"]

_CONVOLUTIONS = (Conv1d, Conv2d, Conv3d)
_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d)


class _ConvBNReLU(Module):
    dimensions = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, conv_bias: bool = True, eps: float = 1e-5, momentum: float | None = 0.1,
                 bn_affine: bool = True, track_running_stats: bool = True) -> None:
        super().__init__()
        self.conv = _CONVOLUTIONS[self.dimensions - 1](in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                                                       conv_bias)
        self.bn = _NORMS[self.dimensions - 1](out_channels, eps, momentum, bn_affine, track_running_stats)
        self.relu = ReLU()

    def forward(self, input_: Tensor) -> Tensor:
        """The convolution, normalised over the batch, without negative elements."""
        result: Tensor = self.relu(self.bn(self.conv(input_)))
        return result


class ConvBNReLU1d(_ConvBNReLU):
    """`Conv1d`, `BatchNorm1d` and `ReLU`, as `conv`, `bn` and `relu`.

    >>> nn.ConvBNReLU1d(3, 8, kernel_size=3, padding=1)(lucid.randn(2, 3, 10)).shape
    lucid.Size([2, 8, 10])
    """

    dimensions = 1


class ConvBNReLU2d(_ConvBNReLU):
    """`Conv2d`, `BatchNorm2d` and `ReLU`, as `conv`, `bn` and `relu`.

    >>> nn.ConvBNReLU2d(3, 8, kernel_size=3, padding=1)(lucid.randn(2, 3, 6, 6)).shape
    lucid.Size([2, 8, 6, 6])
    """

    dimensions = 2


class ConvBNReLU3d(_ConvBNReLU):
    """`Conv3d`, `BatchNorm3d` and `ReLU`, as `conv`, `bn` and `relu`.

    >>> nn.ConvBNReLU3d(3, 8, kernel_size=3, padding=1)(lucid.randn(2, 3, 4, 4, 4)).shape
    lucid.Size([2, 8, 4, 4, 4])
    """

    dimensions = 3


class _DepthSeparableConv(Module):
    dimensions = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, bias: bool = True) -> None:
        super().__init__()
        kind = _CONVOLUTIONS[self.dimensions - 1]
        self.depthwise = kind(in_channels, in_channels, kernel_size, stride, padding, dilation, in_channels, bias)
        self.pointwise = kind(in_channels, out_channels, 1, bias=bias)

    def forward(self, input_: Tensor) -> Tensor:
        """Both convolutions."""
        result: Tensor = self.pointwise(self.depthwise(input_))
        return result


class DepthSeparableConv1d(_DepthSeparableConv):
    """A `Conv1d` of each channel, `depthwise`, and one across channels, `pointwise`.

    >>> nn.DepthSeparableConv1d(4, 8, kernel_size=3)(lucid.randn(2, 4, 10)).shape
    lucid.Size([2, 8, 8])
    """

    dimensions = 1


class DepthSeparableConv2d(_DepthSeparableConv):
    """A `Conv2d` of each channel, `depthwise`, and one across channels, `pointwise`.

    >>> layer = nn.DepthSeparableConv2d(4, 8, kernel_size=3)
    >>> layer.depthwise.weight.shape, layer.pointwise.weight.shape
    (lucid.Size([4, 1, 3, 3]), lucid.Size([8, 4, 1, 1]))
    """

    dimensions = 2


class DepthSeparableConv3d(_DepthSeparableConv):
    """A `Conv3d` of each channel, `depthwise`, and one across channels, `pointwise`.

    >>> nn.DepthSeparableConv3d(4, 8, kernel_size=3)(lucid.randn(2, 4, 5, 5, 5)).shape
    lucid.Size([2, 8, 3, 3, 3])
    """

    dimensions = 3


def _require_pictures(x: Tensor) -> None:
    if x.ndim != 4:
        raise ValueError("Only supports 4D-tensors.")


class SEModule(Module):
    """Channels of (N, C, H, W) weighted by a small perceptron of their means.

    Source: Hu et al., "Squeeze-and-Excitation Networks", 2018.

    >>> nn.SEModule(16, reduction=4)(lucid.randn(2, 16, 3, 3)).shape
    lucid.Size([2, 16, 3, 3])
    """

    def __init__(self, in_channels: int, reduction: int = 16) -> None:
        super().__init__()
        self.fc1 = Linear(in_channels, in_channels // reduction)
        self.fc2 = Linear(in_channels // reduction, in_channels)

    def forward(self, x: Tensor) -> Tensor:
        """`x` with its channels weighted. Raises ValueError for another number of dimensions."""
        _require_pictures(x)
        weights = sigmoid(self.fc2(relu(self.fc1(x.mean((-2, -1))))))
        return x * weights[:, :, None, None]


class SelectiveKernel(Module):
    """Convolutions with kernels of several sizes, added with weights that depend on the means of the channels.

    Source: Li et al., "Selective Kernel Networks", 2019; one weight for each size.

    >>> nn.SelectiveKernel(16, 16, kernel_sizes=[3, 5])(lucid.randn(2, 16, 6, 6)).shape
    lucid.Size([2, 16, 6, 6])
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_sizes: list[int], stride: int = 1, padding: Any = None,
                 groups: int = 1, reduction: int = 16) -> None:
        super().__init__()
        self.branches = ModuleList([
            Conv2d(in_channels, out_channels, size, stride, size // 2 if padding is None else padding, groups=groups, bias=False)
            for size in kernel_sizes])
        hidden = out_channels // reduction
        self.attention = Sequential(AdaptiveAvgPool2d((1, 1)), Conv2d(out_channels, hidden, 1, bias=False), BatchNorm2d(hidden),
                                    ReLU(), Conv2d(hidden, len(kernel_sizes), 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        """The weighted sum. Raises ValueError for another number of dimensions."""
        _require_pictures(x)
        results = stack([branch(x) for branch in self.branches], 1)
        weights = softmax(self.attention(results.sum(1)), 1)
        return (results * weights.unsqueeze(2)).sum(1)
