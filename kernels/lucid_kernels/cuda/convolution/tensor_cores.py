"""Convolutions of images and volumes on tensor cores: float32 as TF32, float16 and bfloat16, with sums in float32.

`convolve`, `convolve_grad_input` and `convolve_grad_weight` return None where they do not serve; kernels of one element they
leave to cuBLAS (`pointwise`). `product` computes a convolution or its input gradient (`conv_product.cu`), `grad_weight` the
weight gradient (`conv_grad_weight.cu`).

The kernels want the channels last, those of each group in whole chunks of 16 bytes, and TF32 rounded: other arrays are brought
into that order first (`conv_pack.cu`). The result of images with the channels last has them last too, as in PyTorch.
"""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import cupy
import numpy as np

from lucid_kernels.cuda.convolution import pointwise
from lucid_kernels.cuda.convolution import problem as _problem
from lucid_kernels.cuda.convolution.configurations import Tile
from lucid_kernels.cuda.convolution.layout import is_channels_last, result_like, turned
from lucid_kernels.cuda.convolution.problem import Geometry, Problem, Sizes, fits, geometry_of, kind_of
from lucid_kernels.cuda.convolution.slices import add_weight_slices
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch
from lucid_kernels.integers import round_up

_capabilities: dict[int, str] = {}


def capability() -> str:
    """The compute capability of the current device, as '90'."""
    device = cupy.cuda.runtime.getDevice()
    if device not in _capabilities:
        _capabilities[device] = cupy.cuda.Device(device).compute_capability
    return _capabilities[device]


def warpgroups() -> bool:
    """Whether kernels for the current device are compiled with wgmma."""
    return capability() == "90" and launch.takes_architectures()


