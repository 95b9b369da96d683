"""Loops over the rows of a tile, in LLVM IR: a sum or a maximum across a row costs as much as the row itself."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.ir import Vectors, data_of, gep, splat_index
from ..simd.pointer import lanes_of

_SUMS = 4  # vectors that `weighted_sum` adds up side by side
_ROWS_LATER = 4  # rows from one that is written to the one that is prefetched


def _over_rows(vectors: Vectors, width: Any, starts: list[list[Any]], first: Any, step: Callable[[Any, list[Any]], Any],
               combine: Callable[[Any, Any], Any]) -> Any:
    """One vector of what `step` makes of each row: starts[r] point to the first elements of the operands of row r.

    There are as many rows as a vector has lanes. `combine` brings the lanes of a row together.
    """
    builder, lanes = vectors.builder, vectors.type.count
    totals = [cgutils.alloca_once(builder, vectors.type) for _ in starts]
    for total in totals:
        builder.store(first, total)
    whole, rest = (divide(width, constant(lanes)) for divide in (builder.udiv, builder.urem))
    with cgutils.for_range(builder, whole) as loop:
        j = builder.mul(loop.index, constant(lanes))
        for total, operands in zip(totals, starts):
            builder.store(step(builder.load(total), [vectors.load(gep(builder, p, j)) for p in operands]), total)
    with builder.if_then(builder.icmp_unsigned("!=", rest, constant(0))):
        j, mask = builder.mul(whole, constant(lanes)), vectors.first(rest)
        for total, operands in zip(totals, starts):
            values = step(builder.load(total), [vectors.load_masked(gep(builder, p, j), mask) for p in operands])
            builder.store(builder.select(mask, values, builder.load(total)), total)
    return vectors.across([builder.load(total) for total in totals], combine)


def _larger(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """The larger lanes, those of b where one is NaN: one instruction, a quarter of those of a maximum that passes NaN on."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic
def row_maxima(typing, scores, row, width, scale, maxima):
    """maxima[r] = the largest of scores[r, :width] * scale that is not NaN, or -inf, for r from `row` on; unchecked.

    As many rows as a vector has lanes. All are C-contiguous.
    """

    def emit(context, builder, signature, arguments):
        kinds = signature.args
        _, row, width, scale, _ = arguments
        source, target = (data_of(context, builder, kinds[i], arguments[i]) for i in (0, 4))
        pitch = cgutils.unpack_tuple(builder, context.make_array(kinds[0])(context, builder, arguments[0]).shape)[1]
        lanes = lanes_of(kinds[0])
        vectors = Vectors(builder, source.type.pointee, lanes)
        starts = [[gep(builder, source, builder.mul(builder.add(row, constant(r)), pitch))] for r in range(lanes)]
        factor = vectors.splat(scale)
        largest = _over_rows(vectors, width, starts, ir.Constant(vectors.type, [float("-inf")] * lanes),
                             lambda total, values: _larger(builder, builder.fmul(values[0], factor), total),
                             lambda a, b: _larger(builder, a, b))
        vectors.store(largest, gep(builder, target, row))
        return context.get_dummy_value()

    return types.void(scores, types.int64, types.int64, scores.dtype, maxima), emit


@intrinsic
def row_dots(typing, a, a_pitch, b, b_pitch, width, dots):
    """dots[r] = sum over j of a[r * a_pitch + j] * b[r * b_pitch + j], for as many rows as a vector has lanes; unchecked."""

    def emit(context, builder, signature, arguments):
        a, a_pitch, b, b_pitch, width, dots = arguments
        vectors = Vectors(builder, a.type.pointee, lanes_of(signature.args[0]))
        starts = [[gep(builder, x, builder.mul(pitch, constant(r))) for x, pitch in ((a, a_pitch), (b, b_pitch))]
                  for r in range(vectors.type.count)]
        contract = ("contract",)
        sums = _over_rows(vectors, width, starts, vectors.zero,
                          lambda total, values: builder.fadd(total, builder.fmul(*values, flags=contract), flags=contract),
                          builder.fadd)
        vectors.store(sums, dots)
        return context.get_dummy_value()

    return types.void(a, types.int64, b, types.int64, types.int64, dots), emit


