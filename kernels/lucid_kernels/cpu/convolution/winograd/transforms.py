"""The transforms of Winograd's convolution F(2x2, 3x3), in LLVM IR: a vector of channels of a tile at a time.

A tile is 2x2 outputs and the 4x4 pixels that they see. With the matrices of Lavin and Gray ("Fast algorithms for convolutional
neural networks", 2015), outputs = A^T [sum over channels of (G w G^T) * (B^T pixels B)] A, where * is elementwise.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import constant, intrinsic
from ...simd.ir import Vectors, data_of, gep
from ..channels_last import LANES, vectors_of

# Products for each tile and channel.
PRODUCTS = 16
# The entry of transformed gradients that is the sum of those of a tile: A has one row of ones, its second.
TOTAL = 5


def _transform(builder: ir.IRBuilder, d: list[Any]) -> list[Any]:
    """B^T d for four vectors."""
    return [builder.fsub(d[0], d[2]), builder.fadd(d[1], d[2]), builder.fsub(d[2], d[1]), builder.fsub(d[1], d[3])]


def _transform_gradient(builder: ir.IRBuilder, g: list[Any]) -> list[Any]:
    """A g for two vectors: four."""
    return [g[0], builder.fadd(g[0], g[1]), builder.fsub(g[0], g[1]), builder.fneg(g[1])]


def _transform_taps(builder: ir.IRBuilder, w: list[Any]) -> list[Any]:
    """G w for three vectors: four."""
    outer, half = builder.fadd(w[0], w[2]), ir.Constant(w[0].type, [0.5] * w[0].type.count)
    return [w[0], *(builder.fmul(operation(outer, w[1]), half) for operation in (builder.fadd, builder.fsub)), w[2]]


def _untransform(builder: ir.IRBuilder, m: list[Any]) -> list[Any]:
    """A^T m for four vectors: two."""
    first, second = builder.fadd(m[0], m[1]), builder.fsub(m[1], m[2])
    return [builder.fadd(first, m[2]), builder.fsub(second, m[3])]


def _untransform_taps(builder: ir.IRBuilder, m: list[Any]) -> list[Any]:
    """G^T m for four vectors: three."""
    half = ir.Constant(m[0].type, [0.5] * m[0].type.count)
    total, difference = (builder.fmul(operation(m[1], m[2]), half) for operation in (builder.fadd, builder.fsub))
    return [builder.fadd(m[0], total), difference, builder.fadd(total, m[3])]


def _twice(builder: ir.IRBuilder, transform: Any, square: list[list[Any]]) -> list[list[Any]]:
    """`transform` of the columns of a square of vectors, then of its rows."""
    columns = [transform(builder, list(column)) for column in zip(*square)]
    return [transform(builder, list(row)) for row in zip(*columns)]


def _for_tiles(builder: ir.IRBuilder, tiles: Any, channels: Any, body: Any) -> None:
    """Call body(tile, channel) for each tile and each vector of channels."""
    with cgutils.for_range(builder, tiles) as tile, vectors_of(builder, channels) as (channel, _):
        body(tile.index, channel)


def _offsets(builder: ir.IRBuilder, side: int, row: Any, column: Any) -> list[list[Any]]:
    """Offsets of the pixels of a tile of `side` rows and columns."""
    rows, columns = ([builder.mul(pitch, constant(i)) for i in range(side)] for pitch in (row, column))
    return [[builder.add(a, b) for b in columns] for a in rows]


def _entries(builder: ir.IRBuilder, step: Any) -> list[list[Any]]:
    """Offsets of the PRODUCTS entries of a transform, in four rows."""
    return [[builder.mul(step, constant(4 * a + b)) for b in range(4)] for a in range(4)]


def _make_transform(side: int, transform: Any) -> Any:
    @intrinsic
    def transform_tiles(typing, band, start, row, column, tiles, channels, out, out_start, pitch, step):
        """out[out_start + t * pitch + e * step + c] = entry e of the transform of tile t, side * side pixels of a band.

        For `tiles` neighbours and whole vectors of `channels`. Pixel (a, b) of tile t is band[start + a * row + (2 * t + b) *
        column + c]. Nothing is checked.
        """
        integer = types.int64
        signature = types.void(band, *(integer,) * 5, out, *(integer,) * 3)

        def emit(context, builder, signature, arguments):
            band, out = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[i + 1])
                         for i in (0, 6))
            row, column, tiles, channels = arguments[2:6]
            pitch, step = arguments[8:]
            vectors = Vectors(builder, band.type.pointee, LANES)
            offsets = _offsets(builder, side, row, column)
            entries = _entries(builder, step)
            across = builder.mul(column, constant(2))

            def body(tile, channel):
                source = gep(builder, band, builder.mul(tile, across), channel)
                target = gep(builder, out, builder.mul(tile, pitch), channel)
                pixels = [[vectors.load(gep(builder, source, offset)) for offset in line] for line in offsets]
                for line, starts in zip(_twice(builder, transform, pixels), entries):
                    for value, at in zip(line, starts):
                        vectors.store(value, gep(builder, target, at))

            _for_tiles(builder, tiles, channels, body)
            return context.get_dummy_value()

        return signature, emit

    return transform_tiles


# B^T d B for the 4x4 pixels d of a tile, A g A^T for the gradient g of its 2x2 outputs, and G w G^T for the 3x3 taps w.
transform_pixels = _make_transform(4, _transform)
transform_gradients = _make_transform(2, _transform_gradient)
transform_taps = _make_transform(3, _transform_taps)


def _for_sums(builder: ir.IRBuilder, vectors: Vectors, transform: Any, source: tuple[Any, ...], deliver: Any) -> Any:
    """Call deliver(tile, channel, square) with the transforms of sums plus bias, for the first arguments of `transform_sums`.

    Whether all are finite.
    """
    sums, start, pitch, step, bias, tiles, channels = source
    entries = _entries(builder, step)
    check = cgutils.alloca_once(builder, vectors.type)
    builder.store(vectors.zero, check)

    def body(tile, channel):
        first = gep(builder, sums, start, builder.mul(tile, pitch), channel)
        square = [[vectors.load(gep(builder, first, entry)) for entry in line] for line in entries]
        added = vectors.load(gep(builder, bias, channel))
        square = [[builder.fadd(value, added) for value in line] for line in _twice(builder, transform, square)]
        for line in square:
            for value in line:
                vectors.add_product(check, value, vectors.zero)  # 0 times infinity or NaN is NaN
        deliver(tile, channel, square)

    _for_tiles(builder, tiles, channels, body)
    total = builder.load(check)
    failed = builder.bitcast(builder.fcmp_unordered("uno", total, total), ir.IntType(LANES))
    return builder.icmp_unsigned("==", failed, ir.Constant(failed.type, 0))


def _make_untransform(side: int, transform: Any) -> Any:
    @intrinsic
    def transform_sums(typing, sums, start, pitch, step, bias, tiles, channels, band, band_start, row, column):
        """The transforms of the PRODUCTS sums of neighbouring tiles plus bias, for whole vectors of `channels`.

        Entry e of tile t and channel c is sums[start + t * pitch + e * step + c]; of the `side` * `side` results (a, b) is
        band[band_start + a * row + (2 * t + b) * column + c]. Whether all are finite. Nothing is checked.
        """
        integer = types.int64
        signature = types.boolean(sums, *(integer,) * 3, bias, integer, integer, band, *(integer,) * 3)

        def emit(context, builder, signature, arguments):
            sums, bias, band = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 7))
            start, pitch, step = arguments[1:4]
            tiles, channels = arguments[5:7]
            band_start, row, column = arguments[8:]
            vectors = Vectors(builder, sums.type.pointee, LANES)
            offsets = _offsets(builder, side, row, column)
            across = builder.mul(column, constant(2))

            def deliver(tile, channel, square):
                target = gep(builder, band, band_start, builder.mul(tile, across), channel)
                for line, starts in zip(square, offsets):
                    for value, at in zip(line, starts):
                        vectors.store(value, gep(builder, target, at))

            source = (sums, start, pitch, step, bias, tiles, channels)
            return _for_sums(builder, vectors, transform, source, deliver)

        return signature, emit

    return transform_sums


# A^T m A for the 2x2 outputs of a tile, and G^T m G for the gradient of 3x3 taps.
transform_sums = _make_untransform(2, _untransform)
transform_tap_sums = _make_untransform(3, _untransform_taps)
