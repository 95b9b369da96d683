"""3-d convolution slice by slice: which slices meet, and the window of one of them."""
from __future__ import annotations

import functools

from lucid_kernels.windows import window_counts

from ..arrays.window import Window
from .problem import Problem

Sizes = tuple[int, ...]
Slices = tuple[Sizes, ...]


@functools.lru_cache(maxsize=256)
def input_slices(length: int, taps: int, stride: int, padding: int, dilation: int, outputs: int, turned: bool) -> Slices:
    """The slices of the input that each slice of the output meets, for each tap of the depth, or -1; those of the output if
    `turned`.
    """
    meets = {(o, tap): o * stride + tap * dilation - padding for o in range(outputs) for tap in range(taps)}
    if turned:
        back = {(there, tap): o for (o, tap), there in meets.items()}
        return tuple(tuple(back.get((there, tap), -1) for tap in range(taps)) for there in range(length))
    return tuple(tuple(meets[o, tap] if 0 <= meets[o, tap] < length else -1 for tap in range(taps)) for o in range(outputs))


def window_of_slices(input_shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, Window]:
    """The slices of the output, and the window of one of them."""
    outputs = window_counts(input_shape[2:], kernel, stride, padding, dilation)
    return outputs[0], Window(*kernel[1:], *stride[1:], *padding[1:], *dilation[1:], *outputs[1:])


@functools.lru_cache(maxsize=256)
def volume_problem(input_shape: Sizes, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
                   itemsize: int) -> Problem:
    """The problem of all slices of volumes (N, C, D, H, W) and a weight (O, C / G, KD, KH, KW)."""
    samples, channels, depth, height, width = input_shape
    out_depth, window = window_of_slices(input_shape, weight_shape[2:], stride, padding, dilation)
    return Problem(samples * out_depth, channels, height, width, weight_shape[0], groups, window, itemsize,
                   slices=weight_shape[2], depth=depth, out_depth=out_depth, depth_steps=(stride[0], dilation[0]))
