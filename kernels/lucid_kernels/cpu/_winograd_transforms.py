"""The transforms of Winograd's convolution F(2x2, 3x3), in LLVM IR: 16 numbers of a tile become 16 rows of vectors of tiles.

A tile is 2x2 outputs and the 4x4 pixels that they see. With the matrices of Lavin and Gray ("Fast algorithms for convolutional
neural networks", 2015), outputs = A^T [sum over channels of (G w G^T) * (B^T pixels B)] A, where * is elementwise. The lanes
of a vector are neighbouring tiles of a row of tiles, so that loads and stores of an image are contiguous.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._compile import jit
from ._microkernels import _INT, ROWS, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

# Products for each tile and channel.
PRODUCTS = 16
# Tiles that one call of `transform_pixels` or `transform_sums` takes.
LANES = VECTOR_BYTES // 4


def _transform(builder: ir.IRBuilder, d: list[Any]) -> list[Any]:
    """B^T d for four vectors."""
    return [builder.fsub(d[0], d[2]), builder.fadd(d[1], d[2]), builder.fsub(d[2], d[1]), builder.fsub(d[1], d[3])]


def _untransform(builder: ir.IRBuilder, m: list[Any]) -> list[Any]:
    """A^T m for four vectors: two."""
    first, second = builder.fadd(m[0], m[1]), builder.fsub(m[1], m[2])
    return [builder.fadd(first, m[2]), builder.fsub(second, m[3])]


def _shuffled(builder: ir.IRBuilder, one: Any, other: Any, lanes: list[int]) -> list[Any]:
    """Two vectors with these lanes of `one` and `other`."""
    count = one.type.count
    kind = ir.VectorType(ir.IntType(32), count)
    return [builder.shuffle_vector(one, other, ir.Constant(kind, half)) for half in (lanes[:count], lanes[count:])]


def _separated(builder: ir.IRBuilder, one: Any, other: Any) -> list[Any]:
    """The even lanes of two vectors, and the odd ones."""
    count = 2 * one.type.count
    return _shuffled(builder, one, other, [*range(0, count, 2), *range(1, count, 2)])


def _interleaved(builder: ir.IRBuilder, even: Any, odd: Any) -> list[Any]:
    """even[0], odd[0], even[1], odd[1], ... in two vectors."""
    lanes = even.type.count
    return _shuffled(builder, even, odd, [lane // 2 + lane % 2 * lanes for lane in range(2 * lanes)])


def _transform_gradient(builder: ir.IRBuilder, g: list[Any]) -> list[Any]:
    """A g for two vectors: four."""
    return [g[0], builder.fadd(g[0], g[1]), builder.fsub(g[0], g[1]), builder.fneg(g[1])]


def _make_transform(side: int, transform: Any) -> Any:
    @_intrinsic
    def transform_tiles(typing, x, start, height, width, top, left, channels, tiles, out, out_start, pitch, step):
        """out[out_start + e * step + c * pitch + t] = entry e of the transform of side * side pixels of x.

        For `channels` planes c of x and `tiles` <= LANES tiles t; the pixels of tile t start at row `top` and column `left`
        + 2 * t; what lies outside of height * width is 0. x is flat, its first plane starts at `start`; nothing is checked.
        """
        integer = types.int64
        signature = types.void(x, *(integer,) * 7, out, *(integer,) * 3)

        def emit(context, builder, signature, arguments):
            x, out = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 8))
            start, height, width, top, left, channels, tiles = arguments[1:8]
            out_start, pitch, step = arguments[9:]
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = _Vectors(builder, x.type.pointee, lanes)
            offsets = [first + v * lanes for first in range(0, side, 2) for v in range(2)]
            before, after = builder.neg(left), builder.sub(width, left)
            masks = [builder.and_(vectors.between(o, after), builder.not_(vectors.between(o, before))) for o in offsets]
            # A row outside is read from here, again for each channel.
            zeros = cgutils.alloca_once(builder, vectors.type, 3)
            for v in range(3):
                builder.store(vectors.zero, _at(builder, zeros, v))
            zeros = builder.bitcast(zeros, x.type)
            rows, steps = [], []
            for a in range(side):
                row = builder.add(top, ir.Constant(_INT, a))
                inside = builder.icmp_unsigned("<", row, height)
                rows.append(builder.select(inside, _at(builder, x, start, builder.mul(row, width), left), zeros))
                steps.append(builder.select(inside, builder.mul(height, width), ir.Constant(_INT, 0)))
            stored = vectors.first(tiles)
            with cgutils.for_range(builder, channels) as loop:
                pixels = []
                for row, row_step in zip(rows, steps):
                    source = _at(builder, row, builder.mul(loop.index, row_step))
                    parts = [vectors.load_masked(_at(builder, source, o), mask) for o, mask in zip(offsets, masks)]
                    pixels.append([column for v in range(0, side, 2) for column in _separated(builder, *parts[v : v + 2])])
                half = [transform(builder, [row[b] for row in pixels]) for b in range(side)]
                target = _at(builder, out, out_start, builder.mul(loop.index, pitch))
                for a in range(4):
                    for b, value in enumerate(transform(builder, [column[a] for column in half])):
                        place = _at(builder, target, builder.mul(step, ir.Constant(_INT, 4 * a + b)))
                        vectors.store_masked(value, place, stored)
            return context.get_dummy_value()

        return signature, emit

    return transform_tiles


# B^T d B for the 4x4 pixels d of a tile, and A g A^T for the gradient g of its 2x2 outputs.
transform_pixels = _make_transform(4, _transform)
transform_gradients = _make_transform(2, _transform_gradient)


@_intrinsic
def transform_sums(typing, sums, start, pitch, step, bias, rows, tiles, out, out_start, plane, width, columns, below):
    """The outputs A^T m A + bias of `tiles` <= LANES neighbouring tiles, for `rows` output channels; whether all are finite.

    Entry e of m of row r is sums[start + e * step + r * pitch + t]. The tiles' first row of outputs starts at out[out_start +
    r * plane] and has `columns` elements, the second, if there is one `below`, `width` elements later; nothing is checked.
    """
    integer = types.int64
    signature = types.boolean(sums, integer, integer, integer, bias, integer, integer, out, *(integer,) * 4, types.boolean)

    def emit(context, builder, signature, arguments):
        sums, bias, out = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 4, 7))
        start, pitch, step = arguments[1:4]
        rows, tiles = arguments[5:7]
        out_start, plane, width, columns, below = arguments[8:]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, sums.type.pointee, lanes)
        second = builder.select(below, columns, ir.Constant(_INT, 0))
        masks = [[vectors.between(o, count) for o in (0, lanes)] for count in (columns, second)]
        check = cgutils.alloca_once(builder, vectors.type)
        builder.store(vectors.zero, check)
        with cgutils.for_range(builder, rows) as loop:
            source = _at(builder, sums, start, builder.mul(loop.index, pitch))
            entries = [vectors.load(_at(builder, source, builder.mul(step, ir.Constant(_INT, e)))) for e in range(PRODUCTS)]
            half = [_untransform(builder, entries[b::4]) for b in range(4)]
            added = vectors.splat(builder.load(_at(builder, bias, loop.index)))
            target = _at(builder, out, out_start, builder.mul(loop.index, plane))
            for a in range(2):
                pair = [builder.fadd(value, added) for value in _untransform(builder, [column[a] for column in half])]
                for value in pair:  # 0 times infinity or NaN is NaN
                    builder.store(builder.fadd(builder.load(check), builder.fmul(value, vectors.zero)), check)
                for v, value in enumerate(_interleaved(builder, *pair)):
                    place = _at(builder, target, builder.mul(width, ir.Constant(_INT, a)), v * lanes)
                    vectors.store_masked(value, place, masks[a][v])
        total = builder.load(check)
        failed = builder.and_(builder.fcmp_unordered("uno", total, total), vectors.first(tiles))
        failed = builder.bitcast(failed, ir.IntType(lanes))
        return builder.icmp_unsigned("==", failed, ir.Constant(failed.type, 0))

    return signature, emit


@jit
def runs_of_tiles(first, last, across, tiles):
    """The tiles first..last in runs of up to LANES neighbours: (runs, 4), image, row, column and number of each run.

    An image has `tiles` tiles in rows of `across`.
    """
    runs = np.empty((last - first, 4), np.int64)
    count = 0
    while first < last:
        column = first % across
        run = min(LANES, across - column, last - first)
        runs[count, 0], runs[count, 1], runs[count, 2], runs[count, 3] = first // tiles, first % tiles // across, column, run
        count += 1
        first += run
    return runs[:count]


@jit
def transform_weight(weight, offset, by_output, by_channel, by_row, by_column, outputs, channels, out):
    """out[e, c, r] = entry e of G w G^T for `outputs` <= ROWS output channels r; out (PRODUCTS, C, ROWS), 0 beyond them.

    Tap (i, j) of r and c is weight[offset + r * by_output + c * by_channel + i * by_row + j * by_column].
    """
    taps = np.zeros((9, ROWS), weight.dtype)
    half = np.empty((12, ROWS), weight.dtype)
    for c in range(channels):
        for i in range(3):
            for j in range(3):
                first = offset + c * by_channel + i * by_row + j * by_column
                for r in range(outputs):
                    taps[3 * i + j, r] = weight[first + r * by_output]
        for j in range(3):
            _transform_taps(taps[j], taps[3 + j], taps[6 + j], half[j], half[3 + j], half[6 + j], half[9 + j])
        for a in range(4):
            _transform_taps(half[3 * a], half[3 * a + 1], half[3 * a + 2],
                            out[4 * a, c], out[4 * a + 1, c], out[4 * a + 2, c], out[4 * a + 3, c])


@jit
def _transform_taps(first, second, third, a, b, c, d):
    """(a, b, c, d) = G (first, second, third), for ROWS outputs."""
    for r in range(ROWS):
        outer, inner = first[r] + third[r], second[r]
        a[r], b[r], c[r], d[r] = first[r], (outer + inner) / 2, (outer - inner) / 2, third[r]
