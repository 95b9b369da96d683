"""Vectors in LLVM IR: loads, stores and arithmetic, masked where a row ends."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant
from .cpu_features import WIDE


class Vectors:
    """Emits loads, stores and arithmetic of vectors of `lanes` elements."""

    def __init__(self, builder: ir.IRBuilder, element: ir.Type, lanes: int) -> None:
        self.builder = builder
        self.type = ir.VectorType(element, lanes)
        self.alignment = 4 if isinstance(element, ir.FloatType) else 8
        self.zero = ir.Constant(self.type, [0.0] * lanes)

    def load(self, pointer: Any) -> Any:
        return self.builder.load(self.builder.bitcast(pointer, self.type.as_pointer()), align=self.alignment)

    def first(self, count: Any) -> Any:
        """A mask of the first `count` lanes."""
        return self.between(0, count)

    def between(self, start: int, count: Any) -> Any:
        """A mask of the lanes with indices below `count`, where the first lane has the index `start`."""
        limit = splat(self.builder, count, self.type.count)
        return self.builder.icmp_signed("<", ir.Constant(limit.type, list(range(start, start + self.type.count))), limit)

    def every_second(self, one: Any, other: Any, first: int = 0) -> Any:
        """The lanes `first`, `first` + 2, ... of two vectors, one after the other."""
        return shuffle(self.builder, one, other, range(first, 2 * self.type.count, 2))

    def every(self, parts: list[Any]) -> Any:
        """The first lane of the vectors `parts`, one after the other, and every lane as many further on as they are."""
        count, stride, result = self.type.count, len(parts), parts[0]
        for number, part in enumerate(parts[1:], 1):
            wanted = [stride * lane for lane in range(count)]
            if number > 1:  # what comes from the parts before is in its place
                wanted = [at - (number - 1) * count if at >= number * count else lane for lane, at in enumerate(wanted)]
            result = shuffle(self.builder, result, part, [min(at, 2 * count - 1) for at in wanted])
        return result

    def interleaved(self, even: Any, odd: Any, half: int) -> Any:
        """The first or second half of even[0], odd[0], even[1], odd[1], ..."""
        count = self.type.count
        lanes = [number // 2 + number % 2 * count for number in range(half * count, (half + 1) * count)]
        return shuffle(self.builder, even, odd, lanes)

    def load_masked(self, pointer: Any, mask: Any) -> Any:
        """The lanes of `mask`, and 0 in the others, whose memory is not touched."""
        arguments = [self.builder.bitcast(pointer, self.type.as_pointer()), self._aligned(), mask, self.zero]
        return self._masked("load", self.type, arguments)

    def load_part(self, pointer: Any, mask: Any) -> Any:
        """A whole vector where the mask is None, else its lanes."""
        return self.load(pointer) if mask is None else self.load_masked(pointer, mask)

    def load_reached(self, pointer: Any, mask: Any, whole: Any) -> Any:
        """`load_masked` of a mask that mostly has all lanes; `whole` says whether it has.

        AVX2 has no masked load of bytes: LLVM makes a branch for each.
        """
        if WIDE:
            return self.load_masked(pointer, mask)
        with self.builder.if_else(whole) as (then, otherwise):
            with then:
                from_whole = self.load(pointer), self.builder.block
            with otherwise:
                from_masked = self.load_masked(pointer, mask), self.builder.block
        loaded = self.builder.phi(self.type)
        for value, block in (from_whole, from_masked):
            loaded.add_incoming(value, block)
        return loaded

    def store_masked(self, vector: Any, pointer: Any, mask: Any) -> None:
        """Write the lanes of `mask`."""
        pointer = self.builder.bitcast(pointer, self.type.as_pointer())
        self._masked("store", ir.VoidType(), [vector, pointer, self._aligned(), mask])

    def store_reached(self, vector: Any, pointer: Any, mask: Any, whole: Any) -> None:
        """`store_masked` of a mask that mostly has all lanes; `whole` says whether it has.

        AVX2's masked store is microcode on AMD's processors: with a plain one where that will do, depthwise convolutions take
        0.7 of the time, 7x7 taps 0.8, the input gradient of these 0.65, Winograd's 0.9.
        """
        if WIDE:
            self.store_masked(vector, pointer, mask)
            return
        with self.builder.if_else(whole) as (then, otherwise):
            with then:
                self.store(vector, pointer)
            with otherwise:
                self.store_masked(vector, pointer, mask)

    def _aligned(self) -> Any:
        return ir.Constant(ir.IntType(32), self.alignment)

    def _masked(self, what: str, result: ir.Type, arguments: list[Any]) -> Any:
        name = f"llvm.masked.{what}.v{self.type.count}f{8 * self.alignment}.p0"
        signature = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, signature, name), arguments)

    def store(self, vector: Any, pointer: Any) -> None:
        self.builder.store(vector, self.builder.bitcast(pointer, self.type.as_pointer()), align=self.alignment)

    def prefetch(self, pointer: Any, write: bool = True, level: int = 1) -> None:
        """Prefetch the cache line of `pointer`, to be written or read, into the cache of a level."""
        pointer = self.builder.bitcast(pointer, self.type.as_pointer())
        kinds = [ir.Constant(ir.IntType(32), number) for number in (int(write), 4 - level, 1)]  # 1: data
        signature = ir.FunctionType(ir.VoidType(), [pointer.type, *(kind.type for kind in kinds)])
        function = cgutils.get_or_insert_function(self.builder.module, signature, "llvm.prefetch.p0")
        self.builder.call(function, [pointer, *kinds])

    def splat(self, scalar: Any) -> Any:
        return splat(self.builder, scalar, self.type.count)

    def add_product(self, total: Any, a: Any, b: Any) -> None:
        """Add a * b to the stack slot `total`; `contract` makes it one instruction, rounded once, where there is one."""
        product = self.builder.fmul(a, b, flags=("contract",))
        self.builder.store(self.builder.fadd(self.builder.load(total), product, flags=("contract",)), total)

    def store_sums(self, totals: list[list[Any]], targets: list[Any], add: Any, added: list[Any]) -> None:
        """Store the stack slots `totals` of a block to the rows from `targets` on; with `add` plus those from `added` on.

        Added last: a sum that goes on from what is there has larger rounding errors than one over few steps.
        """
        builder, lanes = self.builder, self.type.count
        with builder.if_then(add):
            for line, row in zip(totals, added):
                for v, total in enumerate(line):
                    builder.store(builder.fadd(builder.load(total), self.load(gep(builder, row, v * lanes))), total)
        for line, target in zip(totals, targets):
            for v, total in enumerate(line):
                self.store(builder.load(total), gep(builder, target, v * lanes))

    def sums(self, vectors: list[Any]) -> list[Any]:
        """The sums of the lanes of each of `vectors`, in vectors: those of up to as many vectors as there are lanes in one.

        Two vectors become one of halves already added, until each lane is a whole sum: 45 instructions for 16 sums of 16
        lanes, a third of what it takes to add up one vector after the other.
        """
        lanes = self.type.count
        return [self.across(vectors[first : first + lanes], self.builder.fadd) for first in range(0, len(vectors), lanes)]

    def across(self, vectors: list[Any], combine: Any) -> Any:
        """A vector whose lanes are what `combine` makes of the lanes of each of `vectors`, up to as many as there are lanes."""
        group = self.type.count  # lanes that belong to one result
        while group > 1:
            pairs = [(vectors[at], vectors[min(at + 1, len(vectors) - 1)]) for at in range(0, len(vectors), 2)]
            vectors = [combine(*self._halves(one, other, group)) for one, other in pairs]
            group //= 2
        return vectors[0]

    def _halves(self, one: Any, other: Any, group: int) -> list[Any]:
        starts = range(0, 2 * self.type.count, group)
        return [shuffle(self.builder, one, other, [start + half + lane for start in starts for lane in range(group // 2)])
                for half in (0, group // 2)]


def splat(builder: ir.IRBuilder, scalar: Any, lanes: int) -> Any:
    """A vector with a scalar in each of its lanes."""
    nothing = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    return shuffle(builder, builder.insert_element(nothing, scalar, constant(0)), nothing, [0] * lanes)


def splat_index(builder: ir.IRBuilder, index: Any, lanes: int) -> Any:
    """A vector of 32-bit integers with an index in each of its lanes: vectors of 64 bits take two registers to compare."""
    return splat(builder, builder.trunc(index, ir.IntType(32)), lanes)


def shuffle(builder: ir.IRBuilder, one: Any, other: Any, lanes: Sequence[int]) -> Any:
    """The lanes with these numbers of two vectors, those of the second counted on from the first's."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes)))


def data_of(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any) -> Any:
    """The pointer to the first element of an array."""
    return context.make_array(array_type)(context, builder, array).data


def gep(builder: ir.IRBuilder, pointer: Any, *offsets: Any) -> Any:
    """The pointer moved on by a number of elements, the sum of `offsets`."""
    for offset in offsets:
        pointer = builder.gep(pointer, [constant(offset) if isinstance(offset, int) else offset])
    return pointer


def unrolled(builder: ir.IRBuilder, count: Any, together: int, body: Callable[[Any], None],
              first: Callable[[Any], None] = lambda _: None) -> None:
    """Emit body(step) for each of `count` steps, `together` of them in an iteration, and before these first(step) once."""
    if together == 1:
        with cgutils.for_range(builder, count) as loop:
            first(loop.index)
            body(loop.index)
        return
    whole = builder.and_(count, constant(-together))
    with cgutils.for_range_slice(builder, constant(0), whole, constant(together), intp=I64) as (step, _):
        first(step)
        for number in range(together):
            body(builder.add(step, constant(number)))
    with cgutils.for_range_slice(builder, whole, count, constant(1), intp=I64) as (step, _):
        body(step)
