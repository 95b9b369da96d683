"""Images of another size: interpolation, a dimension at a time, and channels as pixels."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _dtypes
from ..tensor import Tensor
from ._operands import require_tensor
from .comparison import clip
from .creation import arange
from .pooling import adaptive_avg_pool2d
from .pooling_dimensions import adaptive_avg_pool1d, adaptive_avg_pool3d

__all__ = ("channel_shuffle", "pixel_shuffle", "pixel_unshuffle")

_DIMENSIONS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
_CUBIC = -0.75  # Keys' parameter: "Cubic convolution interpolation for digital image processing", 1981


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """`input` (N, C, *lengths) resized to `size`, or by `scale_factor`: a number, or one for each of the 1 to 3 dimensions.

    `mode` is 'nearest', 'nearest-exact', 'area' (any dimensions), 'linear' (1), 'bilinear', 'bicubic' (2) or 'trilinear'
    (3). With `align_corners` the outermost pixels keep their places, else the outermost edges do. A `scale_factor` maps the
    coordinates itself, or with `recompute_scale_factor` only says the size.

    Raises ValueError for arguments that do not fit, NotImplementedError for a mode and dimensions that do not go together and
    for `antialias`.
    """
    require_tensor("interpolate", input)
    count = input._array.ndim - 2
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                             "trilinear")
    elif mode not in _DIMENSIONS:
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported with known modes (got "
                                  f"{count + 2}D and {mode})")
    if antialias:
        if mode not in ("bilinear", "bicubic") or count != 2:
            raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
        raise NotImplementedError("interpolate: antialias is not supported")
    sizes, scales = _target(input._array.shape[2:], size, scale_factor, recompute_scale_factor)
    if count not in (1, 2, 3) or _DIMENSIONS.get(mode, count) != count:
        raise NotImplementedError(f"Got {count + 2}D input, but {mode} mode does not take it")
    if min(sizes) <= 0 or 0 in input._array.shape[1:]:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input of shape {list(input.shape)} and "
                           f"output size {sizes}")
    if mode == "area":
        pool: Callable[..., Tensor] = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[count - 1]
        return pool(input, sizes)
    result = input
    for dim in range(2, count + 2):
        length, wanted = input._array.shape[dim], sizes[dim - 2]
        step = length / wanted if scales is None else 1 / scales[dim - 2]
        if mode.startswith("nearest"):
            result = _nearest(result, dim, wanted, step, 0.5 if mode == "nearest-exact" else 0.0)
        else:
            if align_corners:
                step = (length - 1) / (wanted - 1) if wanted > 1 else 0.0
            result = _weighted_taps(result, dim, wanted, step, bool(align_corners), cubic=mode == "bicubic")
    return result if result is not input else input.clone()


def _target(lengths: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
            ) -> tuple[tuple[int, ...], tuple[float, ...] | None]:
    """The lengths of the result, and the factors that map its coordinates (None: those of the lengths)."""
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined" if size is not None else
                         "either size or scale_factor should be defined")
    if size is not None:
        sizes = tuple(int(n) for n in size) if isinstance(size, (tuple, list)) else (int(size),) * len(lengths)
        if len(sizes) != len(lengths):
            raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial "
                             f"dimensions of {list(lengths)} and output size of {size}.")
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return sizes, None
    scales = tuple(float(s) for s in scale_factor) if isinstance(scale_factor, (tuple, list)) else (
        float(scale_factor),) * len(lengths)
    if len(scales) != len(lengths):
        raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                         f"dimensions of {list(lengths)} and scale_factor of shape {scale_factor}.")
    return tuple(math.floor(n * s) for n, s in zip(lengths, scales, strict=True)), None if recompute else scales


def _nearest(x: Tensor, dim: int, wanted: int, step: float, offset: float) -> Tensor:
    length = x._array.shape[dim]
    if wanted == length and step == 1:
        return x
    if wanted % length == 0 and step * (wanted // length) == 1:  # a view and a sum as the gradient, instead of single elements
        times = wanted // length
        shape = x._array.shape
        wide = x.unsqueeze(dim + 1).expand(*shape[:dim + 1], times, *shape[dim + 1:])
        return wide.reshape(*shape[:dim], wanted, *shape[dim + 1:])
    # In float32, in which PyTorch rounds the places down.
    places = clip(((arange(wanted, dtype=_dtypes.float32) + offset) * step).floor().long(), max=length - 1)
    return x.index_select(dim, places.to(x.device))


def _weighted_taps(x: Tensor, dim: int, wanted: int, step: float, align_corners: bool, cubic: bool) -> Tensor:
    """Linear or cubic interpolation along `dim`: each result is a weighted sum of 2 or 4 neighbours."""
    length = x._array.shape[dim]
    dtype = x.dtype if x.dtype in (_dtypes.float32, _dtypes.float64) else _dtypes.float32
    position = arange(wanted, dtype=dtype)
    position = position * step if align_corners else (position + 0.5) * step - 0.5
    if not cubic:
        position = clip(position, min=0)
    floor = clip(position.floor(), max=length - 1) if not cubic else position.floor()
    share = position - floor
    offsets: tuple[int, ...]
    if cubic:
        offsets, weights = (-1, 0, 1, 2), [_cubic_weight(d) for d in (share + 1, share, 1 - share, 2 - share)]
    else:
        offsets, weights = (0, 1), [1 - share, share]
    column = (-1,) + (1,) * (x._array.ndim - 1 - dim)
    wide = x.to(dtype)
    total: Any = 0.0
    for offset, weight in zip(offsets, weights, strict=True):
        places = clip(floor.long() + offset, 0, length - 1).to(x.device)
        total = wide.index_select(dim, places) * weight.to(x.device).reshape(column) + total
    return total.to(x.dtype)


def _cubic_weight(distance: Tensor) -> Tensor:
    """The weight of a neighbour at a distance of 0 to 2."""
    near = ((_CUBIC + 2) * distance - (_CUBIC + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance * _CUBIC - 4 * _CUBIC
    inside = (distance <= 1).to(distance.dtype)
    return near * inside + far * (1 - inside)


# ---- channels as pixels ------------------------------------------------------------------------------------------------
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(…, C * r * r, H, W) to (…, C, H * r, W * r). Raises RuntimeError for channels that r * r does not divide.

    Source: Shi et al., "Real-Time Single Image and Video Super-Resolution", 2016.
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
    return pixels.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2).reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(…, C, H * r, W * r) to (…, C * r * r, H, W): the inverse of `pixel_shuffle`. Raises RuntimeError for lengths that r does
    not divide.
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
    return pixels.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3).reshape(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `input` (N, C, …) dealt out anew: the first of each of `groups` groups, then the second, …

    Raises RuntimeError for channels that `groups` does not divide. Source: Zhang et al., "ShuffleNet", 2018.
    """
    shape = require_tensor("channel_shuffle", input)._array.shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups.")
    return input.unflatten(1, (groups, shape[1] // groups)).transpose(1, 2).reshape(shape)