@functools.cache
def shared_memory(device: int) -> int:
    """The most shared memory that a block of a device may have: 99 KiB on smaller chips, else more."""
    return int(cupy.cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"])


def choose(problem: Problem) -> tuple[Tile, int] | None:
    """Tile and slices on the current device; None where a kernel without tensor cores is faster."""
    return problem.choose(capability(), shared_memory(cupy.cuda.runtime.getDevice()), warpgroups())


def serve(dtype: Any, geometry: Geometry) -> bool:
    """Whether the kernels here compute convolutions of this dtype and geometry, on the current device."""
    return int(capability()) >= 80 and fits(dtype, geometry)


def convolve(x: Any, weight: Any, bias: Any, residual: Any = None, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
             out: Any = None, relu: bool = False, packed: Any = None) -> Any:
    """Cross-correlation of x (N, C, ...) with weight (O, C / groups, ...), plus bias (O,) and residual, which has the shape of
    the result, or None; with `relu` no less than 0. `packed` is what `packed_for` has made of the weight for such an x.
    """
    geometry = geometry_of(x.shape, weight.shape, stride, padding, dilation, groups)
    chosen = _chosen(x, geometry, gradient=False)
    if chosen is None:
        return None
    if bias is residual is None and not relu and (y := pointwise.convolve(x, weight, geometry, out)) is not None:
        return y
    y = result_like(out, (x.shape[0], weight.shape[0], *geometry.out_size[5 - x.ndim :]), x)
    if y.size:
        product(x, weight, bias, y, geometry, False, *chosen, relu, residual, packed)
    return launch.deliver(y, out)


def packed_for(x: Any, weight: Any, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    """The weight as `convolve` packs it for x; None where it does not serve."""
    geometry = geometry_of(x.shape, weight.shape, stride, padding, dilation, groups)
    chosen = _chosen(x, geometry, gradient=False)
    return None if chosen is None else pack(x, weight, geometry, False, chosen[0])


def pack(x: Any, weight: Any, geometry: Geometry, gradient: bool, tile: Tile) -> Any:
    """The weight as `product` reads it: of each group rows of taps and channels, as many as whole tiles have."""
    groups = geometry.groups
    source, target = geometry.in_channels // groups, geometry.out_channels // groups
    if gradient:
        source, target = target, source
    packed_rows, padded = round_up(target, tile.columns), round_up(source, 16 // x.dtype.itemsize)
    packed = launch.empty((groups, packed_rows, geometry.taps, padded), x.dtype)
    weight_last, chunk = is_channels_last(weight), 16 // x.dtype.itemsize
    numbers = (geometry.out_channels, geometry.in_channels // groups, geometry.taps, groups, packed_rows, padded, gradient,
               weight_last)  # fmt: skip
    _launch("conv_pack", f"conv_pack_weight<{kind_of(x.dtype)}>", *_flat(packed.size // chunk),
            (turned(weight) if weight_last else copies.contiguous(weight), packed, *map(np.int32, numbers)))
    return packed


def convolve_grad_input(g: Any, weight: Any, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
                        out: Any = None) -> Any:
    """Gradient of `convolve` for its input, of `input_shape`, from that of its output."""
    geometry = geometry_of(input_shape, weight.shape, stride, padding, dilation, groups)
    chosen = _chosen(g, geometry, gradient=True)
    if chosen is None:
        return None
    if (dx := pointwise.convolve_grad_input(g, weight, geometry, out)) is not None:
        return dx
    dx = result_like(out, input_shape, g)
    product(g, weight, None, dx, geometry, True, *chosen)
    return launch.deliver(dx, out)


def convolve_grad_weight(g: Any, x: Any, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
                         out: Any = None) -> Any:
    """Gradient of `convolve` for its weight, of `weight_shape`, from that of its output."""
    geometry = geometry_of(x.shape, weight_shape, stride, padding, dilation, groups)
    chosen = _chosen_for_weight(g, geometry)
    if chosen is None:
        return None
    if (dw := pointwise.convolve_grad_weight(g, x, geometry, out)) is not None:
        return dw
    dw = launch.result(out, weight_shape, g.dtype)
    grad_weight(g, x, dw, geometry, *chosen)
    return launch.deliver(dw, out)


def convolve_gradients(g: Any, x: Any, weight: Any, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
                       out: tuple[Any, Any]) -> tuple[Any, Any]:
    """`convolve_grad_input` and `convolve_grad_weight`, for which g is brought into the kernels' order once. The second lies as
    the weight does.
    """
    geometry = geometry_of(x.shape, weight.shape, stride, padding, dilation, groups)
    for_input, for_weight = _chosen(g, geometry, gradient=True), _chosen_for_weight(g, geometry)
    if for_input is None or for_weight is None:
        return None, None
    dx, dw = pointwise.convolve_grad_input(g, weight, geometry, out[0]), pointwise.convolve_grad_weight(g, x, geometry, out[1])
    if dx is not None or dw is not None:
        return dx, dw
    dx, dw = result_like(out[0], x.shape, g), result_like(out[1], weight.shape, weight)
    ordered = _channels_last(g, groups)
    product(ordered, weight, None, dx, geometry, True, *for_input)
    grad_weight(ordered, x, dw, geometry, *for_weight)
    return launch.deliver(dx, out[0]), launch.deliver(dw, out[1])


def _chosen(x: Any, geometry: Geometry, gradient: bool) -> tuple[Tile, int] | None:
    """Tile and slices for `product`, None where it does not serve."""
    if not (x.size and serve(x.dtype, geometry)):
        return None
    return choose(_problem.product(kind_of(x.dtype), x.dtype.itemsize, geometry, gradient))


def _chosen_for_weight(g: Any, geometry: Geometry) -> tuple[Tile, int] | None:
    """The same for `grad_weight`."""
    if not (g.size and serve(g.dtype, geometry) and _problem.is_compact(geometry)):
        return None
    return choose(_problem.weight_gradient(kind_of(g.dtype), g.dtype.itemsize, geometry))


def _launch(file: str, name: str, grid: tuple[int, ...], threads: int, arguments: tuple[Any, ...], shared: int = 0) -> None:
    kernel = launch.kernel(file, name)
    if shared > 48 << 10 and kernel.max_dynamic_shared_size_bytes < shared:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel(grid, (threads,), arguments, shared_mem=shared)


class Ordered(NamedTuple):
    """An array as the kernels read it, and the channels of each group in whole chunks."""

    array: Any
    padded: int

    @property
    def dtype(self) -> Any:
        """Its dtype, as of an array."""
        return self.array.dtype


def _channels_last(x: Any, groups: int) -> Ordered:
    """An array with the pixels of x (N, C, ...), the channels of each group side by side in whole chunks, and their number.

    It is a view of x where that lies so and needs no rounding to TF32; what is `Ordered` stays as it is.
    """
    if x.__class__ is Ordered:
        return x
    chunk, kind = 16 // x.dtype.itemsize, kind_of(x.dtype)
    batch, channels = x.shape[:2]
    group, pixels = channels // groups, math.prod(x.shape[2:])
    padded, last = round_up(group, chunk), is_channels_last(x)
    x = turned(x) if last else copies.contiguous(x)
    if last and padded == group and x.data.ptr % 16 == 0 and kind != "Tf32":
        return Ordered(x, padded)
    packed = launch.empty((batch, pixels, groups * padded), x.dtype)
    aligned = (channels if last else pixels) % chunk == 0 and group % (chunk if last else 1) == 0 and x.data.ptr % 16 == 0
    tiles = batch * (-(-pixels * groups * padded // (chunk * launch.BLOCK)) if last
                     else -(-pixels // 128) * -(-groups * padded // (8 * chunk)))  # fmt: skip
    arguments = (x, packed, *map(np.int32, (batch, group, padded, groups, pixels, last, aligned)))
    _launch("conv_pack", f"conv_pack_channels<{kind}>", launch.grid_cap(tiles), launch.BLOCK, arguments)
    return Ordered(packed, padded)


def product(x: Any, weight: Any, bias: Any, y: Any, geometry: Geometry, gradient: bool, tile: Tile, slices: int,
            relu: bool = False, residual: Any = None, packed: Any = None) -> None:
    """Write to y the convolution of x with weight, or with what `pack` has made of it, plus bias and residual (or None); with
    `gradient` its gradient for the input from that of the output, x; with `relu` 0 in the place of what is negative.

    y lies in row-major order or with the channels last.
    """
    kind, groups = kind_of(x.dtype), geometry.groups
    source, target = geometry.in_channels // groups, geometry.out_channels // groups
    size, phases = geometry.out_size, 1
    if gradient:
        source, target, phases = target, source, math.prod(geometry.stride)
        size = tuple(-(-n // s) for n, s in zip(geometry.in_size, geometry.stride, strict=True))
    chunk = 16 // x.dtype.itemsize
    rows, padded = geometry.batch * math.prod(size), round_up(source, chunk)
    # With a stride a phase has its share of the taps; the largest has at most all.
    slabs = -(-geometry.taps * padded // (8 * chunk))
    slabs_per_slice = max(1, -(-slabs // slices))
    packed_rows = round_up(target, tile.columns)
    if packed is None:
        lies_packed = (packed_rows, padded) == (target, source) and not gradient and kind != "Tf32" and is_channels_last(weight)
        packed = turned(weight) if lies_packed and not weight.data.ptr % 16 else pack(x, weight, geometry, gradient, tile)
    x, _ = _channels_last(x, groups)
    column_tiles = -(-target // tile.columns)
    grid = -(-rows // tile.rows) * column_tiles, slices, phases * groups
    inner, y_last = math.prod(y.shape[2:]), is_channels_last(y)
    if y_last:
        inner, y = 1, turned(y)
        residual = None if residual is None else turned(residual)
    parts = launch.empty((slices, *y.shape) if slices > 1 else (1,), np.float32)
    added = *launch.optional(bias, x), *launch.optional(residual, x), np.int32(relu)
    arguments = (x, packed, *added, y, parts,
                 *map(np.int32, (slices, slabs_per_slice, gradient, y_last, column_tiles, packed_rows)), *geometry.scalars())
    _launch("conv_product", f"conv_product<{kind}, {tile}>", grid, tile.threads, arguments, _problem.product_memory(tile))
    if slices > 1:
        _launch("conv_pack", f"conv_add_slices<{launch.ctype(x.dtype)}>", *_flat(y.size),
                (parts, *added, y, *map(np.int32, (slices, target * groups, inner)),
                 np.int64(y.size)))


def _flat(size: int) -> tuple[tuple[int], int]:
    return launch.grid_1d(size)[0], launch.BLOCK


def grad_weight(g: Any, x: Any, dw: Any, geometry: Geometry, tile: Tile, slices: int) -> None:
    """Write to dw the gradient of a convolution for its weight from g, that of the output, and the input.

    dw lies in row-major order or with the channels last.
    """
    kind, groups = kind_of(x.dtype), geometry.groups
    group_in, group_out = geometry.in_channels // groups, geometry.out_channels // groups
    (g, rows), (x, channels) = _channels_last(g, groups), _channels_last(x, groups)
    filled = geometry._replace(in_channels=groups * channels, out_channels=groups * rows)
    columns, slabs = geometry.taps * channels, -(-geometry.batch * math.prod(geometry.out_size) // 32)
    slabs_per_slice = max(1, -(-slabs // slices))
    parts = launch.empty((slices, geometry.out_channels, columns), np.float32)
    column_tiles = -(-columns // tile.columns)
    grid = -(-group_out // tile.rows) * column_tiles, slices, groups
    _launch("conv_grad_weight", f"conv_grad_weight<{kind}, {tile}>", grid, tile.threads,
            (g, x, parts, *map(np.int32, (column_tiles, slabs_per_slice, group_out)), *filled.scalars()),
            _problem.WEIGHT_MEMORY[x.itemsize](tile))
    if is_channels_last(dw):  # each tap is a row, then
        add_weight_slices(parts, turned(dw), group_in, channels, 1)
    else:
        add_weight_slices(parts, dw, group_in, channels, geometry.taps)
