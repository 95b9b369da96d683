"""Pooling over one and three dimensions, made of two-dimensional pooling.

Maxima and means over boxes are those over the rows of maxima and means over planes: a dimension at a time.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

from ...tensor import Tensor
from .._operands import require_tensor
from .activation import relu
from .pooling import adaptive_avg_pool2d, adaptive_max_pool2d, avg_pool2d, max_pool2d

__all__ = ("adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "max_pool1d", "max_pool3d")

Sizes = tuple[int, ...]


def _sizes(function: str, name: str, value: Any, count: int) -> Sizes:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(values) not in (1, count):
        raise RuntimeError(f"{function}: {name} must either be a single int, or a tuple of {count} ints")
    return tuple(int(v) for v in values) * (count // len(values))


def _require_dimensions(function: str, input: Tensor, count: int) -> None:
    shape = require_tensor(function, input)._array.shape
    if len(shape) not in (count + 1, count + 2) or 0 in shape[-count - 1:]:
        raise RuntimeError(f"{function}: Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch "
                           f"size for input, but got: {list(shape)}")


def _or_kernel(stride: Any, kernel: Any) -> Any:
    return kernel if stride is None or stride == () or stride == [] else stride


# ---- one dimension -----------------------------------------------------------------------------------------------------
@overload
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: ...


@overload
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any: ...


def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """`max_pool2d` over one dimension: `input` (N, C, L) or (C, L).

    >>> F.max_pool1d(lucid.tensor([[[1.0, 3.0, 5.0, 2.0]]]), kernel_size=2)
    Tensor([[[3.0, 5.0]]], requires_grad=False)
    """
    _require_dimensions("max_pool1d", input, 1)
    (kernel,), (step,), (pad,), (spread,) = (_sizes("max_pool1d", name, value, 1) for name, value in (
        ("kernel_size", kernel_size), ("stride", _or_kernel(stride, kernel_size)), ("padding", padding), ("dilation", dilation)))
    found = max_pool2d(input.unsqueeze(-2), (1, kernel), (1, step), (0, pad), (1, spread), ceil_mode, return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:
    """`avg_pool2d` over one dimension: `input` (N, C, L) or (C, L).

    >>> F.avg_pool1d(lucid.tensor([[[1.0, 3.0, 5.0, 9.0]]]), kernel_size=2)
    Tensor([[[2.0, 7.0]]], requires_grad=False)
    """
    _require_dimensions("avg_pool1d", input, 1)
    (kernel,), (step,), (pad,) = (_sizes("avg_pool1d", name, value, 1) for name, value in (
        ("kernel_size", kernel_size), ("stride", _or_kernel(stride, kernel_size)), ("padding", padding)))
    return avg_pool2d(input.unsqueeze(-2), (1, kernel), (1, step), (0, pad), ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` over one dimension: `input` (N, C, L) or (C, L).

    >>> F.adaptive_avg_pool1d(lucid.arange(6.0).view(1, 1, 6), 3)
    Tensor([[[0.5, 2.5, 4.5]]], requires_grad=False)
    """
    _require_dimensions("adaptive_avg_pool1d", input, 1)
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, *_wanted("adaptive_avg_pool1d", input, output_size, 1))).squeeze(-2)


# ---- three dimensions --------------------------------------------------------------------------------------------------
@overload
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: ...


@overload
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any: ...


def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """`max_pool2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W).

    >>> F.max_pool3d(lucid.arange(8.0).view(1, 1, 2, 2, 2), 2)
    Tensor([[[[[7.0]]]]], requires_grad=False)
    """
    _require_dimensions("max_pool3d", input, 3)
    kernel, step, pad, spread = (_sizes("max_pool3d", name, value, 3) for name, value in (
        ("kernel_size", kernel_size), ("stride", _or_kernel(stride, kernel_size)), ("padding", padding), ("dilation", dilation)))
    planes, plane_indices = max_pool2d(_volumes(input), kernel[1:], step[1:], pad[1:], spread[1:], ceil_mode, return_indices=True)
    return _of_volumes(input, planes, plane_indices, return_indices, lambda flat: max_pool2d(
        flat, (kernel[0], 1), (step[0], 1), (pad[0], 0), (spread[0], 1), ceil_mode, return_indices=True))


def _volumes(x: Tensor) -> Tensor:
    """`x` (N, C, D, H, W) or (C, D, H, W) with the first dimensions as one, which may be empty as a batch may."""
    shape = x._array.shape
    return x.reshape(math.prod(shape[:-3]), *shape[-3:])


def _of_volumes(input: Tensor, planes: Tensor, plane_indices: Tensor, return_indices: bool, pool: Callable[[Tensor], Any]) -> Any:
    """The maxima of boxes and their indices, from those of the planes of `volume`: `pool` takes them (B, 1, D, H' * W')."""
    lead, (depth, height, width) = input._array.shape[:-3], input._array.shape[-3:]
    count, _, rows, columns = planes._array.shape
    maxima, slices = pool(planes.reshape(count, 1, depth, rows * columns))
    boxes = maxima._array.shape[2]
    shape = (*lead, boxes, rows, columns)
    if not return_indices:
        return maxima.reshape(shape)
    # `slices` are indices in (depth, rows * columns): there stand the indices in their planes.
    inside = slices.clamp(max=depth * rows * columns - 1)  # not so if a dilated window lies wholly in the padding
    within = plane_indices.reshape(count, depth * rows * columns).gather(1, inside.reshape(count, boxes * rows * columns))
    indices = within.reshape(slices.shape) + slices // max(1, rows * columns) * (height * width)
    return maxima.reshape(shape), indices.reshape(shape)


