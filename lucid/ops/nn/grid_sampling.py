"""Images and volumes read at any coordinates, and the coordinates of affine transforms: spatial transformers."""
from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from .._second_order import by_recording
from ..creation.creation import linspace, ones, zeros, zeros_like
from ..elementwise.where import where
from ..indexing.gather_scatter import gather_op
from ..linalg.matmul import matmul
from ..manipulation.grids import meshgrid
from ..manipulation.joining import stack

__all__ = ()  # functions of nn.functional only

_MODES, _PADDING_MODES = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
_KEYS = -0.75  # "Cubic convolution interpolation for digital image processing", 1981
_CHANGED = ("{}: the default is align_corners=False since PyTorch 1.3.0; pass align_corners=True for what it was before")


# ---- the fused operation -----------------------------------------------------------------------------------------------
def _rule(needs: Sequence[bool], x: Tensor, grid: Tensor, *, mode: str, padding_mode: str, align_corners: bool) -> Vjp:
    needs = tuple(needs)

    def vjp(g: Tensor, y: Any) -> Sequence[Any]:
        if not is_composed():
            return _grid_sample_grad(g, x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners,
                                     with_input=needs[0], with_grid=needs[1])
        composed = functools.partial(_composed, mode=mode, padding_mode=padding_mode, align_corners=align_corners)
        return by_recording(composed, (x, grid), needs, g)

    return vjp


_grid_sample = single_op("grid_sample", _rule)
_grid_sample_grad = operation("grid_sample_grad")


# ---- the same in operations, which differentiate again -----------------------------------------------------------------
class _Neighbour(NamedTuple):
    """One of the elements along a dimension, or of a plane or volume, that each point is made of."""

    coordinate: Tensor  # without fractions
    inside: Tensor
    weight: Tensor


