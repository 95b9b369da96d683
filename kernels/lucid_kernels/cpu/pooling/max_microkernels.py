"""Maxima of a row of windows of any size, in LLVM IR: the best elements and their positions stay in registers.

A loop that runs along the row for one tap after the other reads and writes both each time, and takes 3 to 10 times as long.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep
from ..simd.lanes import Plane, Scalars, for_steps

# Elements from those that are computed to those that are prefetched. With masked loads the processor does not fetch ahead.
_AHEAD = 512
_LINE = 8  # positions in a line of the cache
# Vectors of windows at a time: each waits for its comparisons.
_VECTORS = 2
_NUMBER = ir.IntType(32)


def _make_max_row(stride: int) -> Any:
    """`max_row` for windows that are `stride` columns apart."""

    @intrinsic
    def max_row(typing, x, plane, height, width, kh, kw, dh, dw, top, left, y, indices, target, out_width):
        """y[target + j] = the maximum over a below `kh` and b below `kw` of the pixels (top + a * dh, stride * j + b * dw - left)
        of the plane of x from `plane` on, and indices[target + j] its position in the plane.

        The first of equal ones, but the last NaN; 32 bits hold the positions. A window with no pixel inside leaves -inf and -1.
        Nothing is checked.
        """
        integer = types.int64
        signature = types.void(x, *(integer,) * 9, y, indices, integer, integer)

        def emit(context, builder, signature, arguments):
            pixels, y, indices = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 10, 11))
            height, width, kh, kw, dh, dw, top, left = arguments[2:10]
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, pixels.type.pointee, lanes)
            integers = ir.VectorType(_NUMBER, lanes)
            plane = Plane(vectors, gep(builder, pixels, arguments[1]), height, width)
            results = Plane(vectors, y, height, arguments[13])
            steps = ir.Constant(integers, list(range(0, stride * lanes, stride)))
            sums = [(cgutils.alloca_once(builder, vectors.type), cgutils.alloca_once(builder, integers)) for _ in range(_VECTORS)]
            positions = Scalars(builder, lanes)

            def look(row: Any, column: Any, best: Any, where: Any) -> None:
                """Compare with the pixels of a row from `column` on."""
                parts = []
                for part in range(stride):
                    start = builder.add(column, constant(part * lanes))
                    place = gep(builder, plane.start, builder.mul(row, width), start)
                    parts.append(vectors.load_masked(place, plane.inside(start)))
                value = vectors.every(parts)
                columns = builder.add(plane.splat(column), steps)
                inside = builder.icmp_unsigned("<", columns, plane.limit)
                before, place = builder.load(best), builder.load(where)
                better = builder.or_(builder.fcmp_unordered("uno", value, value),
                                     builder.icmp_signed("<", place, ir.Constant(integers, [0] * lanes)))
                better = builder.and_(builder.or_(builder.fcmp_ordered(">", value, before), better), inside)
                builder.store(builder.select(better, value, before), best)
                position = builder.add(plane.splat(builder.mul(row, width)), columns)
                builder.store(builder.select(better, position, place), where)

            def prefetch(j: Any) -> None:
                """What will be read and written."""
                below = builder.sub(builder.mul(builder.add(top, builder.mul(kh, dh)), width), left)
                for part in range(stride * stride):  # of as many rows as the windows move down
                    further = builder.mul(j, constant(stride * stride))
                    vectors.prefetch(gep(builder, plane.start, below, further, part * lanes + _AHEAD), write=False)
                vectors.prefetch(gep(builder, y, arguments[12], j, _AHEAD))
                for line in range(0, lanes, _LINE):
                    vectors.prefetch(gep(builder, indices, arguments[12], j, _AHEAD + line))

            with for_steps(builder, arguments[13], _VECTORS * lanes) as (start, _):
                starts = [builder.add(start, constant(number * lanes)) for number in range(_VECTORS)]
                for j, (best, where) in zip(starts, sums):
                    prefetch(j)
                    builder.store(ir.Constant(vectors.type, [float("-inf")] * lanes), best)
                    builder.store(ir.Constant(integers, [-1] * lanes), where)
                with cgutils.for_range(builder, kh) as down:
                    row = builder.add(top, builder.mul(down.index, dh))
                    with builder.if_then(builder.icmp_unsigned("<", row, height)), cgutils.for_range(builder, kw) as across:
                        column = builder.sub(builder.mul(across.index, dw), left)
                        for j, slots in zip(starts, sums):
                            look(row, builder.add(column, builder.mul(j, constant(stride))), *slots)
                for j, (best, where) in zip(starts, sums):
                    mask = results.inside(j)
                    whole = builder.icmp_signed("<=", builder.add(j, constant(lanes)), arguments[13])
                    vectors.store_reached(builder.load(best), gep(builder, y, arguments[12], j), mask, whole)
                    place = builder.sext(builder.load(where), positions.type)
                    positions.store_reached(place, gep(builder, indices, arguments[12], j), mask, whole)
            return context.get_dummy_value()

        return signature, emit

    return max_row


max_row, max_row_2, max_row_3, max_row_4 = (_make_max_row(stride) for stride in range(1, 5))
