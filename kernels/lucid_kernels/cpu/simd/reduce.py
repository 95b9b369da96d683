"""Sums and maxima of contiguous elements at the speed of memory, in LLVM IR."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from .cpu_features import VECTOR_BYTES
from .ir import Vectors, data_of, gep, shuffle

# Results in registers: an addition takes 3 cycles, in which the L2 cache delivers 3 vectors at most.
_SLOTS = 4
# Times that each of them takes a vector in a block of `sum_of`. The block has no loop: the end of one is a mispredicted branch,
# behind which no load is in flight. With loops the sums of an array in the L3 cache took 1.3 times as long, of one in memory 1.05
# times. Half as many took 1.2 times as long as these, twice as many 1.1 times. Prefetching helps only with loops.
_STEPS = 16
# Bytes from what `maximum_of` reads to what it prefetches. The processor's own prefetching does not go beyond a page.
_AHEAD = 8192


class _Rows:
    """Emits what the functions below share: vectors of contiguous elements from `start` to `stop`, folded into one."""

    def __init__(self, context: Any, builder: ir.IRBuilder, array_type: Any, start: Any, stop: Any) -> None:
        self.builder, self.start, self.stop = builder, start, stop
        self.lanes = VECTOR_BYTES // (array_type.dtype.bitwidth // 8)
        self.vectors = Vectors(builder, context.get_value_type(array_type.dtype), self.lanes)
        self.ahead = constant(_AHEAD * self.lanes // VECTOR_BYTES)

    def load(self, pointer: Any, at: Any, mask: Any) -> Any:
        pointer = gep(self.builder, pointer, at)
        return self.vectors.load(pointer) if mask is None else self.vectors.load_masked(pointer, mask)

    def prefetch(self, pointer: Any, at: Any, write: bool = False) -> None:
        self.vectors.prefetch(gep(self.builder, pointer, at), write=write)

    def fold(self, neutral: float, combine: Callable[[Any, Any], Any], value: Callable[[Any, Any], Any]) -> Any:
        """The vector of results of combine(result, value(at, mask)), with None for the mask of a whole vector."""
        builder, size = self.builder, _SLOTS * self.lanes
        start = ir.Constant(self.vectors.type, [neutral] * self.lanes)
        slots = [cgutils.alloca_once(builder, self.vectors.type) for _ in range(_SLOTS)]
        for slot in slots:
            builder.store(start, slot)

        def put(slot: Any, operand: Any) -> None:
            builder.store(combine(builder.load(slot), operand), slot)

        most = self.whole(self.start, size)
        with cgutils.for_range_slice(builder, self.start, most, constant(size), intp=I64) as (i, _):
            for number, slot in enumerate(slots):
                put(slot, value(builder.add(i, constant(number * self.lanes)), None))
        rest = self.whole(most, self.lanes)
        with cgutils.for_range_slice(builder, most, rest, constant(self.lanes), intp=I64) as (i, _):
            put(slots[0], value(i, None))
        with builder.if_then(builder.icmp_unsigned("<", rest, self.stop)):
            mask = self.vectors.first(builder.sub(self.stop, rest))
            put(slots[1], builder.select(mask, value(rest, mask), start))
        return _combined([builder.load(slot) for slot in slots], combine)

    def whole(self, start: Any, step: int) -> Any:
        """`start` moved on by as many whole steps as fit."""
        size = constant(step)
        return self.builder.add(start, self.builder.mul(self.builder.udiv(self.builder.sub(self.stop, start), size), size))


def _combined(results: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """One of `results`, a power of two of them, by pairs."""
    while len(results) > 1:
        results = [combine(*results[at : at + 2]) for at in range(0, len(results), 2)]
    return results[0]


class _Total:
    """Emits a sum of vectors in float64."""

    def __init__(self, builder: ir.IRBuilder, lanes: int) -> None:
        self.builder = builder
        self.vectors = Vectors(builder, ir.DoubleType(), VECTOR_BYTES // 8)
        self.parts = [cgutils.alloca_once_value(builder, self.vectors.zero) for _ in range(lanes // self.vectors.type.count)]

    def add(self, vector: Any) -> None:
        """Add a vector of float32 or float64."""
        builder, count = self.builder, self.vectors.type.count
        for number, part in enumerate(self.parts):
            if len(self.parts) > 1:
                lanes = range(number * count, (number + 1) * count)
                wide = builder.fpext(shuffle(builder, vector, vector, lanes), self.vectors.type)
            else:
                wide = vector
            builder.store(builder.fadd(builder.load(part), wide), part)

    def value(self) -> Any:
        """The sum of all lanes."""
        total = _combined([self.builder.load(part) for part in self.parts], self.builder.fadd)
        return self.builder.extract_element(self.vectors.sums([total])[0], constant(0))


def _emit_sum(rows: _Rows, first: Callable[[Any, Any], Any], add: Callable[[Any, Any], Any]) -> Any:
    """The sum in float64 of terms from `start` to `stop`: `first(at, mask)` is a vector of them, `add(total, at)` adds one.

    Within a block of 4 KiB each lane adds `_STEPS` elements in the dtype of the array, so that the error is PyTorch's: converting
    each float32 to float64 took 3 times as long in the L2 cache, and 1.2 times in memory.
    """
    builder, lanes = rows.builder, rows.lanes
    total, size = _Total(builder, lanes), _SLOTS * _STEPS * lanes
    most = rows.whole(rows.start, size)
    with cgutils.for_range_slice(builder, rows.start, most, constant(size), intp=I64) as (i, _):
        offsets = [builder.add(i, constant(number * lanes)) for number in range(_SLOTS * _STEPS)]
        slots = [first(at, None) for at in offsets[:_SLOTS]]
        for number, at in enumerate(offsets[_SLOTS:]):
            slots[number % _SLOTS] = add(slots[number % _SLOTS], at)
        total.add(_combined(slots, builder.fadd))
    rows.start = most
    total.add(rows.fold(0.0, builder.fadd, first))
    return total.value()


@intrinsic
def sum_of(typing, flat, start, stop):
    """The sum of flat[start:stop] in float64; nothing is checked."""
    signature = types.float64(flat, types.uint64, types.uint64)

    def emit(context, builder, signature, arguments):
        flat = data_of(context, builder, signature.args[0], arguments[0])
        rows = _Rows(context, builder, signature.args[0], *arguments[1:])
        load = functools.partial(rows.load, flat)
        return _emit_sum(rows, load, lambda total, at: builder.fadd(total, load(at, None)))

    return signature, emit


@intrinsic
def product_sum_of(typing, a, b, start, stop):
    """The sum of a[start:stop] * b[start:stop], of one dtype, in float64; nothing is checked."""
    signature = types.float64(a, b, types.uint64, types.uint64)

    def emit(context, builder, signature, arguments):
        a, b = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1))
        rows = _Rows(context, builder, signature.args[0], *arguments[2:])

        def product(at: Any, mask: Any) -> Any:
            return builder.fmul(rows.load(a, at, mask), rows.load(b, at, mask), flags=("contract",))

        return _emit_sum(rows, product, lambda total, at: builder.fadd(total, product(at, None), flags=("contract",)))

    return signature, emit


@intrinsic
def maximum_of(typing, x, start, stop, y):
    """The largest of x[start:stop], the array as if flat, or any number if there is a NaN; nothing is checked.

    Where they stay in the L1 cache, the row that comes next and the lines of y, for the result of this row, are prefetched.
    """
    signature = x.dtype(x, types.uint64, types.uint64, y)

    def emit(context, builder, signature, arguments):
        x, y = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 3))
        rows = _Rows(context, builder, signature.args[0], *arguments[1:3])
        length = builder.sub(rows.stop, rows.start)
        short = builder.icmp_unsigned("<=", length, rows.ahead)
        distance = builder.select(short, length, rows.ahead)
        written = builder.select(short, y, x)  # that of a long row is not kept until it is written

        def larger(known: Any, value: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", value, known), value, known)

        def value(at: Any, mask: Any) -> Any:
            rows.prefetch(written, at, write=True)
            rows.prefetch(x, builder.add(at, distance))
            return rows.load(x, at, mask)

        best, lanes = rows.fold(float("-inf"), larger, value), rows.lanes
        while lanes > 1:
            lanes //= 2
            order = [lane % lanes + lanes for lane in range(rows.lanes)]
            best = larger(best, shuffle(builder, best, best, order))
        return builder.extract_element(best, constant(0))

    return signature, emit