def _composed(x: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    (samples, channels, *lengths), dtype = x._array.shape, x.dtype
    if dtype.itemsize == 2:
        x, grid = x.float(), grid.float()
    elements, points = x.reshape(samples, channels, -1), grid.reshape(samples, 1, -1, len(lengths))
    # The coordinate of the last dimension comes first.
    axes = [_neighbours(points[..., -1 - dim], length, mode, padding_mode, align_corners) for dim, length in enumerate(lengths)]
    total: Any = 0
    for neighbours in itertools.product(*axes):
        coordinate, inside, weight = neighbours[0]
        for length, other in zip(lengths[1:], neighbours[1:], strict=True):
            coordinate, inside, weight = coordinate * length + other.coordinate, inside & other.inside, weight * other.weight
        index = where(inside, coordinate, 0).long().expand(samples, channels, -1)
        total = total + weight * where(inside, gather_op(elements, index, axis=2), 0)
    return total.reshape(samples, channels, *grid._array.shape[1:-1]).to(dtype)


def _neighbours(coordinate: Tensor, length: int, mode: str, padding_mode: str, align_corners: bool) -> list[_Neighbour]:
    position = (coordinate + 1) * (length - 1) / 2 if align_corners else ((coordinate + 1) * length - 1) / 2
    if mode == "bicubic":
        first = position.detach().floor()
        share = position - first
        coordinates = [_padded(first + step, length, padding_mode, align_corners) for step in (-1, 0, 1, 2)]
        weights = [_cubic(distance) for distance in (share + 1, share, 1 - share, 2 - share)]
    else:
        position = _padded(position, length, padding_mode, align_corners)
        first = position.detach().floor()
        coordinates, weights = [first, first + 1], [first + 1 - position, position - first]
        if mode == "nearest":
            coordinates, weights = [position.detach().round()], [zeros_like(position) + 1]
    return [_Neighbour(coordinate, (coordinate >= 0) & (coordinate < length), weight)
            for coordinate, weight in zip(coordinates, weights, strict=True)]


def _cubic(distance: Tensor) -> Tensor:
    """The weight of a neighbour at a distance of 0 to 2. At 1, where the pieces meet, their slopes agree."""
    near = ((_KEYS + 2) * distance - (_KEYS + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance * _KEYS - 4 * _KEYS
    return where(distance <= 1, near, far)


def _padded(position: Tensor, length: int, padding_mode: str, align_corners: bool) -> Tensor:
    """`position` moved into the input, constant where it was outside."""
    if padding_mode == "zeros":
        return position
    last = length - 1
    if padding_mode == "reflection":
        low, span = (0.0, last) if align_corners else (-0.5, length)
        if span == 0:
            return zeros_like(position)
        distance = position - low
        distance = where(distance < 0, -distance, distance)
        turns = (distance.detach() / span).floor()
        rest = distance - turns * span
        position = where(turns % 2 == 0, rest, span - rest) + low
    fixed = where(position > 0, position.detach().clamp(max=last), 0)  # 0 for NaN too
    return where((position > 0) & (position < last), position, fixed)


# ---- the public functions ----------------------------------------------------------------------------------------------
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """`input` read at the coordinates `grid`: (N, C, H, W) at (N, h, w, 2) to (N, C, h, w), (N, C, D, H, W) at (N, d, h, w, 3) to
    (N, C, d, h, w).

    The coordinates x, y(, z) belong to W, H(, D); -1 and 1 are the ends: the centres of the outermost elements with
    `align_corners`, else their outer borders (also by default, with a UserWarning). `mode` is 'bilinear' (trilinear in volumes),
    'nearest' or, for images, 'bicubic'. Outside are zeros, the nearest element with `padding_mode` 'border', or mirror images
    with 'reflection'. Differentiable any number of times in both; gradients of gradients take memory for each neighbour.

    Raises ValueError for other modes, RuntimeError for shapes and dtypes that do not fit, NotImplementedError for integers.
    Source: Jaderberg et al., "Spatial transformer networks", 2015.

    >>> x, mirror = lucid.arange(4.0).view(1, 1, 2, 2), lucid.tensor([[[-1.0, 0, 0], [0, 1, 0]]])
    >>> F.grid_sample(x, F.affine_grid(mirror, x.shape, align_corners=False), align_corners=False)
    Tensor([[[[1.0, 0.0],
              [3.0, 2.0]]]], requires_grad=False)
    """
    for name, value, known in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDING_MODES)):
        if value not in known:
            raise ValueError(f"nn.functional.grid_sample(): expected {name} to be one of {known}, but got: '{value}'")
    if align_corners is None:
        warnings.warn(_CHANGED.format("grid_sample"), stacklevel=stacklevel())
    _check(require_tensor("grid_sample", input), require_tensor("grid_sample", grid), mode)
    return _grid_sample(input, grid, mode=mode, padding_mode=padding_mode, align_corners=bool(align_corners))


def _check(input: Tensor, grid: Tensor, mode: str) -> None:
    shape, points = input._array.shape, grid._array.shape
    sizes = f"but got input with sizes {list(shape)} and grid with sizes {list(points)}"
    if len(shape) not in (4, 5) and len(shape) == len(points) and len(shape) > 2 and points[-1] == len(shape) - 2:
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, {sizes}")
    if shape[:1] != points[:1]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {sizes}")
    if not points or points[-1] != len(shape) - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with "
                           f"sizes {list(points)}")
    for dim, length in enumerate(shape[2:], 2):
        if not length:
            raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                               f"{list(shape)} with dimension {dim} being empty")
    if len(shape) != len(points):
        raise RuntimeError(f"grid_sampler(): expected {len(shape)}D input and grid with same number of dimensions, {sizes}")
    if mode == "bicubic" and len(shape) != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if math.prod(shape[2:]) >= 1 << 31:
        raise RuntimeError(f"grid_sampler(): expected less than 2**31 elements in a channel, {sizes}")
    if not _dtypes.is_floating(input._array.dtype):
        raise NotImplementedError(f"\"grid_sampler\" not implemented for '{type_name(input.dtype)}'")
    if input._array.dtype != grid._array.dtype:
        raise RuntimeError(f"expected scalar type {type_name(input.dtype)} but found {type_name(grid.dtype)}")


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The coordinates for `grid_sample` of affine transforms `theta`: (N, 2, 3) to (N, H, W, 2) for `size` (N, C, H, W),
    (N, 3, 4) to (N, D, H, W, 3) for `size` (N, C, D, H, W).

    Raises ValueError for sizes that are not positive and other shapes and dtypes of `theta`, NotImplementedError for other
    numbers of dimensions, RuntimeError for another N.

    >>> F.affine_grid(lucid.tensor([[[1.0, 0, 0], [0, 1, 0]]]), (1, 1, 1, 2), align_corners=False)
    Tensor([[[[-0.5,  0.0],
              [ 0.5,  0.0]]]], requires_grad=False)
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims, lengths = len(size) - 2, tuple(size[2:])
    if dims not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got "
                                  f"size {size}.")
    if theta.ndim != 3 or theta._array.shape[1:] != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got "
                         f"{theta.shape}.")
    if align_corners is None:
        warnings.warn(_CHANGED.format("affine_grid"), stacklevel=stacklevel())
    if align_corners and min(lengths) == 1:
        warnings.warn("affine_grid: since PyTorch 1.3.0 the coordinate of a dimension of length 1 is 0 with align_corners=True",
                      stacklevel=stacklevel())
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if theta._array.shape[0] != size[0]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {dims + 1}] but got: "
                           f"[{theta.shape[0]}, {dims + 1}].")
    axes = meshgrid(*[_centres(length, bool(align_corners), theta) for length in lengths], indexing="ij")
    base = stack([*axes[::-1], ones(lengths, dtype=theta.dtype, device=theta.device)], -1)
    return matmul(base.reshape(1, -1, dims + 1), theta.mT).reshape(size[0], *lengths, dims)


def _centres(length: int, align_corners: bool, like: Tensor) -> Tensor:
    """Coordinates of the elements along a dimension."""
    if length == 1:
        return zeros(1, dtype=like.dtype, device=like.device)
    end = 1 if align_corners else (length - 1) / length
    return linspace(-end, end, length, dtype=like.dtype, device=like.device)
