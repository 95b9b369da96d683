"""Depthwise convolution of images, which are volumes of one slice, by `kernels`: the module `channels` or `planes`."""
from __future__ import annotations

from typing import Any

from ...arrays.layout import Array
from ...arrays.window import Window
from .channels import Slices

_ONE: Slices = ((0,),)


def _volumes(images: Array) -> Array:
    """(N, C, H, W) as (N, C, 1, H, W)."""
    return images.reshape(*images.shape[:2], 1, *images.shape[2:])


def convolve(kernels: Any, x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, 1, KH, KW) and bias (O,)."""
    kernels.convolve(_volumes(x), weight, bias, window, _ONE, _volumes(y))


def grad_input(kernels: Any, g: Array, weight: Array, window: Window, dx: Array, groups: int) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, 1, KH, KW)."""
    samples, outputs, *plane = g.shape
    each = outputs // groups  # the outputs of a channel are slices, all of which its gradient meets
    turned = weight.reshape(groups, each, window.kh, window.kw)
    kernels.grad_input(g.reshape(samples, groups, each, *plane), turned, window, (tuple(range(each)),), _volumes(dx))
