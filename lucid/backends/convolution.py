"""Three-dimensional convolution made of the two-dimensional kernels, and the windows of images as columns, once for NumPy and
CuPy: `table(xp, kernels)`.

conv3d: the slices of the input that one output slice meets are stacked as channels: KD copies of the input, one 2-d convolution
of N * OD images, and a copy that puts the channels in front of the slices again.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from .functions import HALVES, wide

Array = Any
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]


def _in_float32(kernel: Kernel) -> Kernel:
    """`kernel` for half precision too: its sums over depth are rounded once."""
    @functools.wraps(kernel)
    def rounding(*arrays: Array | None, out: Array | None = None, **attributes: Any) -> Array:
        result = kernel(*[None if array is None else wide(array) for array in arrays], **attributes)
        dtype = arrays[0].dtype  # type: ignore[union-attr]
        if out is None:
            return result.astype(dtype) if dtype in HALVES else result
        out[...] = result
        return out

    return rounding


def _matches(length: int, outputs: int, taps: int, stride: int, padding: int, dilation: int) -> list[tuple[slice, slice]]:
    """For each tap along one dimension, the outputs for which it meets the input, and the elements that it meets there."""
    found = []
    for tap in range(taps):
        offset = tap * dilation - padding
        first = min(outputs, max(0, -(offset // stride)))
        last = max(first, min(outputs, -((offset - length) // stride)))
        start = first * stride + offset
        found.append((slice(first, last), slice(start, start + (last - first) * stride, stride)))
    return found


def _outputs(length: int, taps: int, stride: int, padding: int, dilation: int) -> int:
    return (length + 2 * padding - dilation * (taps - 1) - 1) // stride + 1


def table(xp: Any, kernels: dict[str, Kernel]) -> dict[str, Kernel]:
    """`conv3d`, its gradients, `unfold` and `fold` on `xp` (numpy or cupy), with the 2-d kernels in the table `kernels`."""

    def windows(x: Array, outputs: int, taps: int, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
        """The images (N * OD, C * KD, H, W): the slices of x (N, C, D, H, W) beneath each output slice, zeros outside."""
        samples, channels, depth, height, width = x.shape
        result = xp.empty((samples, outputs, channels, taps, height, width), x.dtype)
        for tap, (inside, source) in enumerate(_matches(depth, outputs, taps, stride[0], padding[0], dilation[0])):
            result[:, :inside.start, :, tap] = 0
            result[:, inside, :, tap] = x[:, :, source].swapaxes(1, 2)
            result[:, inside.stop:, :, tap] = 0
        return result.reshape(samples * outputs, channels * taps, height, width)

    def images(volumes: Array) -> Array:
        """(N, O, D, H, W) as (N * D, O, H, W)."""
        samples, channels, depth, height, width = volumes.shape
        return xp.ascontiguousarray(volumes.swapaxes(1, 2)).reshape(samples * depth, channels, height, width)

    def flat(weight: Array) -> Array:
        """(O, C / G, KD, KH, KW) as (O, C / G * KD, KH, KW)."""
        return xp.ascontiguousarray(weight).reshape(weight.shape[0], weight.shape[1] * weight.shape[2], *weight.shape[3:])

    def planar(stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> dict[str, Any]:
        return {"stride": stride[1:], "padding": padding[1:], "dilation": dilation[1:], "groups": groups}

    @_in_float32
    def conv3d(x: Array, weight: Array, bias: Array | None, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
               out: Array | None = None) -> Array:
        """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,)."""
        samples, taps = x.shape[0], weight.shape[2]
        outputs = _outputs(x.shape[2], taps, stride[0], padding[0], dilation[0])
        stacked = windows(x, outputs, taps, stride, padding, dilation)
        y = kernels["conv2d"](stacked, flat(weight), bias, **planar(stride, padding, dilation, groups))
        return xp.ascontiguousarray(y.reshape(samples, outputs, *y.shape[1:]).swapaxes(1, 2))

    @_in_float32
    def conv3d_grad_input(g: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
                          groups: int, out: Array | None = None) -> Array:
        """Gradient (N, C, D, H, W) of conv3d for its input, from g (N, O, OD, OH, OW)."""
        samples, channels, depth, height, width = input_shape
        outputs, taps = g.shape[2], weight.shape[2]
        stacked = kernels["conv2d_grad_input"](
            images(g), flat(weight), input_shape=(samples * outputs, channels * taps, height, width),
            **planar(stride, padding, dilation, groups)).reshape(samples, outputs, channels, taps, height, width)
        result = xp.zeros(input_shape, g.dtype)
        for tap, (inside, target) in enumerate(_matches(depth, outputs, taps, stride[0], padding[0], dilation[0])):
            result[:, :, target] += stacked[:, inside, :, tap].swapaxes(1, 2)
        return result

    @_in_float32
    def conv3d_grad_weight(g: Array, x: Array, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
                           groups: int, out: Array | None = None) -> Array:
        """Gradient (O, C / G, KD, KH, KW) of conv3d for its weight, from g (N, O, OD, OH, OW) and x (N, C, D, H, W)."""
        outputs, channels, taps = weight_shape[:3]
        stacked = windows(x, g.shape[2], taps, stride, padding, dilation)
        return kernels["conv2d_grad_weight"](
            images(g), stacked, weight_shape=(outputs, channels * taps, *weight_shape[3:]),
            **planar(stride, padding, dilation, groups)).reshape(weight_shape)

    def blocks(shape: Sizes, kernel_size: Sizes, *geometry: Sizes) -> tuple[Sizes, list[tuple[Any, Any]]]:
        """The shape (N, C, KH, KW, OH, OW) of the columns of images of `shape`, and for each tap the index of its outputs in
        them and that of the elements that they meet.
        """
        outputs = tuple(map(_outputs, shape[2:], kernel_size, *geometry))
        rows, columns = (_matches(length, *rest) for length, *rest in
                         zip(shape[2:], outputs, kernel_size, *geometry, strict=True))
        pairs = [((slice(None), slice(None), i, j, inside, within), (slice(None), slice(None), source, origin))
                 for i, (inside, source) in enumerate(rows) for j, (within, origin) in enumerate(columns)]
        return (*shape[:2], *kernel_size, *outputs), pairs

    def unfold(x: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Array | None = None
               ) -> Array:
        """The windows (N, C * KH * KW, OH * OW) of x (N, C, H, W), zeros in the padding."""
        shape, pairs = blocks(x.shape, kernel_size, stride, padding, dilation)
        result = xp.zeros(shape, x.dtype)
        for target, source in pairs:
            result[target] = x[source]
        result = result.reshape(shape[0], math.prod(shape[1:4]), math.prod(shape[4:]))
        if out is None:
            return result
        out[...] = result
        return out

    @_in_float32
    def fold(columns: Array, *, output_size: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
             out: Array | None = None) -> Array:
        """The sums (N, C, *output_size) of the windows (N, C * KH * KW, OH * OW) where they came from."""
        samples, channels = columns.shape[0], columns.shape[1] // math.prod(kernel_size)
        result = xp.zeros((samples, channels, *output_size), columns.dtype)
        shape, pairs = blocks(result.shape, kernel_size, stride, padding, dilation)
        columns = columns.reshape(shape)
        for source, target in pairs:
            result[target] += columns[source]
        return result

    return {kernel.__name__: kernel for kernel in (conv3d, conv3d_grad_input, conv3d_grad_weight, unfold, fold)}