def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """`avg_pool2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W).

    >>> F.avg_pool3d(lucid.arange(8.0).view(1, 1, 2, 2, 2), 2)
    Tensor([[[[[3.5]]]]], requires_grad=False)
    """
    _require_dimensions("avg_pool3d", input, 3)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, step, pad = (_sizes("avg_pool3d", name, value, 3) for name, value in (
        ("kernel_size", kernel_size), ("stride", _or_kernel(stride, kernel_size)), ("padding", padding)))
    sums = None if divisor_override is None else 1
    planes = avg_pool2d(_volumes(input), kernel[1:], step[1:], pad[1:], ceil_mode, count_include_pad, divisor_override)
    count, depth, rows, columns = planes._array.shape
    boxes = avg_pool2d(planes.reshape(count, 1, depth, rows * columns), (kernel[0], 1), (step[0], 1), (pad[0], 0), ceil_mode,
                       count_include_pad, sums)
    return boxes.reshape(*input._array.shape[:-3], boxes._array.shape[2], rows, columns)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W).

    >>> F.adaptive_avg_pool3d(lucid.arange(8.0).view(1, 1, 2, 2, 2), 1)
    Tensor([[[[[3.5]]]]], requires_grad=False)
    """
    _require_dimensions("adaptive_avg_pool3d", input, 3)
    wanted = _wanted("adaptive_avg_pool3d", input, output_size, 3)
    planes = adaptive_avg_pool2d(_volumes(input), wanted[1:])
    count, depth, rows, columns = planes._array.shape
    boxes = adaptive_avg_pool2d(planes.reshape(count, 1, depth, rows * columns), (wanted[0], rows * columns))
    return boxes.reshape(*input._array.shape[:-3], *wanted)


# ---- adaptive maxima ---------------------------------------------------------------------------------------------------
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor: ...


@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any: ...


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` over one dimension: `input` (N, C, L) or (C, L).

    >>> F.adaptive_max_pool1d(lucid.arange(6.0).view(1, 1, 6), 3)
    Tensor([[[1.0, 3.0, 5.0]]], requires_grad=False)
    """
    _require_dimensions("adaptive_max_pool1d", input, 1)
    (wanted,) = _wanted("adaptive_max_pool1d", input, output_size, 1)
    found = adaptive_max_pool2d(input.unsqueeze(-2), (1, wanted), return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor: ...


@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any: ...


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W).

    >>> F.adaptive_max_pool3d(lucid.arange(8.0).view(1, 1, 2, 2, 2), 1)
    Tensor([[[[[7.0]]]]], requires_grad=False)
    """
    _require_dimensions("adaptive_max_pool3d", input, 3)
    wanted = _wanted("adaptive_max_pool3d", input, output_size, 3)
    planes, plane_indices = adaptive_max_pool2d(_volumes(input), wanted[1:], return_indices=True)
    return _of_volumes(input, planes, plane_indices, return_indices,
                       lambda flat: adaptive_max_pool2d(flat, (wanted[0], None), return_indices=True))


def _wanted(function: str, input: Tensor, output_size: Any, count: int) -> Sizes:
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if len(sizes) != count:
        raise RuntimeError(f"{function}: output_size must be {count}")
    wanted = tuple(n if size is None else int(size) for size, n in zip(sizes, input._array.shape[-count:], strict=True))
    if min(wanted) < 0:
        raise RuntimeError(f"{function}: elements of output_size must be greater than or equal to 0 but received {wanted}")
    return wanted


# ---- powers ------------------------------------------------------------------------------------------------------------
def _lp(pooled: Tensor, norm_type: float, count: int) -> Tensor:
    # relu: its gradient is 0 where the sum is, whatever the infinite slope of the root makes of it.
    return (pooled.sign() * relu(pooled.abs()) * count) ** (1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window of `input` (N, C, L) or (C, L), without absolute values of its elements.

    >>> F.lp_pool1d(lucid.tensor([[[3.0, 4.0, 5.0, 12.0]]]), 2.0, kernel_size=2)
    Tensor([[[ 5.0, 13.0]]], requires_grad=False)
    """
    (kernel,) = _sizes("lp_pool1d", "kernel_size", kernel_size, 1)
    return _lp(avg_pool1d(input ** norm_type, kernel_size, stride, 0, ceil_mode), norm_type, kernel)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """`lp_pool1d` over two dimensions: `input` (N, C, H, W) or (C, H, W).

    >>> F.lp_pool2d(lucid.arange(4.0).view(1, 1, 2, 2), 1.0, kernel_size=2)
    Tensor([[[[6.0]]]], requires_grad=False)
    """
    kernel = _sizes("lp_pool2d", "kernel_size", kernel_size, 2)
    return _lp(avg_pool2d(input ** norm_type, kernel_size, stride, 0, ceil_mode), norm_type, math.prod(kernel))


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """`lp_pool1d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W).

    >>> F.lp_pool3d(lucid.ones(1, 1, 2, 2, 2), 2.0, kernel_size=2)
    Tensor([[[[[2.8284]]]]], requires_grad=False)
    """
    kernel = _sizes("lp_pool3d", "kernel_size", kernel_size, 3)
    return _lp(avg_pool3d(input ** norm_type, kernel_size, stride, 0, ceil_mode), norm_type, math.prod(kernel))
