"""Max pooling over 2x2 windows that lie side by side, in LLVM IR: two half vectors of windows at a time.

A half vector is a stretch of a row of windows, and reads one vector from each of two rows of pixels. Two of them fill the
registers, whether they are neighbours in a wide row or rows of a narrow plane: so 7 windows a row take a quarter of the time
that they take where vectors run along one row only.

Vectors are loaded whole where the array goes on for long enough, and lanes that belong to no window are not stored. With masked
loads the processor does not fetch ahead: 3 times as long for 16 MiB. Masked stores cost nothing with AVX-512.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep, shuffle, splat, splat_index
from ..simd.lanes import Scalars

_LINE = 64  # bytes of a line of the cache
#: The winner of a window whose gradient ReLU stops; of others it is 0 to 3, the position of the maximum in the window.
CLIPPED = 4


class _Halves:
    """Vectors of elements or integers, made of two halves that are loaded and stored apart."""

    def __init__(self, builder: ir.IRBuilder, element: ir.Type, lanes: int) -> None:
        self.builder = builder
        self.lanes, self.half = lanes, lanes // 2
        self.whole = Vectors(builder, element, lanes)
        self.elements = Vectors(builder, element, self.half)
        self.positions = Scalars(builder, self.half)
        #: integers as wide as the elements: positions within a window
        self.number = ir.IntType(8 * self.whole.alignment)

    def part(self, vector: Any, half: int) -> Any:
        return shuffle(self.builder, vector, vector, range(half * self.half, (half + 1) * self.half))

    def odd(self, one: Any, other: Any) -> Any:
        """The lanes 1, 3, 5, ... of two vectors, one after the other."""
        return shuffle(self.builder, one, other, range(1, 2 * self.lanes, 2))

    def first(self, count: Any, lanes: int) -> Any:
        """A mask of the first `count` of `lanes` lanes."""
        indices = ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(lanes)))
        return self.builder.icmp_signed("<", indices, splat_index(self.builder, count, lanes))

    def loaded(self, whole: Any, sources: list[tuple[Any, Any]]) -> list[Any]:
        """The vectors at `sources`, (pointer, mask) each: all lanes where the bit `whole` is set, else those of the mask."""
        with self.builder.if_else(whole) as (then, otherwise):
            with then:
                unmasked = [self.whole.load(pointer) for pointer, _ in sources]
                from_whole = self.builder.block
            with otherwise:
                masked = [self.whole.load_masked(pointer, mask) for pointer, mask in sources]
                from_masked = self.builder.block
        results = []
        for one, other in zip(unmasked, masked):
            results.append(self.builder.phi(self.whole.type))
            results[-1].add_incoming(one, from_whole)
            results[-1].add_incoming(other, from_masked)
        return results


@intrinsic
def max_of_halves(typing, x, starts, width, counts, whole, relu, y, targets, indices, positions):
    """Maxima and their positions for two stretches of counts[h] windows of 2x2, at most half a vector each. Unchecked.

    Those of stretch h begin at x[starts[h]] and, `width` elements on, in the row below; with `whole`, x has a whole vector of
    elements from there on. The maxima go to y[targets[h]:], their positions, counted from x[starts[h]] and with positions[h]
    added, to indices[targets[h]:]. The first of equal elements is taken, but NaN before everything.

    If `indices` are bytes, the winners of the windows go there, 0 to 3 or CLIPPED, and with `relu` ReLU of the maxima to y.
    """
    pair = types.UniTuple(types.int64, 2)
    signature = types.void(x, pair, types.int64, pair, types.boolean, types.boolean, y, pair, indices, pair)

    def emit(context, builder, signature, arguments):
        x, y, indices = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 6, 8))
        starts, counts, targets, positions = (cgutils.unpack_tuple(builder, arguments[i]) for i in (1, 3, 7, 9))
        width, whole, relu = arguments[2], arguments[4], arguments[5]
        as_winners = signature.args[8].dtype == types.uint8
        vectors = _Halves(builder, x.type.pointee, VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8))
        masks = [vectors.first(builder.shl(count, constant(1)), vectors.lanes) for count in counts]
        rows = vectors.loaded(whole, [(gep(builder, x, start, offset), mask)
                                      for offset in (0, width) for start, mask in zip(starts, masks)])

        def larger(one: Any, other: Any, place: Any, other_place: Any) -> tuple[Any, Any]:
            better = builder.or_(builder.fcmp_ordered(">", other, one), builder.fcmp_unordered("uno", other, other))
            return builder.select(better, other, one), builder.select(better, other_place, place)

        def place(number: Any) -> Any:
            return splat(builder, number, vectors.lanes)

        if as_winners:
            below = ir.Constant(vectors.number, 2)
        else:
            below = builder.trunc(width, vectors.number) if vectors.number.width < 64 else width
        left, right = ir.Constant(vectors.number, 0), ir.Constant(vectors.number, 1)
        # The upper pair, the lower pair, then the two winners: the order that keeps the first of equal maxima.
        upper, lower = (larger(vectors.whole.every_second(*row), vectors.odd(*row), place(number),
                               place(builder.add(number, right))) for row, number in ((rows[:2], left), (rows[2:], below)))
        best, where = larger(upper[0], lower[0], upper[1], lower[1])
        integers = ir.VectorType(vectors.number, vectors.lanes)
        if as_winners:
            clips = splat(builder, relu, vectors.lanes)
            tests = (builder.fcmp_ordered(test, best, vectors.whole.zero) for test in ("<=", "<"))
            clipped, negative = (builder.and_(test, clips) for test in tests)
            best = builder.select(negative, vectors.whole.zero, best)
            where = builder.select(clipped, ir.Constant(integers, [CLIPPED] * vectors.lanes), where)
        else:
            where = builder.add(where, ir.Constant(integers, [2 * (lane % vectors.half) for lane in range(vectors.lanes)]))
        for half, (count, target, position) in enumerate(zip(counts, targets, positions)):
            reached = vectors.first(count, vectors.half), builder.icmp_signed(">=", count, constant(vectors.half))
            vectors.elements.store_reached(vectors.part(best, half), gep(builder, y, target), *reached)
            wide = vectors.part(where, half)
            if as_winners:
                winners = Scalars(builder, vectors.half, ir.IntType(8))
                winners.store_reached(builder.trunc(wide, winners.type), gep(builder, indices, target), *reached)
                continue
            if vectors.number.width < 64:
                wide = builder.sext(wide, ir.VectorType(I64, vectors.half))
            wide = builder.add(wide, splat(builder, position, vectors.half))
            vectors.positions.store_reached(wide, gep(builder, indices, target), *reached)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def spread_row(typing, g, winners, start, count, dx, upper, width):
    """Spread a row of `count` windows of 2x2 over two rows of pixels, unchecked: dx[upper:] and, `width` elements on, the next.

    Window i gives g[start + i] to the pixel that winners[start + i] says, and 0 to the others.

    With AVX2, whose masks of bytes are branches and whose masked stores are slow, half a vector of windows is spread at a time,
    and the last ones of a row with those before them: rows of 4 windows take a sixth of the time, of 7 or 14 a fourth, of 56 a
    third.
    """
    integer = types.int64
    signature = types.void(g, winners, integer, integer, dx, integer, integer)

    def emit(context, builder, signature, arguments):
        g, winners, dx = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4))
        start, count, upper, width = (arguments[i] for i in (2, 3, 5, 6))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        together = lanes if VECTOR_BYTES == 64 else lanes // 2
        pixels, windows = Vectors(builder, dx.type.pointee, lanes), Vectors(builder, g.type.pointee, together)
        bytes_ = Scalars(builder, together, ir.IntType(8))
        step = constant(together)

        def interleaved(even: Any, odd: Any, first: int) -> Any:
            lanes_of = [lane // 2 + lane % 2 * together for lane in range(first, first + lanes)]
            return shuffle(builder, even, odd, lanes_of)

        with cgutils.for_range_slice(builder, constant(0), count, step, intp=I64) as (i, _):
            if together < lanes:
                last = builder.sub(count, step)
                back = builder.icmp_signed("<", last, i)
                i = builder.select(builder.and_(back, builder.icmp_signed(">=", last, constant(0))), last, i)
            rest, pixel = builder.sub(count, i), builder.add(upper, builder.add(i, i))
            there = windows.first(rest)
            whole = builder.icmp_signed(">=", rest, step)
            value = windows.load_reached(gep(builder, g, start, i), there, whole)
            winner = bytes_.load_reached(gep(builder, winners, start, i), there, whole)
            parts = [builder.select(builder.icmp_unsigned("==", winner, ir.Constant(bytes_.type, [position] * together)), value,
                                    windows.zero) for position in range(4)]
            for row, (even, odd) in zip((constant(0), width), (parts[:2], parts[2:])):
                for first in range(0, 2 * together, lanes):
                    target, mask = gep(builder, dx, pixel, row, first), pixels.between(first, builder.add(rest, rest))
                    pixels.store_reached(interleaved(even, odd, first), target, mask, whole)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def prefetch_elements(typing, array, start, count):
    """Prefetch some elements of an array, as if flat, to read them; they may lie behind its end."""
    signature = types.void(array, types.int64, types.int64)

    def emit(context, builder, signature, arguments):
        pointer = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
        size = context.get_abi_sizeof(pointer.type.pointee)
        vectors = Vectors(builder, ir.DoubleType(), 1)  # whatever the elements: a declaration in a module has one type
        step = constant(_LINE // size)
        with cgutils.for_range_slice(builder, constant(0), arguments[2], step, intp=I64) as (at, _):
            vectors.prefetch(gep(builder, pointer, at), write=False)
        return context.get_dummy_value()

    return signature, emit
