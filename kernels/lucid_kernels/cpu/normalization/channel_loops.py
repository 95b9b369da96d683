"""How the loops of batch normalisation walk over neighbouring channels of (N, C, S), in LLVM IR.

They work on the rows of some channels in one sample, which lie in one piece of memory, then in the next one. A channel by
itself is short pieces in many pages, which the processor does not foresee, and which fall into few sets of the caches: planes
of 4x4 took 3 times as long. The loops prefetch what they read next. Nothing is checked.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, gep
from ..simd.nontemporal import streamed

# Bytes of neighbouring channels of a sample that one thread takes at once.
RUN = 4096
# Bytes of a row up to which the L1 cache keeps that of the next sample until it is read. Longer ones are prefetched RUN ahead.
_LONG = 1 << 14
# Half of a L2 cache of 1 MiB.
_HALF = 1 << 19
# Vectors of a step of sums, each with sums of its own: an addition takes 3 or 4 cycles.
_STEP = 2
# Vectors whose lanes are summed in their own dtype before float64 takes over: each lane adds a dozen elements or two.
_TILE = 16 * _STEP
_NONE, _ONE = constant(0), constant(1)
#: Bytes of the memory for the sums of a channel: two vectors of float64 for the lanes of float32, and two of float32.
SUM_BYTES = 6 * VECTOR_BYTES

#: What to do at a position of a row, with the mask of a vector that is not whole, else None.
Term = Callable[[Any, Any], Any]


class Channels:
    """The channels first..last of an array x (N, C, S), from the first sample to the last, or `backwards`.

    Backwards is for a second pass: what the first one read last is still in the cache.
    """

    def __init__(self, context: Any, builder: ir.IRBuilder, array_type: Any, array: Any, first: Any, last: Any,
                 *, backwards: bool = False) -> None:
        self.builder = builder
        self.size = array_type.dtype.bitwidth // 8
        self.lanes = VECTOR_BYTES // self.size
        self.vectors = Vectors(builder, context.get_value_type(array_type.dtype), self.lanes)
        shape = context.make_array(array_type)(context, builder, array).shape
        self.samples, self.all, self.length = cgutils.unpack_tuple(builder, shape)
        self.first, self.channels = first, builder.sub(last, first)
        self.start, self.pitch = builder.mul(first, self.length), builder.mul(self.all, self.length)
        if backwards:
            self.start = builder.add(self.start, builder.mul(builder.sub(self.samples, _ONE), self.pitch))
            self.pitch = builder.neg(self.pitch)
        long = builder.icmp_signed(">", self.length, constant(_LONG // self.size))
        # The rows of one sample follow each other, and a pitch further on is other memory: that took 1.2 times as long.
        alone = builder.icmp_signed("==", self.samples, _ONE)
        near = builder.select(alone, constant(RUN // self.size), self.pitch)
        self.ahead = builder.select(long, constant((-RUN if backwards else RUN) // self.size), near)

    def parameters(self, pointer: Any, channel: Any, *rows: int) -> list[Any]:
        """Vectors of the parameters of a channel, which are in some rows of a matrix (., C)."""
        builder, column = self.builder, self.builder.add(self.first, channel)
        pointers = (gep(builder, pointer, builder.mul(self.all, constant(row)), column) for row in rows)
        return [self.vectors.splat(builder.load(place)) for place in pointers]

    def load(self, pointer: Any, at: Any, mask: Any) -> Any:
        """The elements from `at` on."""
        self.vectors.prefetch(gep(self.builder, pointer, at, self.ahead), write=False)
        place = gep(self.builder, pointer, at)
        return self.vectors.load(place) if mask is None else self.vectors.load_masked(place, mask)

    def store(self, value: Any, pointer: Any, at: Any, mask: Any) -> None:
        """Write the elements from `at` on."""
        self.vectors.prefetch(gep(self.builder, pointer, at, self.ahead))
        place = gep(self.builder, pointer, at)
        if mask is None:
            self.vectors.store(value, place)
        else:
            self.vectors.store_masked(value, place, mask)

    def affine(self, value: Any, factor: Any, offset: Any) -> Any:
        """value * factor + offset, in one instruction where there is one: the same bits forward and backward."""
        return self.builder.fadd(self.builder.fmul(value, factor, flags=("contract",)), offset, flags=("contract",))

    def unless_positive(self, test: Any, value: Any) -> Any:
        """0 where test <= 0, else `value`, also where the test is NaN."""
        return self.builder.select(self.builder.fcmp_ordered("<=", test, self.vectors.zero), self.vectors.zero, value)

    # ---- results ---------------------------------------------------------------------------------------------------

    def fill(self, target: Any, prepare: Callable[[Any], Term], stream: Any, read: Any = None) -> None:
        """Fill the rows of `target` with the values that prepare(channel) gives, with non-temporal stores if `stream`.

        Then the channels that follow are also prefetched, of an array that alone is `read`: streamed stores leave room for them
        in the L2 cache. That took 0.85 of the time for 64 channels of 400 KB; with two arrays it changed nothing.
        """
        builder = self.builder
        following = self._following()
        # A view of bytes can have elements at other addresses than multiples of their size: then no vector is aligned.
        misplaced = builder.and_(builder.ptrtoint(target, I64), constant(self.size - 1))
        stream = builder.and_(stream, builder.icmp_unsigned("==", misplaced, _NONE))
        with cgutils.for_range(builder, self.samples) as sample:
            first = builder.add(self.start, builder.mul(sample.index, self.pitch))
            with cgutils.for_range(builder, self.channels) as channel:
                value = prepare(channel.index)
                start = builder.add(first, builder.mul(channel.index, self.length))
                head = builder.select(stream, self._to_boundary(gep(builder, target, start)), _NONE)
                self._fill_part(target, start, head, value)
                start, length = builder.add(start, head), builder.sub(self.length, head)
                whole = builder.and_(length, constant(-self.lanes))
                with builder.if_else(stream) as (then, otherwise):
                    with then, self._steps(start, whole) as at:
                        if read is not None:
                            self.vectors.prefetch(gep(builder, read, at, following), write=False, level=2)
                        place = builder.bitcast(gep(builder, target, at), self.vectors.type.as_pointer())
                        streamed(builder, builder.store(value(at, None), place, align=VECTOR_BYTES))
                    with otherwise, self._steps(start, whole) as at:
                        self.store(value(at, None), target, at, None)
                self._fill_part(target, builder.add(start, whole), builder.sub(length, whole), value)

    def _following(self) -> Any:
        """How far away the channels that follow are; 0 if the L2 cache has no room for them beside these ones."""
        builder, run = self.builder, self.builder.mul(self.channels, self.length)
        size = builder.mul(builder.mul(run, self.samples), constant(self.size))
        return builder.select(builder.icmp_signed("<=", size, constant(_HALF)), run, _NONE)

    def _to_boundary(self, pointer: Any) -> Any:
        """How many elements of a row that starts at `pointer` come before the next boundary of vectors."""
        builder = self.builder
        distance = builder.and_(builder.neg(builder.ptrtoint(pointer, I64)), constant(VECTOR_BYTES - 1))
        return self._least(builder.udiv(distance, constant(self.size)), self.length)

    @contextlib.contextmanager
    def _steps(self, start: Any, length: Any, size: int = 1) -> Iterator[Any]:
        """A loop over the positions of `size` vectors each."""
        step = constant(size * self.lanes)
        with cgutils.for_range_slice(self.builder, _NONE, length, step, intp=I64) as (column, _):
            yield self.builder.add(start, column)

    def _fill_part(self, target: Any, start: Any, count: Any, value: Term) -> None:
        """Less than a vector."""
        with self.builder.if_then(self.builder.icmp_signed(">", count, _NONE)):
            mask = self.vectors.first(count)
            self.store(value(start, mask), target, start, mask)

    # ---- sums ------------------------------------------------------------------------------------------------------

    def two_sums(self, prepare: Callable[[Any], Term], memory: Any) -> None:
        """The sums of a and of b * c for each channel, where prepare(channel) gives a, b, c: memory[2 * k] and [2 * k + 1].

        `memory` is float64, SUM_BYTES for each channel: for the sums of each lane, and those of a tile.
        """
        builder, tile = self.builder, constant(_TILE * self.lanes)
        size = builder.mul(self.channels, constant(2 * self.lanes))
        buffer = builder.bitcast(gep(builder, memory, size), self.vectors.type.element.as_pointer())
        slots = [[cgutils.alloca_once(builder, self.vectors.type) for _ in range(_STEP)] for _ in range(2)]
        cgutils.memset(builder, memory, builder.mul(size, constant(8)), 0)
        # The vectors of a short row are added to one sum, and each has but a few elements.
        least = constant(2 * _STEP * self.lanes)
        short = builder.icmp_signed("<=", self.length, least)
        group = builder.udiv(tile, builder.select(short, least, self.length))
        group = builder.select(builder.icmp_signed(">", group, _NONE), group, _ONE)
        with (
            cgutils.for_range_slice(builder, _NONE, self.samples, group, intp=I64) as (first, _),
            cgutils.for_range_slice(builder, _NONE, self.length, tile, intp=I64) as (column, _),
        ):
            cgutils.memset(builder, buffer, builder.mul(size, constant(self.size)), 0)
            length = self._least(tile, builder.sub(self.length, column))
            with cgutils.for_range(builder, self._least(group, builder.sub(self.samples, first))) as sample:
                offset = builder.mul(builder.add(first, sample.index), self.pitch)
                start = builder.add(builder.add(self.start, offset), column)
                with cgutils.for_range(builder, self.channels) as channel:
                    pointers = [gep(builder, buffer, self._sums_of(channel.index, which)) for which in range(2)]
                    row = builder.add(start, builder.mul(channel.index, self.length))
                    self._add_row(row, length, prepare(channel.index), slots, pointers)
            with self._steps(_NONE, size) as at:
                self._collect(gep(builder, buffer, at), gep(builder, memory, at))
        with cgutils.for_range(builder, self.channels) as channel:
            for which in range(2):
                total = self._total(gep(builder, memory, self._sums_of(channel.index, which)))
                builder.store(total, gep(builder, memory, builder.shl(channel.index, _ONE), which))

    def _sums_of(self, channel: Any, which: int) -> Any:
        """Where one of the two sums of a channel has its lanes."""
        return self.builder.mul(self.builder.or_(self.builder.shl(channel, _ONE), constant(which)),
                                constant(self.lanes))

    def _add_row(self, start: Any, length: Any, terms: Term, slots: list[list[Any]], pointers: list[Any]) -> None:
        """Add the terms of a part of a row to the lanes at `pointers`, in `slots`."""
        builder = self.builder
        for (one, other), place in zip(slots, pointers):
            builder.store(self.vectors.load(place), one)
            builder.store(self.vectors.zero, other)

        def add(at: Any, mask: Any, number: int) -> None:
            operands = terms(at, mask)
            if mask is not None:
                operands = tuple(builder.select(mask, operand, self.vectors.zero) for operand in operands)
            builder.store(builder.fadd(builder.load(slots[0][number]), operands[0]), slots[0][number])
            self.vectors.add_product(slots[1][number], operands[1], operands[2])

        whole, most = (builder.and_(length, constant(-size * self.lanes)) for size in (1, _STEP))
        with self._steps(start, most, _STEP) as at:
            for number in range(_STEP):
                add(builder.add(at, constant(number * self.lanes)), None, number)
        with self._steps(builder.add(start, most), builder.sub(whole, most)) as at:
            add(at, None, 0)
        rest = builder.sub(length, whole)
        with builder.if_then(builder.icmp_signed(">", rest, _NONE)):
            add(builder.add(start, whole), self.vectors.first(rest), 1)
        for (one, other), place in zip(slots, pointers):
            self.vectors.store(builder.fadd(builder.load(one), builder.load(other)), place)

    def _collect(self, sums: Any, totals: Any) -> None:
        """Add a vector of sums to one of float64."""
        double = Vectors(self.builder, ir.DoubleType(), self.lanes)
        wide = self.vectors.load(sums)
        if wide.type != double.type:
            wide = self.builder.fpext(wide, double.type)
        double.store(self.builder.fadd(double.load(totals), wide), totals)

    def _total(self, lanes: Any) -> Any:
        """The sum of as many float64 elements as a vector has lanes."""
        double = Vectors(self.builder, ir.DoubleType(), self.lanes)
        signature = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), double.type])
        add = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.vector.reduce.fadd.v{self.lanes}f64")
        return self.builder.call(add, (ir.Constant(ir.DoubleType(), -0.0), double.load(lanes)), fastmath=("reassoc",))

    def _least(self, one: Any, other: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", one, other), one, other)
