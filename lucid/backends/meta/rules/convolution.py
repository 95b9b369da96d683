"""Rules of convolutions and windows of images."""
from __future__ import annotations

import math
from typing import Any

from lucid_kernels.windows import window_counts

from ..array import MetaArray, blank
from ..probe import delivered
from .new_rules import Sizes, new_rules

RULES, rule = new_rules()


def _convolution(x: MetaArray, weight: MetaArray, bias: MetaArray | None, *, stride: Sizes, padding: Sizes, dilation: Sizes,
                 groups: int, out: MetaArray | None = None) -> MetaArray:
    lengths = window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
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
    windows = math.prod(window_counts(x.shape[2:], kernel_size, stride, padding, dilation))
    return delivered(blank((x.shape[0], x.shape[1] * math.prod(kernel_size), windows), x.dtype), out)


@rule
def fold(columns: MetaArray, *, output_size: Sizes, kernel_size: Sizes, out: MetaArray | None = None, **geometry: Any
         ) -> MetaArray:
    return delivered(blank((columns.shape[0], columns.shape[1] // math.prod(kernel_size), *output_size), columns.dtype), out)
