"""Two-dimensional pooling. Average pooling and its gradient are each other's gradients; so are the scatter and the gather of
max pooling, for fixed indices.
"""
from __future__ import annotations

import functools
from typing import Any, Literal, overload

from lucid_kernels.windows import window_counts

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import LEVELS, is_composed
from ...autograd.grad_mode import mode as grad_mode
from ...autograd.op import Op, Vjp
from ...backends.memory_format import channels_last, format_of
from ...tensor import Tensor
from .._independence import Origin, with_zero_gradients
from .._operands import refuse_stored, require_tensor

__all__ = ("max_pool2d",)

# Of the indices that only gradients need, where the windows lie side by side: kernels know what they mean.
_WINNERS = _dtypes.uint8


def _max_pool2d_rule(needs: Any, x: Tensor, **windows: Any) -> Vjp:
    input_shape = x._array.shape
    if _misses(input_shape, **windows):
        area = input_shape[2] * input_shape[3]
        return lambda g, kept: (max_pool2d_grad(g.masked_fill(kept[0] >= area, 0), kept[0].clamp(max=area - 1),
                                                 input_shape=input_shape),)
    window = _geometry(**windows)
    return lambda g, kept: (max_pool2d_grad(g, kept[0], input_shape=input_shape, window=window),)


def _relu_max_pool2d_rule(needs: Any, x: Tensor, **window: Any) -> Vjp:
    input_shape, origin, geometry = x._array.shape, Origin.of(x), _geometry(**window)

    def vjp(g: Tensor, kept: Any) -> tuple[Tensor]:
        (indices,) = kept
        if is_composed():
            if indices._array.dtype == _WINNERS:
                return (with_zero_gradients(max_pool2d_grad(g, indices, input_shape=input_shape), origin),)
            full = max_pool2d_grad(g.masked_fill(indices < 0, 0), indices.clamp(min=0), input_shape=input_shape)
            return (with_zero_gradients(full, origin),)
        return (max_pool2d_grad(g, indices, input_shape=input_shape, relu=True, window=geometry),)

    return vjp


def _geometry(*, kernel_size: Any = None, stride: Any = None, padding: Any = None, dilation: Any = None, **other: Any) -> Any:
    """What tells `max_pool2d_grad` where the windows lie; None of those of adaptive pooling, which are of all sizes."""
    return None if kernel_size is None else (kernel_size, stride, padding, dilation)


def _max_pool2d_grad_rule(needs: Any, g: Tensor, indices: Tensor, *, input_shape: tuple[int, ...], **how: Any) -> Vjp:
    return lambda gg, y: (max_pool2d_gather(gg, indices), None)


def _max_pool2d_gather_rule(needs: Any, x: Tensor, indices: Tensor) -> Vjp:
    input_shape = x._array.shape
    return lambda g, y: (max_pool2d_grad(g, indices, input_shape=input_shape), None)


_max_pool2d = operation("max_pool2d", _max_pool2d_rule, saved_outputs=(1,), outputs=(0,))
_relu_max_pool2d = operation("max_pool2d", _relu_max_pool2d_rule, saved_outputs=(1,), outputs=(0,))
_adaptive_max_pool2d = operation("adaptive_max_pool2d", _max_pool2d_rule, saved_outputs=(1,), outputs=(0,))
max_pool2d_grad = single_op("max_pool2d_grad", _max_pool2d_grad_rule)
max_pool2d_gather = single_op("max_pool2d_gather", _max_pool2d_gather_rule)


def _avg_pool2d_rule(needs: Any, x: Tensor, **window: Any) -> Vjp:
    input_shape = x._array.shape
    return lambda g, y: (_avg_pool2d_grad(g, input_shape=input_shape, **window),)


def _avg_pool2d_grad_rule(needs: Any, g: Tensor, *, input_shape: tuple[int, ...], **window: Any) -> Vjp:
    return lambda gg, y: (_avg_pool2d(gg, **window),)


def _adaptive_rule(needs: Any, x: Tensor, *, output_size: tuple[int, int]) -> Vjp:
    # A result of one pixel, as most are, does not tell how the input lies.
    input_shape, last = x._array.shape, format_of(x._array) is channels_last
    return lambda g, y: (_adaptive_avg_pool2d_grad(g, input_shape=input_shape, channels_last=last),)


def _adaptive_grad_rule(needs: Any, g: Tensor, *, input_shape: tuple[int, ...], channels_last: bool) -> Vjp:
    output_size = g._array.shape[2:]
    return lambda gg, y: (_adaptive_avg_pool2d(gg, output_size=output_size),)


