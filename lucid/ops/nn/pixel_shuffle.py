"""Channels turned into pixels and back, and channels shuffled."""
from __future__ import annotations

from ...backends.memory_format import contiguous_format
from ...tensor import Tensor
from .._operands import require_tensor


# ---- channels as pixels ------------------------------------------------------------------------------------------------
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(…, C * r * r, H, W) to (…, C, H * r, W * r). Raises RuntimeError for channels that r * r does not divide.

    Source: Shi et al., "Real-Time Single Image and Video Super-Resolution", 2016.

    >>> F.pixel_shuffle(lucid.arange(4.0).view(1, 4, 1, 1), 2)
    Tensor([[[[0.0, 1.0],
              [2.0, 3.0]]]], requires_grad=False)
    """
    shape, r = require_tensor("pixel_shuffle", input)._array.shape, upscale_factor
    if len(shape) < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(shape)} "
                           "dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = shape
    if channels % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    pixels = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    pixels = _copy(pixels.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return pixels.view(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(…, C, H * r, W * r) to (…, C * r * r, H, W): the inverse of `pixel_shuffle`. Raises RuntimeError for lengths that r does
    not divide.

    >>> F.pixel_unshuffle(lucid.arange(4.0).view(1, 1, 2, 2), 2).flatten()
    Tensor([0.0, 1.0, 2.0, 3.0], requires_grad=False)
    """
    shape, r = require_tensor("pixel_unshuffle", input)._array.shape, downscale_factor
    if len(shape) < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {len(shape)} "
                           "dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = shape
    if height % r or width % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {height} x "
                           f"{width} and {r}")
    pixels = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    pixels = _copy(pixels.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return pixels.view(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `input` (N, C, …) reordered: the first of each of `groups` groups, then the second, …

    Raises RuntimeError for channels that `groups` does not divide. Source: Zhang et al., "ShuffleNet", 2018.

    >>> F.channel_shuffle(lucid.arange(4.0).view(1, 4, 1, 1), 2).flatten()
    Tensor([0.0, 2.0, 1.0, 3.0], requires_grad=False)
    """
    shape = require_tensor("channel_shuffle", input)._array.shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups.")
    return _copy(input.unflatten(1, (groups, shape[1] // groups)).transpose(1, 2)).view(shape)


def _copy(x: Tensor) -> Tensor:
    """Row-major, also where a view would do: what is written to the result must not reach the input."""
    return x.clone(memory_format=contiguous_format)
