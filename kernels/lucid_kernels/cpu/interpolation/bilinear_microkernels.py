"""The four elements around each of many points of a plane, in LLVM IR: their weighted sums, and products with them.

Two elements of a row are one load, and shuffles bring those of a vector of points side by side. Elements read one by one, or by
gather instructions, take 2 to 3 times as long.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep, shuffle


def _sides(vectors: Vectors, row: Any, offsets: list[Any]) -> list[Any]:
    """The elements of a row at the offsets, and those to their right, as two vectors."""
    builder, count = vectors.builder, vectors.type.count
    pair = ir.VectorType(vectors.type.element, 2).as_pointer()
    parts = [builder.load(builder.bitcast(gep(builder, row, offset), pair), align=vectors.alignment) for offset in offsets]
    while len(parts) > 2:
        whole = list(range(2 * parts[0].type.count))
        parts = [shuffle(builder, parts[at], parts[at + 1], whole) for at in range(0, len(parts), 2)]
    return [shuffle(builder, parts[0], parts[1], list(range(side, 2 * count, 2))) for side in (0, 1)]


def _corners(vectors: Vectors, x: Any, offsets: Any, width: Any) -> list[Any]:
    """The corners top left, top right, bottom left, bottom right of a vector of points, whose offsets are at a pointer."""
    builder = vectors.builder
    wide = [builder.sext(builder.load(gep(builder, offsets, lane)), I64) for lane in range(vectors.type.count)]
    return [*_sides(vectors, x, wide), *_sides(vectors, gep(builder, x, width), wide)]


def _for_points(context: Any, builder: Any, kind: Any, count: Any, emit: Any) -> None:
    """`emit(vectors, first, mask)` for the points of each vector; the mask has those below `count`."""
    vectors = Vectors(builder, context.get_data_type(kind), VECTOR_BYTES // (kind.bitwidth // 8))
    step = constant(vectors.type.count)
    with cgutils.for_range_slice(builder, constant(0), count, step, intp=I64) as (first, _):
        emit(vectors, first, vectors.first(builder.sub(count, first)))


@intrinsic
def read_corners(typing, x, offsets, width, weights, pitch, count, y):
    """y[p] = the sum over k of weights[k * pitch + p] * corner k of point p, for p below `count`.

    The corners are x[offsets[p]], the element after it, and both `width` further on. Flat arrays; offsets are int32 and good to
    the end of the vector of the last point; nothing is checked.
    """
    signature = types.void(x, offsets, types.int64, weights, types.int64, types.int64, y)

    def emit(context, builder, signature, arguments):
        x, offsets, weights, y = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 3, 6))

        def points(vectors: Vectors, first: Any, mask: Any) -> None:
            total = None
            for k, corner in enumerate(_corners(vectors, x, gep(builder, offsets, first), arguments[2])):
                weight = vectors.load(gep(builder, weights, builder.mul(arguments[4], constant(k)), first))
                product = builder.fmul(weight, corner, flags=("contract",))
                total = product if total is None else builder.fadd(total, product, flags=("contract",))
            vectors.store_masked(total, gep(builder, y, first), mask)

        _for_points(context, builder, signature.args[0].dtype, arguments[5], points)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def add_corner_products(typing, g, x, offsets, width, count, sums, pitch):
    """sums[k * pitch + p] += g[p] * corner k of point p, for p below `count`: see `read_corners`."""
    signature = types.void(g, x, offsets, types.int64, types.int64, sums, types.int64)

    def emit(context, builder, signature, arguments):
        g, x, offsets, sums = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 2, 5))

        def points(vectors: Vectors, first: Any, mask: Any) -> None:
            slope = vectors.load_masked(gep(builder, g, first), mask)
            for k, corner in enumerate(_corners(vectors, x, gep(builder, offsets, first), arguments[3])):
                total = gep(builder, sums, builder.mul(arguments[6], constant(k)), first)
                product = builder.fmul(slope, corner, flags=("contract",))
                vectors.store(builder.fadd(vectors.load(total), product, flags=("contract",)), total)

        _for_points(context, builder, signature.args[1].dtype, arguments[4], points)
        return context.get_dummy_value()

    return signature, emit
