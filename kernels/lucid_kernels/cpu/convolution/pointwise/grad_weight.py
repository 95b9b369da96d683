"""Weight gradient of a 1x1 convolution of planes without padding: a sum over images of products of the gradient and the pixels.

Of a single image it is a product of matrices.
"""
from __future__ import annotations

import functools

import numpy as np

from ...arrays.layout import Array
from ...matmul import matmul
from ...matmul.batch_reduce import Columns, sum_products


@functools.lru_cache(maxsize=64)
def _planes(channels: int, positions: int) -> Columns:
    return Columns(channels * positions, np.arange(positions), np.arange(channels) * positions, 0)


def grad_weight(g: Array, x: Array, dweight: Array) -> None:
    """Fill dweight (O, C, 1, 1) from g (N, O, H, W) and x (N, C, H, W), contiguous."""
    outputs, channels = dweight.shape[:2]
    gradients, pixels, total = g.reshape(*g.shape[:2], -1), x.reshape(*x.shape[:2], -1), dweight.reshape(outputs, channels)
    if len(g) == 1:
        matmul.matmul(gradients[0], pixels[0].T, out=total)
        return
    turned = outputs < channels  # packing the fewer channels takes less time
    left, right = (pixels, gradients) if turned else (gradients, pixels)
    sum_products(left, right, _planes(*right.shape[1:]), total, turned)
