"""A convolution as the product that the kernels for tensor cores compute, and as its configuration is chosen. Needs no GPU."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lucid_kernels import tf32
from lucid_kernels.cuda.convolution import configurations
from lucid_kernels.cuda.convolution.configurations import Tile
from lucid_kernels.integers import round_up
from lucid_kernels.windows import window_counts

Sizes = tuple[int, ...]
#: The most shared memory that a block may have on chips of compute capability 9.0.
SHARED_MEMORY = 227 << 10
_FEW = 8  # channels of a group, and terms: most of a tile would be empty
_LARGEST = 1 << 31  # the kernels count elements in 32 bits
_LARGEST_Z = 1 << 16  # of a grid
#: float32 is Tf32 where TF32 is allowed.
_KINDS = {"f": "Float32", "e": "Float16", "E": "Bfloat16"}


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
    out = window_counts(size, kernel, stride, padding, dilation)
    return Geometry(input_shape[0], input_shape[1], size, weight_shape[0], out, kernel, stride, padding, dilation, groups)


def kind_of(dtype: np.dtype) -> str:
    """The numbers of a product, as conv_mma.cuh names them."""
    return "Tf32" if dtype.char == "f" and tf32.convolutions else _KINDS[dtype.char]


def fits(dtype: np.dtype, geometry: Geometry) -> bool:
    """Whether the kernels for tensor cores compute convolutions of this dtype and geometry."""
    if dtype.char not in _KINDS:
        return False
    group_in, group_out = geometry.in_channels // geometry.groups, geometry.out_channels // geometry.groups
    if max(group_in, group_out) < _FEW or group_in * geometry.taps < _FEW:
        return False
    chunk = 16 // dtype.itemsize
    padded_in, padded_out = (geometry.groups * round_up(each, chunk) for each in (group_in, group_out))
    sizes = (geometry.batch * padded_in * math.prod(geometry.in_size), geometry.batch * padded_out * math.prod(geometry.out_size),
             (padded_out + 128 * geometry.groups) * (padded_in // geometry.groups + 128) * geometry.taps)  # fmt: skip
    return max(sizes) < _LARGEST and geometry.groups * math.prod(geometry.stride) < _LARGEST_Z


def is_compact(geometry: Geometry) -> bool:
    """Whether the taps lie as near to each other as conv_grad_weight wants."""
    return all((n - 1) * d < 1 << bits for n, d, bits in zip(geometry.kernel, geometry.dilation, (7, 12, 12), strict=True))


def product_memory(tile: Tile) -> int:
    """Bytes of shared memory of a block of conv_product: the stages, and of each row its pixel and the place of its result."""
    return tile.stages * 128 * (tile.rows + tile.columns) + 20 * tile.rows


def _weight_memory_4(tile: Tile) -> int:
    behind = 0 if tile in configurations.WARPGROUP_TILES else 16
    return tile.stages * 32 * 4 * (tile.rows + tile.columns + behind)


def _weight_memory_2(tile: Tile) -> int:
    return _weight_memory_4(tile) // 2


#: Of conv_grad_weight, by the bytes of an element.
WEIGHT_MEMORY = {4: _weight_memory_4, 2: _weight_memory_2}


class Problem(NamedTuple):
    """`products` products of rows x columns results with sums of `slabs` slabs, by a kernel of which the tile is open."""

    kernel: str  # with the arguments of its template before the tile
    sort: str  # forward, input gradient or weight gradient
    rows: int
    columns: int
    slabs: int
    products: int
    exact: bool
    shared: Callable[[Tile], int]
    simt: float  # cycles without tensor cores, by the model

    @property
    def key(self) -> str:
        """Its name in a tuning table."""
        name = f"{self.kernel}>{' gradient' * (self.sort == 'input gradient')}"
        return configurations.key(name, self.rows, self.columns, self.slabs, self.products)

    def tiles(self, memory: int, warpgroups: bool) -> tuple[Tile, ...]:
        """Those that are compiled and fit a block with so much shared memory, with or without wgmma."""
        found: tuple[Tile, ...] = configurations.WARP_TILES[1:] if self.exact else configurations.WARP_TILES
        # wgmma does not turn float.
        if warpgroups and not self.exact and self.shared is not _weight_memory_4:
            found += configurations.WARPGROUP_TILES
        return tuple(tile for tile in found if self.shared(tile) <= memory)

    def choices(self, memory: int, warpgroups: bool) -> list[tuple[float, Tile, int]]:
        """Cycles by the model, tile and slices of all configurations."""
        added = self.sort == "weight gradient"
        row_bytes = 64 if added and self.shared is _weight_memory_2 else 128  # of 32 pixels
        return configurations.choices(self.rows, self.columns, self.slabs, self.products, 3 if self.exact else 1,
                                      self.tiles(memory, warpgroups), row_bytes, added)

    def choose(self, capability: str, memory: int, warpgroups: bool) -> tuple[Tile, int] | None:
        """What was measured as the fastest, else what the model says; None where that is a kernel without tensor cores."""
        found = self.choices(memory, warpgroups)
        return configurations.choose(capability, self.key, found, self.simt if self.exact else math.inf)


def product(kind: str, itemsize: int, geometry: Geometry, gradient: bool) -> Problem:
    """A convolution, or with `gradient` that of its input."""
    groups = geometry.groups
    source, target = geometry.in_channels // groups, geometry.out_channels // groups
    size, phases = geometry.out_size, 1
    if gradient:
        source, target, phases = target, source, math.prod(geometry.stride)
        size = tuple(-(-n // s) for n, s in zip(geometry.in_size, geometry.stride, strict=True))
    chunk = 16 // itemsize
    rows, padded = geometry.batch * math.prod(size), round_up(source, chunk)
    # With a stride a phase has its share of the taps; the largest has at most all.
    slabs = max(1, -(-geometry.taps * padded // (8 * chunk)) // phases)
    simt = configurations.simt(rows, target, geometry.taps * source // phases, groups * phases, 1)
    return Problem(f"conv_product<{kind}", "input gradient" if gradient else "forward", rows, target, slabs, groups * phases,
                   kind == "Float32", product_memory, simt)


def weight_gradient(kind: str, itemsize: int, geometry: Geometry) -> Problem:
    """The gradient of the weight."""
    groups = geometry.groups
    rows, channels = geometry.out_channels // groups, geometry.in_channels // groups
    padded, pixels = round_up(channels, 16 // itemsize), geometry.batch * math.prod(geometry.out_size)
    simt = configurations.simt(rows, geometry.taps * channels, pixels, groups, 512)
    return Problem(f"conv_grad_weight<{kind}", "weight gradient", rows, geometry.taps * padded, -(-pixels // 32), groups,
                   kind == "Float32", WEIGHT_MEMORY[itemsize], simt)


def problems(dtype: np.dtype, geometry: Geometry) -> tuple[Problem, Problem, Problem]:
    """A convolution and its gradients for input and weight."""
    kind, size = kind_of(dtype), dtype.itemsize
    return (product(kind, size, geometry, False), product(kind, size, geometry, True), weight_gradient(kind, size, geometry))
