"""Bands of an image with the channels last, as Winograd's transforms read and write them, in LLVM IR.

A band is some rows of one image, padded, of as many channels as fill whole vectors. Neighbours in memory are channels, so a
tile of pixels needs no shuffles and no masks, however narrow the image is: planes of 7x7 or 4x4 fill vectors like large ones.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..arrays.layout import Array
from ..runtime.intrinsic import I64, constant, intrinsic
from ..runtime.jit import jit
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep
from ..simd.transpose import transposed

# Channels of a vector of float32.
LANES = VECTOR_BYTES // 4


@functools.lru_cache(maxsize=64)
def offsets_of(rows: int, width: int, columns: int, left: int, channels: int) -> Array:
    """Where the pixels of `rows` rows of an image lie in a band of `columns` columns, which begins `left` before the image.

    What is outside of the band has the offset behind it, and so has a vector of pixels that are not there. Kept: it takes 10 us.
    """
    column = np.arange(width) + left
    place = (np.arange(rows).reshape(-1, 1) * columns + column) * channels
    behind = rows * columns * channels
    place = np.where((column >= 0) & (column < columns), place, behind)
    return np.concatenate([place.reshape(-1), np.full(LANES, behind)])


def vectors_of(builder: ir.IRBuilder, count: Any) -> Any:
    """A loop over 0, LANES, ... below `count`, as a context that gives its index first."""
    return cgutils.for_range_slice(builder, constant(0), count, constant(LANES), intp=I64)


def _square(builder: ir.IRBuilder, vectors: Vectors, channels: Any, count: Any, body: Any) -> None:
    """Call body(channel, pixel, masks, whole) for the squares of LANES channels by LANES pixels: a mask for each channel, and
    whether the square is all there.
    """
    none = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [0] * LANES)
    with vectors_of(builder, channels) as (channel, _), vectors_of(builder, count) as (pixel, _):
        there = vectors.first(builder.sub(count, pixel))
        indices = [builder.add(channel, constant(lane)) for lane in range(LANES)]
        masks = [builder.select(builder.icmp_signed("<", c, channels), there, none) for c in indices]
        fits = [builder.icmp_signed("<=", builder.add(at, constant(LANES)), length)
                for at, length in ((channel, channels), (pixel, count))]
        body(channel, pixel, masks, builder.and_(*fits))


@intrinsic
def gather_band(typing, x, start, plane, channels, count, offsets, first, band):
    """band[offsets[first + p] + c] = x[start + c * plane + p] for p < count and c < channels, unchecked.

    Up to whole vectors of pixels and channels, what is beyond is set to 0.
    """
    integer = types.int64
    signature = types.void(x, integer, integer, integer, integer, offsets, integer, band)

    def emit(context, builder, signature, arguments):
        x, offsets, band = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 5, 7))
        start, plane, channels, count, first = (arguments[i] for i in (1, 2, 3, 4, 6))
        vectors = Vectors(builder, x.type.pointee, LANES)

        def body(channel, pixel, masks, _):
            source = gep(builder, x, start, builder.mul(channel, plane), pixel)
            rows = [vectors.load_masked(gep(builder, source, builder.mul(plane, constant(r))), mask)
                    for r, mask in enumerate(masks)]
            for j, column in enumerate(transposed(builder, rows)):
                vectors.store(column, gep(builder, band, builder.load(gep(builder, offsets, first, pixel, j)), channel))

        _square(builder, vectors, channels, count, body)
        return context.get_dummy_value()

    return signature, emit


def _pixels(builder: ir.IRBuilder, vectors: Vectors, band: Any, offsets: Any, channel: Any, pixel: Any) -> list[Any]:
    """LANES pixels of each of LANES channels of a band."""
    return transposed(builder, [vectors.load(gep(builder, band, builder.load(gep(builder, offsets, pixel, j)), channel))
                                for j in range(LANES)])


@intrinsic
def scatter_band(typing, band, offsets, channels, count, y, start, plane):
    """y[start + c * plane + p] = band[offsets[p] + c] for p < count and c < channels, unchecked."""
    integer = types.int64
    signature = types.void(band, offsets, integer, integer, y, integer, integer)

    def emit(context, builder, signature, arguments):
        band, offsets, y = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4))
        channels, count, start, plane = (arguments[i] for i in (2, 3, 5, 6))
        vectors = Vectors(builder, y.type.pointee, LANES)

        def body(channel, pixel, masks, whole):
            target = gep(builder, y, start, builder.mul(channel, plane), pixel)
            for r, (row, mask) in enumerate(zip(_pixels(builder, vectors, band, offsets, channel, pixel), masks)):
                vectors.store_reached(row, gep(builder, target, builder.mul(plane, constant(r))), mask, whole)

        _square(builder, vectors, channels, count, body)
        return context.get_dummy_value()

    return signature, emit


@jit
def fill_band(x, n, depth, first_channel, channels, top, rows, row_size, offsets, band):
    """Rows top..top + rows of some channels of slice `depth` of sample n of x (N, C, D, H, W), zeros outside; a row of the band
    has `row_size`.

    What is beside the image is not written.
    """
    _, all_channels, slices, height, width = x.shape
    first = min(rows, max(0, -top))
    last = max(first, min(rows, height - top))
    band[: first * row_size] = 0
    band[last * row_size : rows * row_size] = 0
    start = (((n * all_channels + first_channel) * slices + depth) * height + top + first) * width
    gather_band(x.reshape(-1), start, slices * height * width, channels, (last - first) * width, offsets, first * width, band)
