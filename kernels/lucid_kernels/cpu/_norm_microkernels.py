"""Loops of the gradient of layer normalisation over a block of rows at once, in LLVM IR.

The rows share the loads of the weight, and the loads and stores of the sums for the parameters. The second loop works on what
is in the cache, and asks for the rows of the next block meanwhile; the first one asks for the lines of the result. Row by row it
took 1.35 times as long for 1024x256, 1.75 times for 4096x64.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, _WIDE, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

# Rows of a block: 4 of the gradient have 16 numbers in registers, and 8 sums.
ROWS = 4 if _WIDE else 2
# What the sums of a block fill, in elements: whole vectors.
SUMS = VECTOR_BYTES // 4


class _Block:
    """`rows` rows of `count` elements, `pitch` apart, in arrays with one layout."""

    def __init__(
        self, context: Any, builder: ir.IRBuilder, array_type: Any, rows: int, start: Any, pitch: Any, count: Any
    ) -> None:
        self.builder, self.rows, self.count = builder, rows, count
        element = context.get_value_type(array_type.dtype)
        self.vectors = _Vectors(builder, element, VECTOR_BYTES // (array_type.dtype.bitwidth // 8))
        self.lanes = ir.Constant(_INT, self.vectors.type.count)
        self.offsets = [builder.add(start, builder.mul(pitch, ir.Constant(_INT, r))) for r in range(rows)]
        self.next = builder.mul(pitch, ir.Constant(_INT, rows))

    def of(self, pointer: Any) -> list[Any]:
        """The starts of the rows in the array at `pointer`."""
        return [_at(self.builder, pointer, offset) for offset in self.offsets]

    def numbers(self, pointer: Any, first: Any) -> list[Any]:
        """Vectors of the number of each row, from `first` on."""
        places = [_at(self.builder, pointer, first, r) for r in range(self.rows)]
        return [self.vectors.splat(self.builder.load(place)) for place in places]

    def slots(self, count: int) -> list[Any]:
        """Vectors for sums, 0 at first."""
        slots = [cgutils.alloca_once(self.builder, self.vectors.type) for _ in range(count)]
        for slot in slots:
            self.builder.store(self.vectors.zero, slot)
        return slots

    def add(self, slot: Any, value: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(slot), value), slot)

    def columns(self, body: Callable[[Any, Any], None]) -> None:
        """Emit body(column, mask) for the whole vectors, with None for the mask, and once for the rest."""
        rest = self.builder.urem(self.count, self.lanes)
        whole = self.builder.sub(self.count, rest)
        with cgutils.for_range_slice(self.builder, ir.Constant(_INT, 0), whole, self.lanes, intp=_INT) as (column, _):
            body(column, None)
        with self.builder.if_then(self.builder.icmp_signed(">", rest, ir.Constant(_INT, 0))):
            body(whole, self.vectors.first(rest))

    def load(self, pointer: Any, column: Any, mask: Any) -> Any:
        place = _at(self.builder, pointer, column)
        return self.vectors.load(place) if mask is None else self.vectors.load_masked(place, mask)

    def store(self, value: Any, pointer: Any, column: Any, mask: Any) -> None:
        place = _at(self.builder, pointer, column)
        if mask is None:
            self.vectors.store(value, place)
        else:
            self.vectors.store_masked(value, place, mask)

    def finish(self, slots: list[Any], pointer: Any) -> None:
        """Write the sums of the lanes of all slots."""
        for number, added in enumerate(self.vectors.sums([self.builder.load(slot) for slot in slots])):
            self.vectors.store(added, _at(self.builder, pointer, number * self.vectors.type.count))


def _fused(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, in one instruction where there is one."""
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


def _make_grad_sums(rows: int) -> Any:
    @_intrinsic
    def grad_sums(typing, g, x, start, pitch, count, weight, mean, first, dx, sums):
        """sums[2 * r] = the sum of g * weight over row r, sums[2 * r + 1] that of g * weight * (x - mean[first + r]). Unchecked.

        The lines of dx are asked for.
        """
        integer = types.int64
        signature = types.void(g, x, integer, integer, integer, weight, mean, integer, dx, sums)

        def emit(context, builder, signature, arguments):
            g, x, weight, mean, dx, sums = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 5, 6, 8, 9))
            block = _Block(context, builder, signature.args[1], rows, *arguments[2:5])
            upstream, sources, targets = block.of(g), block.of(x), block.of(dx)
            means, totals = block.numbers(mean, arguments[7]), block.slots(2 * rows)

            def body(column: Any, mask: Any) -> None:
                factor = block.load(weight, column, mask)
                for r in range(rows):
                    block.vectors.prefetch(_at(builder, targets[r], column))
                    product = builder.fmul(block.load(upstream[r], column, mask), factor)
                    distance = builder.fsub(block.load(sources[r], column, mask), means[r])
                    block.add(totals[2 * r], product)
                    block.vectors.add_product(totals[2 * r + 1], product, distance)

            block.columns(body)
            block.finish(totals, sums)
            return context.get_dummy_value()

        return signature, emit

    return grad_sums


def _make_grad(rows: int) -> Any:
    @_intrinsic
    def grad_rows(typing, g, x, start, pitch, count, weight, mean, rstd, first, offsets, slopes, dx, dweight, dbias):
        """dx = (g * weight - offsets[r] - (x - mean) * slopes[r]) * rstd for row r, with mean[first + r] and rstd[first + r].

        Adds g * (x - mean) * rstd to dweight, and g to dbias. Unchecked.
        """
        integer = types.int64
        signature = types.void(g, x, integer, integer, integer, weight, mean, rstd, integer, offsets, slopes, dx, dweight, dbias)

        def emit(context, builder, signature, arguments):
            g, x, weight, mean, rstd, offsets, slopes, dx, dweight, dbias = (
                _data(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 5, 6, 7, 9, 10, 11, 12, 13))
            block = _Block(context, builder, signature.args[1], rows, *arguments[2:5])
            upstream, sources, targets = block.of(g), block.of(x), block.of(dx)
            means, scales = (block.numbers(pointer, arguments[8]) for pointer in (mean, rstd))
            shifts, factors = (block.numbers(pointer, ir.Constant(_INT, 0)) for pointer in (offsets, slopes))

            def body(column: Any, mask: Any) -> None:
                factor, total_weight, total_bias = (block.load(pointer, column, mask) for pointer in (weight, dweight, dbias))
                for r in range(rows):
                    for pointer in (upstream[r], sources[r]):
                        block.vectors.prefetch(_at(builder, pointer, block.next, column), write=False)
                    gradient = block.load(upstream[r], column, mask)
                    distance = builder.fsub(block.load(sources[r], column, mask), means[r])
                    total_weight = _fused(builder, gradient, builder.fmul(distance, scales[r]), total_weight)
                    total_bias = builder.fadd(total_bias, gradient)
                    shifted = _fused(builder, gradient, factor, builder.fneg(shifts[r]))
                    result = _fused(builder, builder.fneg(distance), factors[r], shifted)
                    block.store(builder.fmul(result, scales[r]), targets[r], column, mask)
                block.store(total_weight, dweight, column, mask)
                block.store(total_bias, dbias, column, mask)

            block.columns(body)
            return context.get_dummy_value()

        return signature, emit

    return grad_rows


grad_sums_block, grad_sums_row = _make_grad_sums(ROWS), _make_grad_sums(1)
grad_block, grad_row = _make_grad(ROWS), _make_grad(1)
