"""Windows of images as columns, and back: each is the other's gradient."""
from __future__ import annotations

import math
from typing import Any

from lucid_kernels.windows import window_counts

from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor

__all__ = ()  # functions of nn.functional only

Pair = tuple[int, int]


def _unfold_rule(needs: Any, x: Tensor, **windows: Any) -> Vjp:
    size = x._array.shape[2:]
    return lambda g, y: (_fold(g, output_size=size, **windows),)


def _fold_rule(needs: Any, x: Tensor, *, output_size: Pair, **windows: Any) -> Vjp:
    return lambda g, y: (_unfold(g, **windows),)


_unfold = single_op("unfold", _unfold_rule)
_fold = single_op("fold", _fold_rule)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of `input` (N, C, H, W) or (C, H, W), zeros in the padding, as columns: (N, C * KH * KW, windows).

    Each size is a number or one for each dimension. Raises RuntimeError for shapes and sizes that do not fit.

    >>> F.unfold(lucid.arange(9.0).view(1, 1, 3, 3), 2)
    Tensor([[[0.0, 1.0, 3.0, 4.0],
             [1.0, 2.0, 4.0, 5.0],
             [3.0, 4.0, 6.0, 7.0],
             [4.0, 5.0, 7.0, 8.0]]], requires_grad=False)
    """
    require_tensor("unfold", input)
    shape = input._array.shape
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {list(shape)}")
    windows = _windows(kernel_size, dilation, padding, stride)
    _count(shape[-2:], windows)
    if len(shape) == 3:
        return _unfold(input.unsqueeze(0), **windows).squeeze(0)
    return _unfold(input, **windows)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The sums of windows where `unfold` took them from: `input` (N, C * KH * KW, windows) or without N to (N, C, *output_size).

    Raises RuntimeError for shapes and sizes that do not fit.

    >>> F.fold(lucid.ones(1, 4, 4), output_size=(3, 3), kernel_size=2)
    Tensor([[[[1.0, 2.0, 1.0],
              [2.0, 4.0, 2.0],
              [1.0, 2.0, 1.0]]]], requires_grad=False)
    """
    require_tensor("fold", input)
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
                           f"for input, but got: {list(shape)}")
    size = _pair("output_size", output_size)
    windows = _windows(kernel_size, dilation, padding, stride)
    taps = math.prod(windows["kernel_size"])
    if shape[-2] % taps:
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={shape[-2]} and kernel_size={windows['kernel_size']}.")
    count = _count(size, windows)
    if shape[-1] != count:
        raise RuntimeError(f"Given output_size={size} and {windows}, expected size of input's dimension 2 to match the "
                           f"calculated number of sliding blocks {count}, but got input.size(2)={shape[-1]}.")
    if len(shape) == 2:
        return _fold(input.unsqueeze(0), output_size=size, **windows).squeeze(0)
    return _fold(input, output_size=size, **windows)


def _pair(name: str, value: Any) -> Pair:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(values) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(values)}")
    return int(values[0]), int(values[1])


def _windows(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Pair]:
    windows = {"kernel_size": _pair("kernel_size", kernel_size), "dilation": _pair("dilation", dilation),
               "padding": _pair("padding", padding), "stride": _pair("stride", stride)}
    for name, pair in windows.items():
        if min(pair) < (name != "padding"):
            raise RuntimeError(f"{name} should be {'non-negative' if name == 'padding' else 'greater than zero'}, but got {pair}")
    return windows


def _count(size: tuple[int, ...], windows: dict[str, Pair]) -> int:
    """How many windows an image of `size` has. Raises RuntimeError if none fits."""
    counts = window_counts(size, windows["kernel_size"], windows["stride"], windows["padding"], windows["dilation"])
    if min(counts) < 1:
        raise RuntimeError(f"Given an image of {tuple(size)} and {windows}, calculated shape of the array of sliding blocks as "
                           f"{counts}, but its components must be at least one.")
    return math.prod(counts)
