"""Maxima put back where max pooling found them. The gradient is what stands there."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from .pooling import max_pool2d_gather

__all__ = ()  # functions of nn.functional only

Sizes = tuple[int, ...]


def _max_unpool2d_rule(needs: Any, x: Tensor, indices: Tensor, *, output_size: tuple[int, int]) -> Vjp:
    return lambda g, y: (max_pool2d_gather(g, indices), None)


_max_unpool2d = single_op("max_unpool2d", _max_unpool2d_rule)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """`max_unpool2d` over one dimension: `input` (N, C, L) or (C, L).

    >>> y, indices = F.max_pool1d(lucid.tensor([[[1.0, 3.0, 5.0, 2.0]]]), 2, return_indices=True)
    >>> F.max_unpool1d(y, indices, 2)
    Tensor([[[0.0, 3.0, 5.0, 0.0]]], requires_grad=False)
    """
    return _unpool("max_unpool1d", input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """Zeros, and the elements of `input` (N, C, H, W) or (C, H, W) at the `indices` that max pooling returned.

    `indices` are int64, of the shape of `input`, and count in the flattened planes of the result; the last of equal ones
    counts. The size of the result is that of the smallest input which `kernel_size`, `stride` (`kernel_size` by default)
    and `padding` pool to this size, or `output_size`, with or without N and C, which may differ from it by less than the stride.

    Raises ValueError for another output size, NotImplementedError for integers, RuntimeError for shapes that do not fit and for
    indices outside a plane (on a GPU IndexError, where the host waits for the device).

    >>> y, indices = F.max_pool2d(lucid.arange(4.0).view(1, 1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(y, indices, 2)
    Tensor([[[[0.0, 0.0],
              [0.0, 3.0]]]], requires_grad=False)
    """
    return _unpool("max_unpool2d", input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """`max_unpool2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W).

    >>> y, indices = F.max_pool3d(lucid.arange(8.0).view(1, 1, 2, 2, 2), 2, return_indices=True)
    >>> F.max_unpool3d(y, indices, 2).flatten()
    Tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0], requires_grad=False)
    """
    return _unpool("max_unpool3d", input, indices, kernel_size, stride, padding, output_size, 3)


def _unpool(function: str, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any,
            count: int) -> Tensor:
    for tensor in (input, indices):
        require_tensor(function, tensor)
    shape = input._array.shape
    kernel, pad = _sizes(function, "kernel_size", kernel_size, count), _sizes(function, "padding", padding, count)
    step = kernel if stride is None else _sizes(function, "stride", stride, count)
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(f"Input to {function} should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with "
                           f"{len(shape)} dimensions.")
    size = _output_size(shape[-count:], kernel, step, pad, output_size)
    if min(step) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(step)}")
    if indices._array.dtype != _dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {type_name(indices.dtype)}")
    if indices._array.shape != shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got indices "
                           f"tensor with shape: {list(indices.shape)}")
    if 0 in shape[-count - 1:] or min(size) < 1:
        raise RuntimeError(f"{function}(): Expected input to have non-zero size for non-batch dimensions, but got {list(shape)} "
                           f"for an output of {list(size)}.")
    if not _dtypes.is_floating(input._array.dtype):
        raise NotImplementedError(f'"{function}" not implemented for \'{type_name(input.dtype)}\'')
    planes = (math.prod(shape[:-count]), 1, math.prod(shape[-count:-1]), shape[-1])
    try:
        y = _max_unpool2d(input.reshape(planes), indices.reshape(planes), output_size=(math.prod(size[:-1]), size[-1]))
    except IndexError as error:
        volume = "x".join(map(str, size))
        raise RuntimeError(f"Found an invalid max index (output volumes are of size {volume}): {error}") from None
    return y.reshape(*shape[:-count], *size)


def _sizes(function: str, name: str, value: Any, count: int) -> Sizes:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(values) != count:
        raise RuntimeError(f"{function}: {name} should have {count} elements, but got {len(values)} elements.")
    return tuple(int(v) for v in values)


def _output_size(lengths: Sizes, kernel: Sizes, step: Sizes, pad: Sizes, wanted: Any) -> Sizes:
    default = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(lengths, kernel, step, pad, strict=True))
    if wanted is None:
        return default
    size, count = tuple(int(n) for n in wanted), len(default)
    if len(size) == count + 2:
        size = size[2:]
    if len(size) != count:
        raise ValueError(f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
                         f"'{len(size)}'")
    for dim, (n, usual, s) in enumerate(zip(size, default, step, strict=True)):
        if not usual - s < n < usual + s:
            raise ValueError(f'invalid output_size "{size}" (dim {dim} must be between {usual - s} and {usual + s})')
    return size
