"""Rules of pooling."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from lucid_kernels.windows import window_counts

from ..array import MetaArray, blank
from ..probe import delivered
from .convolution import grad_input
from .new_rules import Pair, new_rules

RULES, rule = new_rules()


@rule
def fractional_max_indices(x: MetaArray, *starts: MetaArray, kernel: tuple[int, ...]) -> MetaArray:
    return blank((x.shape[0], math.prod(start.shape[1] for start in starts)), np.int64)


@rule
def max_pool2d(x: MetaArray, *, kernel_size: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool,
               relu: bool = False, winners: bool = False, out: Any = None) -> tuple[MetaArray, MetaArray]:
    shape = (*x.shape[:2], *window_counts(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode))
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
    counts = window_counts(x.shape[2:], kernel_size, stride, padding, ceil_mode=ceil_mode)
    return delivered(blank((*x.shape[:2], *counts), x.dtype), out)


@rule
def adaptive_avg_pool2d(x: MetaArray, *, output_size: Pair, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank((*x.shape[:2], *output_size), x.dtype), out)


for _name in ("max_pool2d_grad", "avg_pool2d_grad", "adaptive_avg_pool2d_grad"):
    RULES[_name] = grad_input
