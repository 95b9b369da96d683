"""Sums and maxima of contiguous elements at the speed of memory, in LLVM IR."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

# Results in registers: an addition takes 3 cycles, in which the L2 cache delivers 3 vectors at most.
_SLOTS = 4
# Bytes from what is read to what is asked for. The processor's own prefetching does not go beyond a page: with this, sums of
# arrays larger than the cache took 0.8 of the time, with 4 KiB as with 16 KiB. They ask for one line of each step, in the L2
# cache, and leave its neighbours to the processor: to ask for all of them in the L1 cache took 1.2 times as long where the
# array is in the L3 cache, and 1.1 times in memory.
_AHEAD = 8192


class _Rows:
    """Emits what the functions below share: vectors of contiguous elements from `start` to `stop`, folded into one."""

    def __init__(self, context: Any, builder: ir.IRBuilder, array_type: Any, start: Any, stop: Any) -> None:
        self.builder, self.start, self.stop = builder, start, stop
        self.lanes = VECTOR_BYTES // (array_type.dtype.bitwidth // 8)
        self.vectors = _Vectors(builder, context.get_value_type(array_type.dtype), self.lanes)
        self.ahead = ir.Constant(_INT, _AHEAD * self.lanes // VECTOR_BYTES)

    def load(self, pointer: Any, at: Any, mask: Any) -> Any:
        place = _at(self.builder, pointer, at)
        return self.vectors.load(place) if mask is None else self.vectors.load_masked(place, mask)

    def ask(self, pointer: Any, at: Any, write: bool = False, level: int = 1) -> None:
        self.vectors.prefetch(_at(self.builder, pointer, at), write=write, level=level)

    def fold(self, neutral: float, combine: Callable[[Any, Any], Any], value: Callable[[Any, Any], Any],
             step: Callable[[Any], None] = lambda at: None) -> Any:  # fmt: skip
        """The vector of results of combine(result, value(at, mask)), with None for the mask of a whole vector.

        step(at) comes before each `_SLOTS` whole vectors.
        """
        builder, size = self.builder, _SLOTS * self.lanes
        start = ir.Constant(self.vectors.type, [neutral] * self.lanes)
        slots = [cgutils.alloca_once(builder, self.vectors.type) for _ in range(_SLOTS)]
        for slot in slots:
            builder.store(start, slot)

        def put(slot: Any, operand: Any) -> None:
            builder.store(combine(builder.load(slot), operand), slot)

        most = self._whole(self.start, size)
        with cgutils.for_range_slice(builder, self.start, most, ir.Constant(_INT, size), intp=_INT) as (i, _):
            step(i)
            for number, slot in enumerate(slots):
                put(slot, value(builder.add(i, ir.Constant(_INT, number * self.lanes)), None))
        rest = self._whole(most, self.lanes)
        with cgutils.for_range_slice(builder, most, rest, ir.Constant(_INT, self.lanes), intp=_INT) as (i, _):
            put(slots[0], value(i, None))
        with builder.if_then(builder.icmp_unsigned("<", rest, self.stop)):
            mask = self.vectors.first(builder.sub(self.stop, rest))
            put(slots[1], builder.select(mask, value(rest, mask), start))
        results = [builder.load(slot) for slot in slots]
        while len(results) > 1:
            results = [combine(*results[at : at + 2]) for at in range(0, len(results), 2)]
        return results[0]

    def _whole(self, start: Any, step: int) -> Any:
        """`start` moved on by as many whole steps as fit."""
        size = ir.Constant(_INT, step)
        return self.builder.add(start, self.builder.mul(self.builder.udiv(self.builder.sub(self.stop, start), size), size))


@_intrinsic
def sum_of(typing, flat, start, stop):
    """The sum of flat[start:stop], in the dtype of the array; nothing is checked."""
    signature = flat.dtype(flat, types.uint64, types.uint64)

    def emit(context, builder, signature, arguments):
        flat = _data(context, builder, signature.args[0], arguments[0])
        rows = _Rows(context, builder, signature.args[0], *arguments[1:])

        def ask(at: Any) -> None:
            rows.ask(flat, builder.add(at, rows.ahead), level=2)

        sums = rows.vectors.sums([rows.fold(0.0, builder.fadd, functools.partial(rows.load, flat), ask)])
        return builder.extract_element(sums[0], ir.Constant(_INT, 0))

    return signature, emit


@_intrinsic
def maximum_of(typing, x, start, stop, y):
    """The largest of x[start:stop], the array as if flat, or any number if there is a NaN; nothing is checked.

    Where they stay in the L1 cache, the row that comes next and the lines of y, for the result of this row, are asked for.
    """
    signature = x.dtype(x, types.uint64, types.uint64, y)

    def emit(context, builder, signature, arguments):
        x, y = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 3))
        rows = _Rows(context, builder, signature.args[0], *arguments[1:3])
        length = builder.sub(rows.stop, rows.start)
        short = builder.icmp_unsigned("<=", length, rows.ahead)
        distance = builder.select(short, length, rows.ahead)
        written = builder.select(short, y, x)  # that of a long row is not kept until it is written

        def larger(known: Any, value: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", value, known), value, known)

        def value(at: Any, mask: Any) -> Any:
            rows.ask(written, at, write=True)
            rows.ask(x, builder.add(at, distance))
            return rows.load(x, at, mask)

        best, lanes = rows.fold(float("-inf"), larger, value), rows.lanes
        while lanes > 1:
            lanes //= 2
            order = [lane % lanes + lanes for lane in range(rows.lanes)]
            other = builder.shuffle_vector(best, best, ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order))
            best = larger(best, other)
        return builder.extract_element(best, ir.Constant(_INT, 0))

    return signature, emit
