"""Windows of images as columns, and back."""
from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

Size = int | tuple[int, ...]


class Unfold(Module):
    """The windows of an image as columns: (N, C, H, W) to (N, C * KH * KW, windows), or the same without N.

    >>> nn.Unfold(2)(lucid.arange(9.0).view(1, 1, 3, 3))
    Tensor([[[0.0, 1.0, 3.0, 4.0],
             [1.0, 2.0, 4.0, 5.0],
             [3.0, 4.0, 6.0, 7.0],
             [4.0, 5.0, 7.0, 8.0]]], requires_grad=False)
    """

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W) to (N, C * KH * KW, windows)."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The windows."""
        return (f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
                f"stride={self.stride}")


class Fold(Module):
    """The sums of windows where `Unfold` took them from: (N, C * KH * KW, windows) to (N, C, *output_size), or the same without
    N.

    >>> nn.Fold(output_size=(4, 4), kernel_size=2, stride=2)(lucid.randn(1, 12, 4)).shape
    lucid.Size([1, 3, 4, 4])
    """

    def __init__(self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """(N, C * KH * KW, windows) to (N, C, *output_size)."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The size of the image and the windows."""
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
                f"padding={self.padding}, stride={self.stride}")
