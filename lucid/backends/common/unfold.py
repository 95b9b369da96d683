"""The windows of images as columns, and the sums of such columns, for NumPy and CuPy: `table(xp, copy)`."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lucid_kernels.windows import window_counts

from .windows import Sizes, in_float32, matches

Array = Any
Kernel = Callable[..., Any]


def _tiles(shape: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> bool:
    """Whether the windows cover images of `shape` (N, C, H, W), each pixel once."""
    covered = all(n % k == 0 for n, k in zip(shape[2:], kernel_size, strict=True))
    return covered and kernel_size == stride and padding == (0, 0) and dilation == (1, 1)


def _tiled(images: Array, kernel_size: Sizes) -> Array:
    """Images (N, C, H, W) in row-major order as their columns (N, C, KH, KW, OH, OW), without a copy."""
    (samples, channels, height, width), (down, across) = images.shape, kernel_size
    return images.reshape(samples, channels, height // down, down, width // across, across).transpose(0, 1, 3, 5, 2, 4)


def table(xp: Any, copy: Kernel) -> dict[str, Kernel]:
    """The operations on `xp` (numpy or cupy) with its `copy(target, source)`."""

    def blocks(shape: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
               ) -> tuple[Sizes, list[tuple[Any, Any]]]:
        """The shape (N, C, KH, KW, OH, OW) of the columns of images of `shape`, and for each tap the index of its outputs in
        them and that of the elements that they meet.
        """
        outputs = window_counts(shape[2:], kernel_size, stride, padding, dilation)
        rows, columns = (matches(length, *rest) for length, *rest in
                         zip(shape[2:], outputs, kernel_size, stride, padding, dilation, strict=True))
        pairs = [((slice(None), slice(None), i, j, inside, within), (slice(None), slice(None), source, origin))
                 for i, (inside, source) in enumerate(rows) for j, (within, origin) in enumerate(columns)]
        return (*shape[:2], *kernel_size, *outputs), pairs

    def unfold(x: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Array | None = None
               ) -> Array:
        """The windows (N, C * KH * KW, OH * OW) of x (N, C, H, W), zeros in the padding."""
        shape, pairs = blocks(x.shape, kernel_size, stride, padding, dilation)
        if _tiles(x.shape, kernel_size, stride, padding, dilation):
            result = xp.empty(shape, x.dtype)
            copy(result, _tiled(xp.ascontiguousarray(x), kernel_size))
        else:
            result = xp.zeros(shape, x.dtype)
            for target, source in pairs:
                result[target] = x[source]
        result = result.reshape(shape[0], math.prod(shape[1:4]), math.prod(shape[4:]))
        if out is None:
            return result
        out[...] = result
        return out

    @in_float32
    def fold(columns: Array, *, output_size: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
             out: Array | None = None) -> Array:
        """The sums (N, C, *output_size) of the windows (N, C * KH * KW, OH * OW) where they came from."""
        samples, channels = columns.shape[0], columns.shape[1] // math.prod(kernel_size)
        image_shape = (samples, channels, *output_size)
        shape, pairs = blocks(image_shape, kernel_size, stride, padding, dilation)
        columns = columns.reshape(shape)
        if _tiles(image_shape, kernel_size, stride, padding, dilation):
            result = xp.empty(image_shape, columns.dtype)
            copy(_tiled(result, kernel_size), columns)
            return result
        result = xp.zeros(image_shape, columns.dtype)
        for source, target in pairs:
            result[target] += columns[source]
        return result

    return {"fold": fold, "unfold": unfold}
