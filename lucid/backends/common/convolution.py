"""Three-dimensional convolution made of the two-dimensional kernels, and convolution with ReLU: `table(xp, kernels, …)`.

The slices of the input that one output slice meets are stacked as channels of an image, 2-d convolutions take some of
these images at a time, and a copy puts the channels in front of the slices again. A kernel that spans only the depth needs no
copies: the volumes are images of D rows and H * W columns. Kernels for whole volumes, where there are such, read the slices where
they lie: stacked, one input channel a group, which makes groups of a few channels, took 20 to 60 times as long, strided taps 1.25
to 1.4 times, and 3x3x3 taps 1.2 to 1.6 times.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lucid_kernels.windows import window_counts

from .windows import Sizes, in_float32, matches

Array = Any
Kernel = Callable[..., Any]


def _is_flat(kernel: Sizes, stride: Sizes, padding: Sizes) -> bool:
    """Whether a convolution with these lengths of the kernel and the rest spans only the depth."""
    return kernel[1:] == stride[1:] == (1, 1) and padding[1:] == (0, 0)


def table(xp: Any, kernels: dict[str, Kernel], window_bytes: int, *volumes: Kernel) -> dict[str, Kernel]:
    """`conv3d`, its gradients, `conv2d_relu` and `conv3d_relu` on `xp` (numpy or cupy), with the 2-d kernels in `kernels`.

    conv3d stacks slices of up to about `window_bytes` at a time, or of a few times the bytes of the weight. `volumes` are kernels
    for volumes and both gradients where there are such, which may return None.
    """
    whole_volumes = dict(zip(("conv3d", "conv3d_grad_input", "conv3d_grad_weight"), volumes))

    def volume_kernel(name: str, *arrays: Array, **attributes: Any) -> Array | None:
        """What a kernel for whole volumes computes."""
        return whole_volumes[name](*arrays, **attributes) if whole_volumes else None

    def parts(samples: int, outputs: int, slice_bytes: int, weight_bytes: int) -> Iterator[tuple[slice, range]]:
        """The samples and the output slices that are computed together; the windows of an output slice have `slice_bytes`."""
        # Each part transforms or packs the weight once more, which took a quarter of the time for 128 channels of 14x14.
        fitting = max(1, max(window_bytes, 8 * weight_bytes) // max(1, slice_bytes))
        if fitting >= outputs:
            step = fitting // max(1, outputs)
            yield from ((slice(n, min(samples, n + step)), range(outputs)) for n in range(0, samples, step))
            return
        step = -(-outputs // -(-outputs // fitting))
        yield from ((slice(n, n + 1), range(first, min(outputs, first + step)))
                    for n in range(samples) for first in range(0, outputs, step))

    def depth_matches(part: range, length: int, taps: int, stride: Sizes, padding: Sizes, dilation: Sizes
                      ) -> list[tuple[slice, slice]]:
        """`matches` along the depth for some output slices, counted from the first of them."""
        return matches(length, len(part), taps, stride[0], padding[0] - part.start * stride[0], dilation[0])

    def windows(x: Array, part: range, taps: int, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
        """The images (N * slices, C * KD, H, W): the slices of x (N, C, D, H, W) beneath some output slices, zeros outside."""
        samples, channels, depth, height, width = x.shape
        result = xp.empty((samples, len(part), channels, taps, height, width), x.dtype)
        for tap, (inside, source) in enumerate(depth_matches(part, depth, taps, stride, padding, dilation)):
            result[:, :inside.start, :, tap] = 0
            result[:, inside, :, tap] = x[:, :, source].swapaxes(1, 2)
            result[:, inside.stop:, :, tap] = 0
        return result.reshape(samples * len(part), channels * taps, height, width)

    def images(volumes: Array, part: range) -> Array:
        """Some slices of (N, O, D, H, W) as (N * slices, O, H, W)."""
        samples, channels, _, height, width = volumes.shape
        some = volumes[:, :, part.start : part.stop].swapaxes(1, 2)
        return xp.ascontiguousarray(some).reshape(samples * len(part), channels, height, width)

    def is_depthwise(weight_shape: Sizes, groups: int, *arrays: Array) -> bool:
        return groups > 1 and weight_shape[1] == 1 and all(array.size for array in arrays)

    def subsampling(kernel: Sizes, stride: Sizes, padding: Sizes) -> tuple[slice, ...] | None:
        """What a single tap without padding meets, if it steps over slices or pixels."""
        if kernel != (1, 1, 1) or padding != (0, 0, 0) or stride == (1, 1, 1):
            return None
        return (slice(None), slice(None), *(slice(None, None, step) for step in stride))

    def stacked(weight: Array) -> Array:
        """(O, C / G, KD, KH, KW) as (O, C / G * KD, KH, KW)."""
        return xp.ascontiguousarray(weight).reshape(weight.shape[0], weight.shape[1] * weight.shape[2], *weight.shape[3:])

    def flat(array: Array) -> Array:
        """(..., D, H, W) as (..., D, H * W)."""
        return array.reshape(*array.shape[:3], array.shape[3] * array.shape[4])

    def along_slices(stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> dict[str, Any]:
        return {"stride": stride[1:], "padding": padding[1:], "dilation": dilation[1:], "groups": groups}

    def along_depth(stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> dict[str, Any]:
        """The attributes along the depth and along flat slices."""
        return {"stride": (stride[0], 1), "padding": (padding[0], 0), "dilation": (dilation[0], 1), "groups": groups}

    def depthwise_grad_weight(g: Array, x: Array, weight_shape: Sizes, geometry: tuple[Sizes, Sizes, Sizes], groups: int
                              ) -> Array:
        """conv3d_grad_weight for one input channel a group: tap by tap along the depth, with slices as samples."""
        result = xp.zeros(weight_shape, g.dtype)
        step = max(1, window_bytes // max(x[0].nbytes, g[0].nbytes))
        found = matches(x.shape[2], g.shape[2], weight_shape[2], *(each[0] for each in geometry))
        for n in range(0, len(x), step):
            for tap, (inside, source) in enumerate(found):
                pair = (images(array[n : n + step, :, some], range(inside.stop - inside.start))
                        for array, some in ((g, inside), (x, source)))
                result[:, :, tap] += kernels["conv2d_grad_weight"](
                    *pair, weight_shape=(*weight_shape[:2], *weight_shape[3:]), **along_slices(*geometry, groups))
        return result

    @in_float32
    def conv3d(x: Array, weight: Array, bias: Array | None, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
               out: Array | None = None) -> Array:
        """y (N, O, OD, OH, OW) of x (N, C, D, H, W) with weight (O, C / G, KD, KH, KW), plus bias (O,)."""
        geometry, kernel = (stride, padding, dilation), weight.shape[2:]
        lengths = window_counts(x.shape[2:], kernel, *geometry)
        shape = (x.shape[0], weight.shape[0], *lengths)
        if _is_flat(kernel, stride, padding):
            return kernels["conv2d"](flat(x), flat(weight), bias, **along_depth(*geometry, groups)).reshape(shape)
        met = subsampling(kernel, stride, padding)
        if met:
            return conv3d(x[met], weight, bias, stride=(1, 1, 1), padding=padding, dilation=dilation, groups=groups)
        found = volume_kernel("conv3d", x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
        if found is not None:
            return found
        y, taps = xp.empty(shape, x.dtype), stacked(weight)
        for some, part in parts(shape[0], lengths[0], kernel[0] * x[0, :, 0].nbytes if x.size else 0, taps.nbytes):
            found = kernels["conv2d"](windows(x[some], part, kernel[0], *geometry), taps, bias, **along_slices(*geometry, groups))
            y[some, :, part.start : part.stop] = found.reshape(-1, len(part), *found.shape[1:]).swapaxes(1, 2)
        return y

    @in_float32
    def conv3d_grad_input(g: Array, weight: Array, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
                          groups: int, out: Array | None = None) -> Array:
        """Gradient (N, C, D, H, W) of conv3d for its input, from g (N, O, OD, OH, OW)."""
        geometry, taps = (stride, padding, dilation), weight.shape[2]
        samples, channels, depth, height, width = input_shape
        if _is_flat(weight.shape[2:], stride, padding):
            shape = (*input_shape[:3], height * width)
            return kernels["conv2d_grad_input"](
                flat(g), flat(weight), input_shape=shape, **along_depth(*geometry, groups)).reshape(input_shape)
        met = subsampling(weight.shape[2:], stride, padding)
        if met:
            result = xp.zeros(input_shape, g.dtype)
            result[met] = conv3d_grad_input(g, weight, input_shape=(*input_shape[:2], *g.shape[2:]), stride=(1, 1, 1),
                                            padding=padding, dilation=dilation, groups=groups)
            return result
        found = volume_kernel("conv3d_grad_input", g, weight, input_shape=input_shape, stride=stride, padding=padding,
                              dilation=dilation, groups=groups)
        if found is not None:
            return found
        result, turned = xp.zeros(input_shape, g.dtype), stacked(weight)
        for some, part in parts(samples, g.shape[2], taps * channels * height * width * g.itemsize, turned.nbytes):
            upstream = images(g[some], part)
            found = kernels["conv2d_grad_input"](
                upstream, turned, input_shape=(len(upstream), channels * taps, height, width), **along_slices(*geometry, groups))
            found = found.reshape(-1, len(part), channels, taps, height, width)
            for tap, (inside, target) in enumerate(depth_matches(part, depth, taps, *geometry)):
                result[some, :, target] += found[:, inside, :, tap].swapaxes(1, 2)
        return result

    @in_float32
    def conv3d_grad_weight(g: Array, x: Array, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
                           groups: int, out: Array | None = None) -> Array:
        """Gradient (O, C / G, KD, KH, KW) of conv3d for its weight, from g (N, O, OD, OH, OW) and x (N, C, D, H, W)."""
        geometry, (outputs, channels, taps) = (stride, padding, dilation), weight_shape[:3]
        if _is_flat(weight_shape[2:], stride, padding):
            return kernels["conv2d_grad_weight"](
                flat(g), flat(x), weight_shape=weight_shape[:4], **along_depth(*geometry, groups)).reshape(weight_shape)
        met = subsampling(weight_shape[2:], stride, padding)
        if met:
            return conv3d_grad_weight(g, x[met], weight_shape=weight_shape, stride=(1, 1, 1), padding=padding, dilation=dilation,
                                      groups=groups)
        found = volume_kernel("conv3d_grad_weight", g, x, weight_shape=weight_shape, stride=stride, padding=padding,
                              dilation=dilation, groups=groups)
        if found is not None:
            return found
        if is_depthwise(weight_shape, groups, g, x):
            return depthwise_grad_weight(g, x, weight_shape, geometry, groups)
        shape = (outputs, channels * taps, *weight_shape[3:])
        result = xp.zeros(shape, g.dtype)
        for some, part in parts(g.shape[0], g.shape[2], taps * x[0, :, 0].nbytes if x.size else 0, result.nbytes):
            result += kernels["conv2d_grad_weight"](images(g[some], part), windows(x[some], part, taps, *geometry),
                                                    weight_shape=shape, **along_slices(*geometry, groups))
        return result.reshape(weight_shape)

    def conv3d_grad_parameters(g: Array, x: Array, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
                               groups: int, out: tuple[Array | None, Array | None] | None = None) -> tuple[Array, Array]:
        """The gradients of conv3d for its weight, as conv3d_grad_weight, and for its bias (O,)."""
        dweight, dbias = (None, None) if out is None else out
        dweight = conv3d_grad_weight(g, x, weight_shape=weight_shape, stride=stride, padding=padding, dilation=dilation,
                                     groups=groups, out=dweight)
        return dweight, kernels["sum"](g, axis=(0, 2, 3, 4), keepdims=False, out=dbias)

    def with_relu(name: str) -> Kernel:
        def convolve_relu(x: Array, weight: Array, bias: Array | None, residual: Array | None = None, *, stride: Sizes,
                          padding: Sizes, dilation: Sizes, groups: int, out: Array | None = None) -> Array:
            """relu of the convolution, to which `residual` may have been added, in its memory."""
            y = (result.get(name) or kernels[name])(x, weight, bias, stride=stride, padding=padding, dilation=dilation,
                                                    groups=groups, out=out)
            return kernels["relu"](y if residual is None else kernels["add"](y, residual, out=y), out=y)

        return convolve_relu

    result: dict[str, Kernel] = {kernel.__name__: kernel for kernel in (
        conv3d, conv3d_grad_input, conv3d_grad_weight, conv3d_grad_parameters)}
    for name in ("conv2d", "conv3d"):
        result[f"{name}_relu"] = with_relu(name)
    return result
