"""Images of another size: interpolation, a dimension at a time, and channels as pixels."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from ..creation.creation import arange
from ..elementwise.clamp import clip
from .pooling import adaptive_avg_pool2d
from .pooling_dimensions import adaptive_avg_pool1d, adaptive_avg_pool3d

_DIMENSIONS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """`input` (N, C, *lengths) resized to `size`, or by `scale_factor`: a number, or one for each of the 1 to 3 dimensions.

    `mode` is 'nearest', 'nearest-exact', 'area' (any dimensions), 'linear' (1), 'bilinear', 'bicubic' (2) or 'trilinear'
    (3). With `align_corners` the outermost pixels keep their places, else the outermost edges do. A `scale_factor` maps the
    coordinates itself, or with `recompute_scale_factor` only says the size; a dimension whose length it does not change is left
    alone where pixels are averages ('linear', 'bilinear', 'trilinear', antialiased), and one of 'nearest' in 2 dimensions, of
    which twice as many pixels are each of them twice. With `antialias` ('bilinear', 'bicubic') smaller
    images are averages over all pixels, as those of PIL. uint8 is rounded after each dimension, the last one first.

    Raises ValueError for arguments that do not fit, NotImplementedError for a mode and dimensions, or a mode and integers,
    that do not go together.

    >>> x = lucid.tensor([[[1.0, 2.0]]])
    >>> F.interpolate(x, scale_factor=2)
    Tensor([[[1.0, 1.0, 2.0, 2.0]]], requires_grad=False)
    >>> F.interpolate(x, size=5, mode="linear", align_corners=True)
    Tensor([[[1.00, 1.25, 1.50, 1.75, 2.00]]], requires_grad=False)
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
    if antialias and (mode not in ("bilinear", "bicubic") or count != 2):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    sizes, scales = _target(input._array.shape[2:], size, scale_factor, recompute_scale_factor)
    if count not in (1, 2, 3) or _DIMENSIONS.get(mode, count) != count:
        raise NotImplementedError(f"Got {count + 2}D input, but {mode} mode does not take it")
    if min(sizes) <= 0 or 0 in input._array.shape[1:]:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input of shape {list(input.shape)} and "
                           f"output size {sizes}")
    if mode == "area":
        pool: Callable[..., Tensor] = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[count - 1]
        return pool(input, sizes)
    lengths = input._array.shape[2:]
    nearest = mode.startswith("nearest")
    if align_corners:
        steps = tuple((n - 1) / (wanted - 1) if wanted > 1 else 0.0 for n, wanted in zip(lengths, sizes))
    elif scales is None:
        steps = tuple(n / wanted for n, wanted in zip(lengths, sizes))
    else:
        exact: tuple[int, ...] = ()  # the ratios of lengths that count instead of a factor, as in PyTorch
        if mode == "nearest" and count == 2:
            exact = 1, 2
        elif antialias or mode.endswith("linear") or (input.dtype == _dtypes.uint8 and not nearest):
            exact = (1,)
        steps = tuple(n / wanted if wanted % n == 0 and wanted // n in exact else 1 / scale
                      for n, wanted, scale in zip(lengths, sizes, scales))
    if nearest and not _dtypes.is_floating(input._array.dtype):
        for dim, wanted, step in zip(range(2, count + 2), sizes, steps):
            input = _nearest(input, dim, wanted, step, 0.5 if mode == "nearest-exact" else 0.0)
        return input
    kind = mode if nearest else "cubic" if mode == "bicubic" else "linear"
    kind = f"smooth {kind}" if antialias else kind
    options = {"mode": kind, "align_corners": bool(align_corners)}
    if _dtypes.is_floating(input._array.dtype):
        result: Tensor = _resample(input, lengths=sizes, steps=steps, **options)
        return result
    if input.dtype != _dtypes.uint8 or count != 2:
        raise NotImplementedError(f"\"upsample_{mode}{count}d\" not implemented for '{type_name(input.dtype)}'")
    for dim in reversed(range(count)):
        input = _resample_bytes(input, dim, sizes[dim], steps[dim], options)
    return input


def _resample_bytes(x: Tensor, dim: int, wanted: int, step: float, options: dict[str, Any]) -> Tensor:
    """The pixels of an image along one dimension, rounded: sums of products with integers, which are exact in float64."""
    lengths, steps = list(x._array.shape[2:]), [1.0] * (x._array.ndim - 2)
    lengths[dim], steps[dim] = wanted, step
    options = {**options, "mode": f"{options['mode']} of bytes"}
    result = _resample(x.to(_dtypes.float64), lengths=tuple(lengths), steps=tuple(steps), **options)
    return (result + 0.5).floor().clamp(0, 255).to(x.dtype)


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
    """The nearest elements along `dim` for dtypes that have no products."""
    # In float32, in which PyTorch rounds the indices down.
    nearest = clip(((arange(wanted, dtype=_dtypes.float32) + offset) * step).floor().long(), max=x._array.shape[dim] - 1)
    return x.index_select(dim, nearest.to(x.device))


def _resample_rule(needs: Any, x: Tensor, *, lengths: Any, **geometry: Any) -> Vjp:
    shape = x._array.shape[2:]
    return lambda g, y: (_resample_grad(g, lengths=shape, **geometry),)


def _resample_grad_rule(needs: Any, g: Tensor, *, lengths: Any, **geometry: Any) -> Vjp:
    shape = g._array.shape[2:]
    return lambda h, y: (_resample(h, lengths=shape, **geometry),)


_resample = single_op("resample", _resample_rule)
_resample_grad = single_op("resample_grad", _resample_grad_rule)


