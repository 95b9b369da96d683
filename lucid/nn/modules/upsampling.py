"""Images of another size."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .module import Module


class Upsample(Module):
    """Resizes (N, C, …) to `size` or by `scale_factor`; modes and options as in `functional.interpolate`.

    >>> nn.Upsample(scale_factor=2)(lucid.tensor([[[1.0, 2.0]]]))
    Tensor([[[1.0, 1.0, 2.0, 2.0]]], requires_grad=False)
    >>> nn.Upsample(size=5, mode="linear", align_corners=True)(lucid.tensor([[[1.0, 2.0]]]))
    Tensor([[[1.00, 1.25, 1.50, 1.75, 2.00]]], requires_grad=False)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) to (N, C, *size)."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """Size or factor, and mode."""
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of (N, C, H, W) in mode 'nearest'.

    >>> nn.UpsamplingNearest2d(scale_factor=2)(lucid.tensor([[[[1.0, 2.0]]]]))
    Tensor([[[[1.0, 1.0, 2.0, 2.0],
              [1.0, 1.0, 2.0, 2.0]]]], requires_grad=False)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of (N, C, H, W) in mode 'bilinear', with the corners aligned.

    >>> nn.UpsamplingBilinear2d(size=(2, 3))(lucid.arange(4.0).view(1, 1, 2, 2))
    Tensor([[[[0.0, 0.5, 1.0],
              [2.0, 2.5, 3.0]]]], requires_grad=False)
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """(…, C * r * r, H, W) to (…, C, H * r, W * r).

    >>> nn.PixelShuffle(2)(lucid.arange(4.0).view(1, 4, 1, 1))
    Tensor([[[[0.0, 1.0],
              [2.0, 3.0]]]], requires_grad=False)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """(…, C * r * r, H, W) to (…, C, H * r, W * r)."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(…, C, H * r, W * r) to (…, C * r * r, H, W).

    >>> nn.PixelUnshuffle(2)(lucid.zeros(1, 3, 8, 8)).shape
    lucid.Size([1, 12, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """(…, C, H * r, W * r) to (…, C * r * r, H, W)."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of (N, C, …) reordered: the first of each of `groups` groups, then the second, …

    >>> nn.ChannelShuffle(2)(lucid.arange(4.0).view(1, 4, 1, 1)).flatten()
    Tensor([0.0, 2.0, 1.0, 3.0], requires_grad=False)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) to the same shape."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The groups."""
        return f"groups={self.groups}"
