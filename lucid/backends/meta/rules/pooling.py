"""Rules of pooling."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array import MetaArray, blank
from ..probe import delivered
from .convolution import grad_input, window_count
from .new_rules import Pair, new_rules

RULES, rule = new_rules()


@rule
def fractional_max_indices(x: MetaArray, *starts: MetaArray, kernel: tuple[int, ...]) -> MetaArray:
    return blank((x.shape[0], math.prod(start.shape[1] for start in starts)), np.int64)


@rule
def max_pool2d(x: MetaArray, *, kernel_size: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool,
               relu: bool = False, winners: bool = False, out: Any = None) -> tuple[MetaArray, MetaArray]:
    axes = zip(x.shape[2:], kernel_size, stride, padding, dilation, strict=True)
    shape = (*x.shape[:2], *[window_count(*axis, ceil_mode) for axis in axes])
    return delivered((blank(shape, x.dtype), blank(shape, np.int64)), out)


@rule
def adaptive_max_pool2d(x: MetaArray, *, output_size: Pair, out: Any = None) -> tuple[MetaArray, MetaArray]:
    shape = (*x.shape[:2], *output_size)
    return delivered((blank(shape, x.dtype), blank(shape, np.int64)), out)


@rule
def max_pool2d_gather(x: MetaArray, indices: MetaArray, *, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank(indices.shape, x.dtype), out)


@rule
def max_unpool2d(x: MetaArray, indices: MetaArray, *, output_size: Pair, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank((*x.shape[:2], *output_size), x.dtype), out)


@rule
def avg_pool2d(x: MetaArray, *, kernel_size: Pair, stride: Pair, padding: Pair, ceil_mode: bool, out: MetaArray | None = None,
               **divisor: Any) -> MetaArray:
    axes = zip(x.shape[2:], kernel_size, stride, padding, strict=True)
    return delivered(blank((*x.shape[:2], *[window_count(*axis, 1, ceil_mode) for axis in axes]), x.dtype), out)


@rule
def adaptive_avg_pool2d(x: MetaArray, *, output_size: Pair, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank((*x.shape[:2], *output_size), x.dtype), out)


for _name in ("max_pool2d_grad", "avg_pool2d_grad", "adaptive_avg_pool2d_grad"):
    RULES[_name] = grad_input