@intrinsic
def weighted_sum(typing, weights, factor, rows, pitch, width, total):
    """total[:width] = factor * the sum over r of weights[r] * row r, `pitch` elements after the one before; unchecked.

    `rows` and `total` are pointers. As many columns at a time as keep the arithmetic busy while each sum waits for the last.
    """
    signature = types.void(weights, weights.dtype, rows, types.int64, types.int64, total)

    def emit(context, builder, signature, arguments):
        kind = signature.args[0]
        _, factor, rows, pitch, width, total = arguments
        weights, lanes = data_of(context, builder, kind, arguments[0]), lanes_of(kind)
        count = context.make_array(kind)(context, builder, arguments[0]).nitems
        vectors = Vectors(builder, weights.type.pointee, lanes)
        factor = vectors.splat(factor)

        def columns(first: Any, offsets: Sequence[Any], mask: Any) -> None:
            sums = [cgutils.alloca_once_value(builder, vectors.zero) for _ in offsets]
            starts = [builder.add(first, offset) for offset in offsets]
            with cgutils.for_range(builder, count, intp=I64) as row:
                weight, start = vectors.splat(builder.load(gep(builder, weights, row.index))), builder.mul(row.index, pitch)
                for slot, column in zip(sums, starts):
                    vectors.add_product(slot, weight, vectors.load_part(gep(builder, rows, start, column), mask))
            for slot, column in zip(sums, starts):
                result, target = builder.fmul(builder.load(slot), factor), gep(builder, total, column)
                if mask is None:
                    vectors.store(result, target)
                else:
                    vectors.store_masked(result, target, mask)

        offsets = [constant(number * lanes) for number in range(_SUMS)]
        start = constant(0)
        for part in (offsets, offsets[:1]):
            size = constant(len(part) * lanes)
            stop = builder.mul(builder.udiv(width, size), size)
            with cgutils.for_range_slice(builder, start, stop, size, intp=I64) as (first, _):
                columns(first, part, None)
            start = stop
        with builder.if_then(builder.icmp_signed("<", start, width)):
            columns(start, offsets[:1], vectors.first(builder.sub(width, start)))
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def scale_rows(typing, rows, first, last, factors):
    """rows[r] *= factors[r] for r from `first` to `last`; the rows are C-contiguous, of whole vectors."""

    def emit(context, builder, signature, arguments):
        kinds = signature.args
        data, factors = (data_of(context, builder, kinds[i], arguments[i]) for i in (0, 3))
        width = cgutils.unpack_tuple(builder, context.make_array(kinds[0])(context, builder, arguments[0]).shape)[1]
        lanes = lanes_of(kinds[0])
        vectors = Vectors(builder, data.type.pointee, lanes)
        one = constant(1)
        with cgutils.for_range_slice(builder, arguments[1], arguments[2], one, intp=I64) as (r, _):
            factor, start = vectors.splat(builder.load(gep(builder, factors, r))), builder.mul(r, width)
            with cgutils.for_range_slice(builder, constant(0), width, constant(lanes), intp=I64) as (j, _):
                target = gep(builder, data, start, j)
                vectors.store(builder.fmul(vectors.load(target), factor), target)
        return context.get_dummy_value()

    return types.void(rows, types.int64, types.int64, factors), emit


@intrinsic
def fill_hidden(typing, scores, first, last, length, visible, step, seen, scale, fill):
    """scores[r, c] = scores[r, c] * scale where c < min(visible + r * step, seen), and `fill` up to `length`, for r from `first`
    to `last`; unchecked.

    The rows are C-contiguous, `length` is whole vectors. What is filled may be anything, NaN too.
    """

    def emit(context, builder, signature, arguments):
        kind = signature.args[0]
        scores, first, last, length, visible, step, seen, scale, fill = arguments
        data = data_of(context, builder, kind, scores)
        pitch = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, scores).shape)[1]
        lanes = lanes_of(kind)
        vectors = Vectors(builder, data.type.pointee, lanes)
        lane = ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(lanes)))
        factor, fill, zero, one = vectors.splat(scale), vectors.splat(fill), constant(0), constant(1)

        with cgutils.for_range_slice(builder, first, last, one, intp=I64) as (r, _):
            count = builder.add(visible, builder.mul(r, step))
            count = splat_index(builder, builder.select(builder.icmp_signed("<", count, seen), count, seen), lanes)
            start = builder.mul(r, pitch)
            with cgutils.for_range_slice(builder, zero, length, constant(lanes), intp=I64) as (j, _):
                target = gep(builder, data, start, j)
                shown = builder.icmp_signed("<", builder.add(splat_index(builder, j, lanes), lane), count)
                vectors.store(builder.select(shown, builder.fmul(vectors.load(target), factor), fill), target)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(scores, integer, integer, integer, integer, integer, integer, scores.dtype, scores.dtype), emit


@intrinsic
def keep_run(typing, run, rows, offset):
    """Copy a run of whole vectors to an array of rows, from `offset` on as if that were flat; unchecked.

    The same columns some rows later are prefetched: a store waits for its line. That takes a third off what keeping them costs.
    Non-temporal stores took longer.
    """

    def emit(context, builder, signature, arguments):
        kinds = signature.args
        source, target = (data_of(context, builder, kinds[i], arguments[i]) for i in (0, 1))
        count = context.make_array(kinds[0])(context, builder, arguments[0]).nitems
        pitch = cgutils.unpack_tuple(builder, context.make_array(kinds[1])(context, builder, arguments[1]).shape)[2]
        lanes = lanes_of(kinds[0])
        vectors = Vectors(builder, source.type.pointee, lanes)
        later = builder.mul(pitch, constant(_ROWS_LATER))
        target = gep(builder, target, arguments[2])
        with cgutils.for_range_slice(builder, constant(0), count, constant(lanes), intp=I64) as (j, _):
            vectors.prefetch(gep(builder, target, j, later))
            vectors.store(vectors.load(gep(builder, source, j)), gep(builder, target, j))
        return context.get_dummy_value()

    return types.void(run, rows, types.int64), emit
