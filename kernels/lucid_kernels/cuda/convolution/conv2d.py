"""2-d convolution and its gradients: on tensor cores (`tensor_cores`) where these serve, else exact, by `conv2d.cu`.

The usual windows of depthwise convolutions (`depthwise`), and the input gradient of the usual first layers (`few_channels`), have
kernels of their own, which are exact too. So are float64, float32 where TF32 is not allowed, and groups of a few channels, of
which a tile of tensor cores would be almost empty. The kernels for a few channels take halves as they are; the tiles, which
halves come to without tensor cores only, are for float and double.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.convolution import depthwise, few_channels, tensor_cores
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.reduction.reduce import channel_sums
from lucid_kernels.cuda.runtime import launch
from lucid_kernels.windows import window_counts

_TILE = 64  # as in conv2d.cu: rows and columns of the product that one block computes
_SLAB = 16
_FEW_CHANNELS = 8  # groups with fewer rows than this leave most of a tile empty: one thread per element instead
_FEW_TAPS = 64
_BLOCKS_WANTED = 512  # for the weight gradient: a few waves on a large chip; a constant, so that results do not vary


def _geometry(
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> tuple[np.int32, ...]:
    """The integers that every kernel takes, in the order of GEOMETRY_ARGUMENTS."""
    batch, in_channels, in_h, in_w = input_shape
    out_channels, _, kernel_h, kernel_w = weight_shape
    out_h, out_w = window_counts((in_h, in_w), (kernel_h, kernel_w), stride, padding, dilation)
    values = (batch, in_channels, in_h, in_w, out_channels, kernel_h, kernel_w, out_h, out_w,
              *stride, *padding, *dilation, groups)  # fmt: skip
    return tuple(np.int32(value) for value in values)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> Any:
    """Cross-correlation of `x` (N, C, H, W) with `weight` (O, C/groups, KH, KW), plus `bias` (O,) or None."""
    attributes: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "out": out}
    y = depthwise.convolve(x, weight, bias, **attributes)
    if y is None:
        y = tensor_cores.convolve(x, weight, bias, **attributes)
    if y is not None:
        return y
    direct = weight.shape[0] // groups < _FEW_CHANNELS
    return (simt_conv2d if direct else launch.upcast_half(simt_conv2d))(x, weight, bias, **attributes)


def simt_conv2d(x: Any, weight: Any, bias: Any, *, out: Any = None, **window: Any) -> Any:
    """`conv2d` without tensor cores, in the dtype of `x`; `window` is its attributes."""
    geometry = _geometry(x.shape, weight.shape, **window)
    batch, out_channels, out_h, out_w = x.shape[0], weight.shape[0], int(geometry[7]), int(geometry[8])
    y = launch.result(out, (batch, out_channels, out_h, out_w), x.dtype)
    if y.size:
        x = copies.contiguous(x)
        arguments = (x, copies.contiguous(weight), *launch.optional(bias, x), y, *geometry)
        kind = launch.ctype(x.dtype)
        groups = window["groups"]
        rows = out_channels // groups
        if rows < _FEW_CHANNELS:
            launch.kernel("conv2d", f"conv2d_direct<{kind}>")(*launch.grid_1d(y.size), arguments)
        else:
            tiles = launch.ceil_div(batch * out_h * out_w, _TILE)
            grid = (tiles * groups, launch.ceil_div(rows, _TILE))
            launch.kernel("conv2d", f"conv2d_tile<{kind}>")(grid, (launch.BLOCK,), arguments)
    return launch.deliver(y, out)


def conv2d_grad_input(
    g: Any,
    weight: Any,
    *,
    input_shape: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> Any:
    """Gradient of `conv2d` with respect to `x`, of shape `input_shape`."""
    attributes: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "out": out}
    dx = depthwise.convolve_grad_input(g, weight, input_shape=input_shape, **attributes)
    if dx is None:
        dx = few_channels.convolve_grad_input(g, weight, input_shape=input_shape, **attributes)
    if dx is None:
        dx = tensor_cores.convolve_grad_input(g, weight, input_shape=input_shape, **attributes)
    if dx is not None:
        return dx
    direct = weight.shape[1] < _FEW_CHANNELS
    return (simt_conv2d_grad_input if direct else launch.upcast_half(simt_conv2d_grad_input))(
        g, weight, input_shape=input_shape, **attributes
    )


def simt_conv2d_grad_input(g: Any, weight: Any, *, input_shape: tuple[int, ...], out: Any = None, **window: Any) -> Any:
    geometry = _geometry(input_shape, weight.shape, **window)
    dx = launch.result(out, input_shape, g.dtype)
    if dx.size:
        arrays = (copies.contiguous(g), copies.contiguous(weight), dx)
        kind = launch.ctype(g.dtype)
        batch, in_channels, in_h, in_w = input_shape
        groups, stride = window["groups"], window["stride"]
        rows = in_channels // groups
        if rows < _FEW_CHANNELS:
            kernel = launch.kernel("conv2d", f"conv2d_grad_input_direct<{kind}>")
            kernel(*launch.grid_1d(dx.size), (*arrays, *geometry))
        else:
            # The pixels are split into stride_h * stride_w phases, of this many tiles each or one row or column less.
            pixels = batch * launch.ceil_div(in_h, stride[0]) * launch.ceil_div(in_w, stride[1])
            tiles = launch.ceil_div(pixels, _TILE)
            grid = (tiles * stride[0] * stride[1] * groups, launch.ceil_div(rows, _TILE))
            kernel = launch.kernel("conv2d", f"conv2d_grad_input_tile<{kind}>")
            kernel(grid, (launch.BLOCK,), (*arrays, np.int64(tiles), *geometry))
    return launch.deliver(dx, out)


def conv2d_grad_weight(
    g: Any,
    x: Any,
    *,
    weight_shape: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> Any:
    """Gradient of `conv2d` with respect to `weight`, of shape `weight_shape`."""
    attributes: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "out": out}
    dw = depthwise.convolve_grad_weight(g, x, weight_shape=weight_shape, **attributes)
    if dw is None:
        dw = tensor_cores.convolve_grad_weight(g, x, weight_shape=weight_shape, **attributes)
    if dw is not None:
        return dw
    direct = weight_shape[0] // groups < _FEW_CHANNELS and math.prod(weight_shape[1:]) <= _FEW_TAPS
    return (simt_conv2d_grad_weight if direct else launch.upcast_half(simt_conv2d_grad_weight))(
        g, x, weight_shape=weight_shape, **attributes
    )


def simt_conv2d_grad_weight(g: Any, x: Any, *, weight_shape: tuple[int, ...], out: Any = None, **window: Any) -> Any:
    geometry = _geometry(x.shape, weight_shape, **window)
    dw = launch.result(out, weight_shape, g.dtype)
    if dw.size:
        arrays = (copies.contiguous(g), copies.contiguous(x))
        kind, groups = launch.ctype(g.dtype), window["groups"]
        rows, columns = weight_shape[0] // groups, dw.size // weight_shape[0]
        if rows < _FEW_CHANNELS and columns <= _FEW_TAPS:
            kernel = launch.kernel("conv2d", f"conv2d_grad_weight_direct<{kind}>")
            kernel((dw.size,), (launch.BLOCK,), (*arrays, dw, *geometry))
        else:
            _grad_weight_tiles(arrays, dw, geometry, rows, columns, groups, kind)
    return launch.deliver(dw, out)


def conv2d_grad_parameters(
    g: Any,
    x: Any,
    *,
    weight_shape: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> tuple[Any, Any]:
    """`conv2d_grad_weight`, and the gradient (O,) with respect to `bias`."""
    dweight, dbias = (None, None) if out is None else out
    dweight = conv2d_grad_weight(
        g, x, weight_shape=weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups, out=dweight
    )
    return dweight, channel_sums(g, out=dbias)


def conv2d_grad(
    g: Any,
    x: Any,
    weight: Any,
    *,
    with_bias: bool,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    """`conv2d_grad_input`, `conv2d_grad_weight`, and `with_bias` the gradient (O,) with respect to `bias`, else None.

    Tensor cores take `g` in another order, into which it is brought once for both.
    """
    out_x, out_weight, out_bias = (None, None, None) if out is None else out
    window: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    dx = depthwise.convolve_grad_input(g, weight, input_shape=x.shape, **window, out=out_x)
    if dx is None:
        dx = few_channels.convolve_grad_input(g, weight, input_shape=x.shape, **window, out=out_x)
    dweight = depthwise.convolve_grad_weight(g, x, weight_shape=weight.shape, **window, out=out_weight)
    if dx is dweight is None:
        dx, dweight = tensor_cores.convolve_gradients(g, x, weight, **window, out=(out_x, out_weight))
    if dx is None:
        dx = conv2d_grad_input(g, weight, input_shape=x.shape, **window, out=out_x)
    if dweight is None:
        dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **window, out=out_weight)
    return dx, dweight, channel_sums(g, out=out_bias) if with_bias else None


def _grad_weight_tiles(
    arrays: tuple[Any, Any],
    dw: Any,
    geometry: tuple[np.int32, ...],
    rows: int,
    columns: int,
    groups: int,
    kind: str,
) -> None:
    """Cut the sum over output pixels into slices that run in parallel, then add the slices in order."""
    g = arrays[0]
    slabs = launch.ceil_div(g.shape[0] * g.shape[2] * g.shape[3], _SLAB)
    column_tiles, row_tiles = launch.ceil_div(columns, _TILE), launch.ceil_div(rows, _TILE)
    # At least 8 slabs a slice, so that writing and adding the slices stays cheap.
    slices = max(1, min(_BLOCKS_WANTED // (column_tiles * row_tiles * groups), slabs // 8))
    slabs_per_slice = max(1, launch.ceil_div(slabs, slices))
    slices = max(1, launch.ceil_div(slabs, slabs_per_slice))
    parts = dw if slices == 1 else launch.empty((slices, *dw.shape), dw.dtype)
    kernel = launch.kernel("conv2d", f"conv2d_grad_weight_tile<{kind}>")
    kernel(
        (column_tiles * slices * groups, row_tiles),
        (launch.BLOCK,),
        (*arrays, parts, np.int32(slices), np.int32(slabs_per_slice), *geometry),
    )
    if slices > 1:
        add = launch.kernel("conv2d", f"conv2d_sum_slices<{kind}>")
        add(*launch.grid_1d(dw.size), (parts, dw, np.int32(slices), np.int64(dw.size)))
