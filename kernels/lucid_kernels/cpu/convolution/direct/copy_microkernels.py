"""Copies for the direct convolutions, in LLVM IR: planes shifted, with zeros beside them, or interleaved, two to one; rows of the
weight as the columns of a block.

Masks do all of it: row by row, with sides that are set to 0 afterwards, a plane of 8x8 takes five times as long.
"""
from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import I64, constant, intrinsic
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep, splat_index
from .microkernels import ROWS

_LANE = ir.IntType(32)


@intrinsic
def copy_shifted(typing, source, source_start, source_pitch, target, target_start, target_pitch, planes, first, last, size,
                 width, left, right):
    """Copy `planes` planes of `size` elements: for p below `planes` and i below `size`, unchecked,

    target[target_start + p * target_pitch + i] = source[source_start + p * source_pitch + i],

    but elements before `first` and from `last` on, and the first `left` and last `right` of each row of `width`, are 0, and
    their source is not touched.
    """
    integer = types.int64
    signature = types.void(source, integer, integer, target, *(integer,) * 9)

    def emit(context, builder, signature, arguments):
        source = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
        target = gep(builder, data_of(context, builder, signature.args[3], arguments[3]), arguments[4])
        source_pitch, target_pitch, planes = (arguments[i] for i in (2, 5, 6))
        first, last, size, width, left, right = arguments[7:]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, source.type.pointee, lanes)
        integers = ir.VectorType(_LANE, lanes)
        splat = functools.partial(splat_index, builder, lanes=lanes)

        def from_to(values: Any, start: Any, length: Any) -> Any:
            """The lanes whose values are in start..start + length."""
            return builder.icmp_unsigned("<", builder.sub(values, start), length)

        def remainder(values: Any) -> Any:
            """`values`, below 2 * width, modulo width."""
            return builder.select(builder.icmp_unsigned("<", values, across), values, builder.sub(values, across))

        across, start, begin, end = splat(width), splat(first), splat(left), splat(size)
        inside, columns = splat(builder.sub(last, first)), splat(builder.sub(builder.sub(width, left), right))
        step = splat(builder.urem(constant(lanes), width))
        lane = ir.Constant(integers, list(range(lanes)))
        column = cgutils.alloca_once(builder, integers)
        # lane modulo width: a division of integers is one of each lane, 200 cycles in all.
        parts = ir.VectorType(ir.FloatType(), lanes)
        quotients = builder.fptoui(builder.fdiv(builder.uitofp(lane, parts), builder.uitofp(across, parts)), integers)
        builder.store(builder.sub(lane, builder.mul(quotients, across)), column)

        with cgutils.for_range_slice(builder, constant(0), size, constant(lanes), intp=I64) as (i, _):
            position, at = builder.add(splat(i), lane), builder.load(column)
            builder.store(remainder(builder.add(at, step)), column)
            mask = builder.and_(from_to(position, start, inside), from_to(at, begin, columns))
            # Whole vectors with a mask too: a loop of their own, with stores of a whole vector, took twice as long.
            written = builder.icmp_unsigned("<", position, end)
            whole = builder.icmp_signed("<=", builder.add(i, constant(lanes)), size)
            with cgutils.for_range(builder, planes) as plane:
                values = vectors.load_masked(gep(builder, source, builder.mul(plane.index, source_pitch), i), mask)
                vectors.store_reached(values, gep(builder, target, builder.mul(plane.index, target_pitch), i), written, whole)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def interleave_rows(typing, even, even_start, evens, odd, odd_start, odds, target, target_start, pitch, rows, width):
    """Make rows of `width` elements, `pitch` apart, of rows of `evens` and of `odds` elements without gaps: unchecked,

    target[target_start + r * pitch + 2 * i] = even[even_start + r * evens + i], and odd beside it at + 2 * i + 1.

    What is beyond `evens` or `odds` is 0: with 0 of them, every second column.
    """
    integer = types.int64
    signature = types.void(even, integer, integer, odd, integer, integer, target, *(integer,) * 4)

    def emit(context, builder, signature, arguments):
        even, odd, target = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[i + 1])
                             for i in (0, 3, 6))
        counts, (pitch, rows, width) = (arguments[2], arguments[5]), arguments[8:]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, target.type.pointee, lanes)
        with cgutils.for_range_slice(builder, constant(0), width, constant(2 * lanes), intp=I64) as (j, _):
            first = builder.udiv(j, constant(2))
            masks = [vectors.first(builder.sub(count, first)) for count in counts]
            left = [builder.sub(width, builder.add(j, constant(half * lanes))) for half in range(2)]
            written = [(vectors.first(some), builder.icmp_signed(">=", some, constant(lanes))) for some in left]
            with cgutils.for_range(builder, rows) as row:
                evens, odds = (vectors.load_masked(gep(builder, part, builder.mul(row.index, count), first), mask)
                               for part, count, mask in zip((even, odd), counts, masks))
                place = gep(builder, target, builder.mul(row.index, pitch), j)
                for half, reached in enumerate(written):
                    vectors.store_reached(vectors.interleaved(evens, odds, half), gep(builder, place, half * lanes), *reached)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def pack_block(typing, source, source_start, pitch, target, target_start, count):
    """Transpose ROWS rows of `count` elements, `pitch` apart: for r below ROWS and k below `count`, unchecked,

    target[target_start + k * ROWS + r] = source[source_start + r * pitch + k].
    """
    integer = types.int64
    signature = types.void(source, integer, integer, target, integer, integer)

    def emit(context, builder, signature, arguments):
        source, target = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[i + 1])
                          for i in (0, 3))
        pitch, count = arguments[2], arguments[5]
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = Vectors(builder, source.type.pointee, lanes)

        def columns(k: Any, mask: Any) -> list[Any]:
            """The elements k..k + lanes of all rows, column by column: each round deals the rows out like two halves of a pack of
            cards.
            """
            pointers = [gep(builder, source, builder.mul(pitch, constant(r)), k) for r in range(ROWS)]
            dealt, half = [vectors.load_part(place, mask) for place in pointers], ROWS // 2
            for _ in range(half.bit_length()):
                pairs = zip(dealt[:half], dealt[half:])
                dealt = [vectors.interleaved(one, other, part) for one, other in pairs for part in range(2)]
            return dealt

        whole = builder.and_(count, constant(-lanes))
        with cgutils.for_range_slice(builder, constant(0), whole, constant(lanes), intp=I64) as (k, _):
            place = gep(builder, target, builder.mul(k, constant(ROWS)))
            for number, column in enumerate(columns(k, None)):
                vectors.store(column, gep(builder, place, number * lanes))
        rest = builder.sub(count, whole)
        with builder.if_then(builder.icmp_signed(">", rest, constant(0))):
            place, left = (gep(builder, target, builder.mul(whole, constant(ROWS))),
                           builder.mul(rest, constant(ROWS)))
            for number, column in enumerate(columns(whole, vectors.first(rest))):
                written = vectors.first(builder.sub(left, constant(number * lanes)))
                vectors.store_masked(column, gep(builder, place, number * lanes), written)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def pick_columns(typing, source, source_start, pitch, columns, first, count, target, target_start, ahead):
    """Transpose some columns of ROWS rows, `pitch` apart: for r below ROWS and k below `count`, unchecked,

    target[target_start + k * ROWS + r] = source[source_start + r * pitch + columns[first + k]].

    It prefetches as much of rows without gaps `ahead` elements further on. For the few columns of a phase: of all, by
    `pack_block`, from where they are picked, it took 1.5 to 3 times as long.
    """
    integer = types.int64
    signature = types.void(source, integer, integer, columns, integer, integer, target, integer, integer)

    def emit(context, builder, signature, arguments):
        source, columns, target = (gep(builder, data_of(context, builder, signature.args[i], arguments[i]), arguments[place])
                                   for i, place in ((0, 1), (3, 4), (6, 7)))
        vectors = Vectors(builder, source.type.pointee, ROWS)
        rows = [gep(builder, source, builder.mul(arguments[2], constant(r))) for r in range(ROWS)]
        with cgutils.for_range(builder, arguments[5]) as loop:
            number, column = builder.load(gep(builder, columns, loop.index)), vectors.zero
            following = gep(builder, source, arguments[8], builder.mul(number, constant(ROWS)))
            vectors.prefetch(following, write=False)
            for r, row in enumerate(rows):
                column = builder.insert_element(column, builder.load(gep(builder, row, number)), ir.Constant(_LANE, r))
            vectors.store(column, gep(builder, target, builder.mul(loop.index, constant(ROWS))))
        return context.get_dummy_value()

    return signature, emit


