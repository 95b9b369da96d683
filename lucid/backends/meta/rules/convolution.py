"""Rules of convolutions and windows of images."""
from __future__ import annotations

import math
from typing import Any

from ..array import MetaArray, blank
from ..probe import delivered
from .new_rules import Sizes, new_rules

RULES, rule = new_rules()


def window_count(length: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> int:
    """How many windows fit along one dimension; with `ceil_mode` the last one may reach beyond the end, but not start there."""
    span = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= length + padding else count


def _convolution(x: MetaArray, weight: MetaArray, bias: MetaArray | None, *, stride: Sizes, padding: Sizes, dilation: Sizes,
                 groups: int, out: MetaArray | None = None) -> MetaArray:
    lengths = map(window_count, x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return delivered(blank((x.shape[0], weight.shape[0], *lengths), x.dtype), out)


def _grad_weight(g: MetaArray, x: MetaArray, *, weight_shape: tuple[int, ...], out: MetaArray | None = None,
                 **geometry: Any) -> MetaArray:
    return delivered(blank(weight_shape, g.dtype), out)


def _grad_parameters(g: MetaArray, x: MetaArray, *, weight_shape: tuple[int, ...],
                     out: tuple[MetaArray | None, MetaArray | None] | None = None, **geometry: Any
                     ) -> tuple[MetaArray, MetaArray]:
    dweight, dbias = (None, None) if out is None else out
    return delivered(blank(weight_shape, g.dtype), dweight), delivered(blank(weight_shape[:1], g.dtype), dbias)


def grad_input(g: MetaArray, *others: MetaArray, input_shape: tuple[int, ...], out: MetaArray | None = None,
                **geometry: Any) -> MetaArray:
    return delivered(blank(input_shape, g.dtype), out)


for _name in ("conv2d", "conv3d"):
    RULES[_name] = RULES[f"{_name}_relu"] = _convolution
    RULES[f"{_name}_grad_weight"] = _grad_weight
    RULES[f"{_name}_grad_parameters"] = _grad_parameters


for _name in ("conv2d_grad_input", "conv3d_grad_input"):
    RULES[_name] = grad_input


@rule
def unfold(x: MetaArray, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: MetaArray | None = None
           ) -> MetaArray:
    windows = math.prod(map(window_count, x.shape[2:], kernel_size, stride, padding, dilation))
    return delivered(blank((x.shape[0], x.shape[1] * math.prod(kernel_size), windows), x.dtype), out)


@rule
def fold(columns: MetaArray, *, output_size: Sizes, kernel_size: Sizes, out: MetaArray | None = None, **geometry: Any
         ) -> MetaArray:
    return delivered(blank((columns.shape[0], columns.shape[1] // math.prod(kernel_size), *output_size), columns.dtype), out)