_avg_pool2d = single_op("avg_pool2d", _avg_pool2d_rule)
_avg_pool2d_grad = single_op("avg_pool2d_grad", _avg_pool2d_grad_rule)
_adaptive_avg_pool2d = single_op("adaptive_avg_pool2d", _adaptive_rule)
_adaptive_avg_pool2d_grad = single_op("adaptive_avg_pool2d_grad", _adaptive_grad_rule)


@overload
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: ...


@overload
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any: ...


def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of `input` (N, C, H, W) or (C, H, W); the padding counts as minus infinity.

    `stride` defaults to `kernel_size`. With `return_indices` also the int64 indices of the maxima in the flattened H*W plane
    (the first of equal ones). With `ceil_mode` windows may stick out at the end. NaN wins. The gradient goes there; those
    of windows that lie between the elements, wholly in the padding, may be outside of the plane, and have none.
    Raises RuntimeError for shapes and windows that do not fit, as PyTorch does.

    >>> F.max_pool2d(lucid.arange(16.0).view(1, 1, 4, 4), 2)
    Tensor([[[[ 5.0,  7.0],
              [13.0, 15.0]]]], requires_grad=False)
    """
    y, indices = _maxima(_max_pool2d, input, kernel_size, stride, padding, dilation, ceil_mode,
                         winners=not (return_indices or grad_mode.get() & LEVELS))
    return (y, indices) if return_indices else y


def relu_max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False) -> Tensor:
    """``max_pool2d(relu(input), ...)`` in one pass over the memory."""
    result: Tensor = _maxima(_relu_max_pool2d, input, kernel_size, stride, padding, 1, ceil_mode, relu=True,
                             winners=not grad_mode.get() & LEVELS)[0]
    return result


def _maxima(op: Op, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, **more: Any
            ) -> tuple[Tensor, Tensor]:
    """The maxima and their indices."""
    kernel, step, pad = _window("max_pool2d", kernel_size, stride, padding)
    spread = _pair("max_pool2d", "dilation", dilation)
    if min(spread) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got dilationH: {spread[0]} dilationW: {spread[1]}")
    x, batched, dtype = _prepare("max_pool2d", input)
    _check_output(x._array.shape, kernel, step, pad, spread, ceil_mode)
    if 2 * pad[0] > kernel[0] or 2 * pad[1] > kernel[1]:
        raise RuntimeError(f"pad should be smaller than or equal to half of kernel size, but got padding {pad} and kernel_size "
                           f"{kernel}")
    y, indices = op(x, kernel_size=kernel, stride=step, padding=pad, dilation=spread, ceil_mode=bool(ceil_mode), **more)
    return _finish(y, batched, dtype), _finish(indices, batched, indices._array.dtype)


def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of `input` (N, C, H, W) or (C, H, W).

    `stride` defaults to `kernel_size`. The padding counts as zeros, or not at all with `count_include_pad=False`;
    `divisor_override` replaces the number of elements. Raises RuntimeError for shapes and windows that do not fit.

    >>> F.avg_pool2d(lucid.arange(16.0).view(1, 1, 4, 4), 2)
    Tensor([[[[ 2.5,  4.5],
              [10.5, 12.5]]]], requires_grad=False)
    """
    kernel, step, pad = _window("avg_pool2d", kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    x, batched, dtype = _prepare("avg_pool2d", input)
    _check_output(x._array.shape, kernel, step, pad, (1, 1), ceil_mode)
    return _finish(_avg_pool2d(x, kernel_size=kernel, stride=step, padding=pad, ceil_mode=bool(ceil_mode),
                               count_include_pad=bool(count_include_pad), divisor_override=divisor_override), batched, dtype)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` windows that cover the H*W plane of `input` (N, C, H, W) or (C, H, W) evenly.

    `output_size` is a number or (OH, OW); None in it keeps the length of the input. Raises RuntimeError for shapes that do
    not fit.

    >>> F.adaptive_avg_pool2d(lucid.arange(8.0).view(1, 1, 2, 4), (1, 2))
    Tensor([[[[2.5, 4.5]]]], requires_grad=False)
    """
    wanted = _adaptive_sizes("adaptive_avg_pool2d", input, output_size)
    x, batched, dtype = _prepare("adaptive_avg_pool2d", input)
    return _finish(_adaptive_avg_pool2d(x, output_size=wanted), batched, dtype)


@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor: ...


@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any: ...


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of ``output_size`` windows that cover the H*W plane of `input` (N, C, H, W) or (C, H, W) evenly.

    None in `output_size` keeps the length of the input. With `return_indices` also the int64 indices of the maxima in the
    flattened plane. Raises RuntimeError for shapes that do not fit, NotImplementedError for integers.

    >>> F.adaptive_max_pool2d(lucid.arange(8.0).view(1, 1, 2, 4), (1, 2))
    Tensor([[[[5.0, 7.0]]]], requires_grad=False)
    """
    wanted = _adaptive_sizes("adaptive_max_pool2d", input, output_size)
    if not _dtypes.is_floating(input._array.dtype):
        raise NotImplementedError(f'"adaptive_max_pool2d" not implemented for \'{type_name(input.dtype)}\'')
    x, batched, _ = _prepare("adaptive_max_pool2d", input)
    y, indices = (_finish(t, batched, t._array.dtype) for t in _adaptive_max_pool2d(x, output_size=wanted))
    return (y, indices) if return_indices else y


def _adaptive_sizes(function: str, input: Tensor, output_size: Any) -> tuple[int, int]:
    """The lengths of the result."""
    require_tensor(function, input)
    shape = input._array.shape
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(sizes) != 2:
        raise RuntimeError(f"{function}: output_size must be 2")
    if len(shape) not in (3, 4):
        raise RuntimeError(f"{function}(): Expected 3D or 4D tensor, but got {list(shape)}")
    wanted = (shape[-2] if sizes[0] is None else int(sizes[0]), shape[-1] if sizes[1] is None else int(sizes[1]))
    if min(wanted) < 0:
        raise RuntimeError(f"{function}: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{wanted[0]}, {wanted[1]}}}")
    for dim in range(len(shape) - 3 if len(shape) == 3 else 1, len(shape)):
        if shape[dim] == 0:
            raise RuntimeError(f"{function}(): Expected input to have non-zero size for non-batch dimensions, but "
                               f"input has sizes {list(shape)} with dimension {dim} being empty")
    return wanted


def _pair(function: str, name: str, value: Any) -> tuple[int, int]:
    if value.__class__ is int:
        return value, value
    if isinstance(value, (tuple, list)):
        if len(value) not in (1, 2):
            raise RuntimeError(f"{function}: {name} must either be a single int, or a tuple of two ints")
        return (int(value[0]), int(value[-1]))
    return (int(value), int(value))


def _window(function: str, kernel_size: Any, stride: Any, padding: Any) -> tuple[tuple[int, int], ...]:
    kernel = _pair(function, "kernel_size", kernel_size)
    step = kernel if stride is None or stride == () or stride == [] else _pair(function, "stride", stride)
    pad = _pair(function, "padding", padding)
    if 0 in step:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0 or min(step) <= 0:
        raise RuntimeError(f"{function}: kernel_size and stride should be greater than zero, but got {kernel} and {step}")
    return kernel, step, pad


def _prepare(function: str, input: Tensor) -> tuple[Tensor, bool, Any]:
    """The input with a batch dimension and a floating-point dtype, whether it had the former, and its own dtype."""
    require_tensor(function, input)
    shape, dtype = input._array.shape, input._array.dtype
    if len(shape) not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input, but got: " f"{list(shape)}")
    if 0 in shape[-3:]:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                           f"{list(shape)}")
    if dtype.kind in "bc":
        raise NotImplementedError(f'"{function}" not implemented for dtype {dtype.name}')
    refuse_stored("max_pool", dtype)
    x = input if _dtypes.is_floating(dtype) else input.double()
    return (x, True, dtype) if len(shape) == 4 else (x.reshape(1, *shape), False, dtype)


def _finish(y: Tensor, batched: bool, dtype: Any) -> Tensor:
    if y._array.dtype != dtype:
        y = y.to(dtype)
    return y if batched else y.reshape(y.shape[1:])


def _misses(shape: tuple[int, ...], padding: Any = (0, 0), dilation: Any = (1, 1), **other: Any) -> bool:
    """Whether a window may have all of its elements in the padding, on both sides of the input."""
    return dilation != (1, 1) and any(d > n and p > 0 for n, p, d in zip(shape[2:], padding, dilation, strict=True))


@functools.lru_cache(maxsize=256)  # pure, and a third of a small layer's time
def _check_output(shape: tuple[int, ...], kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int],
                  dilation: tuple[int, int], ceil_mode: bool) -> None:
    """Raise RuntimeError for a padding beyond half the window and for an empty output."""
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                               f"dilation={d}")
    channels, height, width = shape[1:]
    lengths = window_counts((height, width), kernel, stride, padding, dilation, ceil_mode)
    if min(lengths) < 1:
        raise RuntimeError(f"Given input size: ({channels}x{height}x{width}). Calculated output size: "
                           f"({channels}x{lengths[0]}x{lengths[1]}). Output size is too small")