def _make_window_copy(stride: int) -> Any:
    """`copy_windows` for a stride of 1, 2 or 4 along the rows."""

    @intrinsic
    def copy_windows(typing, source, source_start, row_pitch, source_pitch, offset, width, target, target_start, target_pitch,
                     planes, rows, first, last, count):
        """Copy what one tap meets: for p below `planes`, r below `rows` and i below `count`, unchecked,

        target[target_start + p * target_pitch + r * count + i] = source[source_start + p * source_pitch + r * row_pitch +
        stride * i],

        but rows before `first` and from `last` on, and columns whose stride * i + offset is not in 0..width, are 0, and their
        source is not touched.
        """
        integer = types.int64
        signature = types.void(source, *(integer,) * 5, target, *(integer,) * 7)

        def emit(context, builder, signature, arguments):
            source = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
            target = gep(builder, data_of(context, builder, signature.args[6], arguments[6]), arguments[7])
            row_pitch, source_pitch, offset, width = arguments[2:6]
            target_pitch, planes, rows, first, last, count = arguments[8:]
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, source.type.pointee, lanes)
            integers = ir.VectorType(_LANE, lanes)
            splat = functools.partial(splat_index, builder, lanes=lanes)

            def lines(start: Any, stop: Any) -> Any:
                return cgutils.for_range_slice(builder, start, stop, constant(1), intp=I64)

            limit, lane = splat(width), ir.Constant(integers, list(range(lanes)))
            with cgutils.for_range(builder, planes) as plane:
                from_plane = gep(builder, source, builder.mul(plane.index, source_pitch))
                to_plane = gep(builder, target, builder.mul(plane.index, target_pitch))
                with cgutils.for_range_slice(builder, constant(0), count, constant(lanes), intp=I64) as (i, _):
                    left = builder.sub(count, i)
                    written = builder.icmp_signed("<", lane, splat(left)), builder.icmp_signed(">=", left, constant(lanes))
                    ahead = builder.mul(i, constant(stride))
                    masks = [builder.icmp_unsigned("<", builder.add(splat(builder.add(builder.add(ahead, offset),
                                                                                      constant(part * lanes))), lane), limit)
                             for part in range(stride)]

                    def place(row: Any) -> Any:
                        return gep(builder, to_plane, builder.mul(row, count), i)

                    for start, stop in ((constant(0), first), (last, rows)):
                        with lines(start, stop) as (row, _):
                            vectors.store_reached(vectors.zero, place(row), *written)
                    with lines(first, last) as (row, _):
                        pointer = gep(builder, from_plane, builder.mul(row, row_pitch), ahead)
                        parts = [vectors.load_masked(gep(builder, pointer, part * lanes), mask)
                                 for part, mask in enumerate(masks)]
                        while len(parts) > 1:
                            parts = [vectors.every_second(*pair) for pair in zip(parts[::2], parts[1::2])]
                        vectors.store_reached(parts[0], place(row), *written)
            return context.get_dummy_value()

        return signature, emit

    return copy_windows


copy_windows, copy_second_windows, copy_fourth_windows = (_make_window_copy(stride) for stride in (1, 2, 4))
