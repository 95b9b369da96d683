"""Convolutions of images and volumes on tensor cores: float32 as TF32, float16 and bfloat16, with sums in float32.

`convolve`, `convolve_grad_input` and `convolve_grad_weight` return None where they do not serve. `product` computes a convolution
or its input gradient (`conv_product.cu`), `grad_weight` the weight gradient (`conv_grad_weight.cu`).

Float32 images are read as they lie. The kernels for 16-bit elements, which asynchronous copies cannot take one by one, and those
for images with the channels last, want the channels of each group in whole chunks of 16 bytes: other arrays are brought into that
order first (`conv_pack.cu`). The result of images with the channels last has them last too, as in PyTorch.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import numpy as np

from lucid_kernels import tf32
from lucid_kernels.cuda.convolution import configurations
from lucid_kernels.cuda.convolution.configurations import Tile
from lucid_kernels.cuda.runtime import launch

Sizes = tuple[int, ...]
_FEW = 8  # channels of a group, and terms: most of a tile would be empty
_LARGEST = 1 << 31  # the kernels count elements in 32 bits
_KINDS = {"f": "Tf32", "e": "Float16", "E": "Bfloat16"}
_capabilities: dict[int, str] = {}


class Geometry(NamedTuple):
    """A convolution of volumes; images are volumes of depth 1. Channels are those of all groups."""

    batch: int
    in_channels: int
    in_size: Sizes
    out_channels: int
    out_size: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int

    @property
    def taps(self) -> int:
        """Elements of the kernel."""
        return math.prod(self.kernel)

    def scalars(self) -> tuple[np.int32, ...]:
        """CONVOLUTION_ARGUMENTS of conv_geometry.cuh."""
        values = (self.batch, self.in_channels, *self.in_size, self.out_channels, *self.out_size, *self.kernel, *self.stride,
                  *self.padding, *self.dilation, self.groups)  # fmt: skip
        return tuple(map(np.int32, values))


def geometry_of(input_shape: Sizes, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Geometry:
    """The geometry of a convolution over two or three dimensions."""
    flat = (1,) * (5 - len(input_shape))
    size, kernel, stride, dilation = (
        (*flat, *each) for each in (input_shape[2:], weight_shape[2:], stride, dilation)
    )
    padding = (*(0 for _ in flat), *padding)
    out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True))  # fmt: skip
    return Geometry(input_shape[0], input_shape[1], size, weight_shape[0], out, kernel, stride, padding, dilation, groups)


def capability() -> str:
    """The compute capability of the current device, as '90'."""
    device = cupy.cuda.runtime.getDevice()
    if device not in _capabilities:
        _capabilities[device] = cupy.cuda.Device(device).compute_capability
    return _capabilities[device]


def serve(dtype: Any, geometry: Geometry) -> bool:
    """Whether the kernels here compute convolutions of this dtype and geometry, on the current device."""
    kind = dtype.char
    if kind not in _KINDS or (kind == "f" and not tf32.convolutions) or int(capability()) < 80:
        return False
    group_in, group_out = geometry.in_channels // geometry.groups, geometry.out_channels // geometry.groups
    if max(group_in, group_out) < _FEW or group_in * geometry.taps < _FEW:
        return False
    chunk = 16 // dtype.itemsize
    padded_in, padded_out = (geometry.groups * _whole(each, chunk) for each in (group_in, group_out))
    sizes = (geometry.batch * padded_in * math.prod(geometry.in_size), geometry.batch * padded_out * math.prod(geometry.out_size),
             (padded_out + 128 * geometry.groups) * (padded_in // geometry.groups + 128) * geometry.taps)  # fmt: skip
    return max(sizes) < _LARGEST


def convolve(x: Any, weight: Any, bias: Any, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, out: Any = None,
             relu: bool = False) -> Any:
    """Cross-correlation of x (N, C, ...) with weight (O, C / groups, ...), plus bias (O,) or None; with `relu` no less than 0."""
    geometry = geometry_of(x.shape, weight.shape, stride, padding, dilation, groups)
    if not (x.size and serve(x.dtype, geometry)):
        return None
    y = _result(out, (x.shape[0], weight.shape[0], *geometry.out_size[5 - x.ndim :]), x)
    if y.size:
        product(x, weight, bias, y, geometry, gradient=False, relu=relu)
    return launch.deliver(y, out)


def convolve_grad_input(g: Any, weight: Any, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
                        out: Any = None) -> Any:
    """Gradient of `convolve` for its input, of `input_shape`, from that of its output."""
    geometry = geometry_of(input_shape, weight.shape, stride, padding, dilation, groups)
    if not (g.size and serve(g.dtype, geometry)):
        return None
    dx = _result(out, input_shape, g)
    product(g, weight, None, dx, geometry, gradient=True)
    return launch.deliver(dx, out)


def convolve_grad_weight(g: Any, x: Any, *, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
                         out: Any = None) -> Any:
    """Gradient of `convolve` for its weight, of `weight_shape`, from that of its output."""
    geometry = geometry_of(x.shape, weight_shape, stride, padding, dilation, groups)
    if not (g.size and serve(g.dtype, geometry)):
        return None
    dw = launch.result(out, weight_shape, g.dtype)
    grad_weight(g, x, dw, geometry)
    return launch.deliver(dw, out)


def _result(out: Any, shape: Sizes, source: Any) -> Any:
    """Memory for a result: with the channels last where those of `source` are."""
    if out is not None or not lies_last(source):
        return launch.result(out, shape, source.dtype)
    return launch.empty((shape[0], *shape[2:], shape[1]), source.dtype).transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


def _whole(n: int, part: int) -> int:
    return -(-n // part) * part


def _launch(file: str, name: str, blocks: int, threads: int, arguments: tuple[Any, ...], shared: int = 0) -> None:
    kernel = launch.kernel(file, name)
    if shared > 48 << 10 and kernel.max_dynamic_shared_size_bytes < shared:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel((blocks,), (threads,), arguments, shared_mem=shared)


def lies_last(x: Any) -> bool:
    """Whether the channels of (N, C, ...) lie last in memory, and not also first."""
    return not x.flags.c_contiguous and _turned(x).flags.c_contiguous


def _turned(x: Any) -> Any:
    return x.transpose(0, *range(2, x.ndim), 1)


def _channels_last(x: Any, groups: int) -> tuple[Any, int]:
    """An array with the pixels of x (N, C, ...), the channels of each group side by side in whole chunks, and their number.

    It is a view of x where that lies so.
    """
    chunk = 16 // x.dtype.itemsize
    batch, channels = x.shape[:2]
    group, pixels = channels // groups, math.prod(x.shape[2:])
    padded, last = _whole(group, chunk), lies_last(x)
    x = _turned(x) if last else launch.contiguous(x)
    if last and padded == group and x.data.ptr % 16 == 0:
        return x, padded
    packed = launch.empty((batch, pixels, groups * padded), x.dtype)
    tiles = batch * -(-pixels // 32) * -(-groups * padded // 32)
    arguments = (x, packed, *map(np.int32, (batch, group, padded, groups, pixels, last)))
    _launch("conv_pack", f"conv_pack_channels<{launch.ctype(x.dtype)}>", launch.grid_cap(tiles)[0], launch.BLOCK, arguments)
    return packed, padded


def product(x: Any, weight: Any, bias: Any, y: Any, geometry: Geometry, gradient: bool, tile: Tile | None = None,
            slices: int = 0, relu: bool = False) -> None:
    """Write to y the convolution of x with weight, plus bias (or None); with `gradient` its gradient for the input from that of
    the output, x; with `relu` 0 in the place of what is negative. Tile and slices are chosen where they are not given.

    y lies in row-major order or with the channels last.
    """
    kind, groups, last = x.dtype.char, geometry.groups, lies_last(x)
    source, target = geometry.in_channels // groups, geometry.out_channels // groups
    size, phases = geometry.out_size, 1
    if gradient:
        source, target, phases = target, source, math.prod(geometry.stride)
        size = tuple(-(-n // s) for n, s in zip(geometry.in_size, geometry.stride, strict=True))
    chunk = 16 // x.dtype.itemsize
    rows, padded = geometry.batch * math.prod(size), _whole(source, chunk)
    # With a stride a phase has its share of the taps; the largest has at most all.
    slabs = -(-geometry.taps * padded // (8 * chunk))
    planar = kind == "f" and not last
    name, shared = f"{_KINDS[kind]}, {str(not planar).lower()}", _product_planar if planar else _rows_of_128
    if tile is None:
        tile, slices = _choose(f"conv_product<{name}>{' gradient' * gradient}", rows, target, max(1, slabs // phases),
                               groups * phases, 4 // x.dtype.itemsize, shared)
    slabs_per_slice = max(1, -(-slabs // slices))
    packed_rows = _whole(target, tile.columns)
    packed = launch.empty((groups, packed_rows, geometry.taps, padded), x.dtype)
    weight_last = lies_last(weight)
    numbers = (geometry.out_channels, geometry.in_channels // groups, geometry.taps, groups, packed_rows, padded, gradient,
               weight_last)  # fmt: skip
    _launch("conv_pack", f"conv_pack_weight<{_KINDS[kind]}>", *_flat(packed.size),
            (_turned(weight) if weight_last else launch.contiguous(weight), packed, *map(np.int32, numbers)))
    if planar:
        x = launch.contiguous(x)
    else:
        x, _ = _channels_last(x, groups)
    row_tiles = -(-rows // tile.rows)
    blocks = phases * groups * slices * row_tiles * -(-target // tile.columns)
    inner, y_last = math.prod(y.shape[2:]), lies_last(y)
    if y_last:
        inner, y = 1, _turned(y)
    parts = launch.empty((slices, *y.shape) if slices > 1 else (1,), np.float32)
    arguments = (x, packed, *launch.optional(bias, x), np.int32(relu), y, parts,
                 *map(np.int32, (slices, slabs_per_slice, gradient, y_last, row_tiles, packed_rows)), *geometry.scalars())
    _launch("conv_product", f"conv_product<{name}, {tile}>", blocks, tile.threads, arguments, shared(tile))
    if slices > 1:
        _launch("conv_pack", f"conv_add_slices<{launch.ctype(x.dtype)}>", *_flat(y.size),
                (parts, *launch.optional(bias, x), np.int32(relu), y, *map(np.int32, (slices, target * groups, inner)),
                 np.int64(y.size)))


@functools.cache
def _fitting(device: int, shared: Callable[[Tile], int]) -> tuple[Tile, ...]:
    """The tiles for which a block of a device has enough shared memory: 99 KiB on smaller chips, else more."""
    limit = int(cupy.cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"])
    return tuple(tile for tile in configurations.TILES if shared(tile) <= limit)


def _choose(name: str, rows: int, columns: int, slabs: int, products: int, speed: int, shared: Callable[[Tile], int]
            ) -> tuple[Tile, int]:
    tiles = _fitting(cupy.cuda.runtime.getDevice(), shared)
    return configurations.choose(capability(), name, rows, columns, slabs, products, speed, tiles)


# Bytes of shared memory of a block: of conv_product with a source as it lies; of conv_product with the channels last and of
# conv_grad_weight_planar; of conv_grad_weight_last by the size of an element.
def _product_planar(tile: Tile) -> int:
    return tile.stages * (32 * 4 * (tile.rows + 8) + 128 * tile.columns)


def _rows_of_128(tile: Tile) -> int:
    return tile.stages * 128 * (tile.rows + tile.columns)


def _weight_last_4(tile: Tile) -> int:
    return tile.stages * 32 * 4 * (tile.rows + tile.columns + 16)


def _weight_last_2(tile: Tile) -> int:
    return _weight_last_4(tile) // 2


def _flat(size: int) -> tuple[int, int]:
    grid, block = launch.grid_1d(size)
    return grid[0], block[0]


def grad_weight(g: Any, x: Any, dw: Any, geometry: Geometry, tile: Tile | None = None, slices: int = 0) -> None:
    """Write to dw, in row-major order, the gradient of a convolution for its weight from g, that of the output, and the input x.
    Tile and slices are chosen where they are not given.
    """
    kind, groups = x.dtype.char, geometry.groups
    group_in, group_out = geometry.in_channels // groups, geometry.out_channels // groups
    planar = kind == "f" and not lies_last(x) and not lies_last(g)
    numbers: tuple[int, ...] = ()
    if planar:
        g, x, channels, filled = launch.contiguous(g), launch.contiguous(x), group_in, geometry
    else:
        (g, rows), (x, channels) = _channels_last(g, groups), _channels_last(x, groups)
        filled = geometry._replace(in_channels=groups * channels, out_channels=groups * rows)
        numbers = (group_out,)
    columns, slabs = geometry.taps * channels, -(-geometry.batch * math.prod(geometry.out_size) // 32)
    name = "conv_grad_weight_planar<" if planar else f"conv_grad_weight_last<{_KINDS[kind]}, "
    shared = _rows_of_128 if planar else _weight_last_4 if kind == "f" else _weight_last_2
    if tile is None:
        tile, slices = _choose(name, group_out, columns, slabs, groups, 1, shared)
    slabs_per_slice = max(1, -(-slabs // slices))
    parts = launch.empty((slices, geometry.out_channels, columns), np.float32)
    blocks = groups * slices * -(-group_out // tile.rows) * -(-columns // tile.columns)
    _launch("conv_grad_weight", f"{name}{tile}>", blocks, tile.threads,
            (g, x, parts, *map(np.int32, (slices, slabs_per_slice, *numbers)), *filled.scalars()), shared(tile))
    _launch("conv_pack", f"conv_add_weight_slices<{launch.ctype(x.dtype)}>", *_flat(dw.size),
            (parts, dw, *map(np.int32, (slices, group_in, channels, geometry.taps)), np.int64(dw.size)))
