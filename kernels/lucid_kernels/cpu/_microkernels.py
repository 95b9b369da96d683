"""Loops whose sums stay in vector registers, written as LLVM IR: the inner loops of the direct convolution.

Numba leaves sums in memory: a loop over arrays with one load and one store of each sum for every few products reaches
three quarters of the speed of these. The sums are stack slots here; LLVM makes registers of them, provided there are
few enough: the block sizes are chosen for 32 registers (AVX-512) or 16.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils, config

from ._intrinsic import I64, intrinsic

_config: Any = config  # Numba adds its settings to this module when it is imported
# Those that Numba compiles for: NUMBA_CPU_FEATURES, or this processor's.
_FEATURES = _config.CPU_FEATURES


def has_feature(feature: str) -> bool:
    if _FEATURES is None:
        return bool(llvmlite.binding.get_host_cpu_features().get(feature, False))
    return f"+{feature}" in _FEATURES


WIDE = has_feature("avx512f")
# Whether registers of VECTOR_BYTES exist: elsewhere LLVM splits vectors, and blocks of products need too many registers.
WHOLE_VECTORS = WIDE or has_feature("avx2")
# The name that LLVM has for the processor that Numba compiles for.
PROCESSOR = _config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
# Whether to ask, within the loop of a product, for what the next block of rows reads and writes. On a Zen 5, which starts two
# multiply-adds of 64 bytes in a cycle and two loads, the questions cost more than they save: without, 1x1 taps take 0.8 to 0.98
# of the time, and a GPT's products 0.96 to 0.98.
ASKS_WITHIN = PROCESSOR != "znver5"
# Bytes of one vector register.
VECTOR_BYTES = 64 if WIDE else 32
# `multiply_block` computes ROWS output channels at VECTORS vectors of positions: 24 (12) sums. With 16, which take more loads for
# each multiply-add, convolutions took 1.05 to 1.25 times as long on a Zen 5. Without AVX-512 two multiply-adds start in a cycle
# and take four or five: 8 sums took 1.2 to 1.3 times as long for 1x1 taps and 7x7 taps.
ROWS = 8 if WIDE else 4
VECTORS = 3
# Products that these add up at a time, and `multiply_run` too: with up to 256 in a row, gradients of convolutions had up to 3.3
# times the largest error of PyTorch's, and grouped convolutions, up to 192, 2.4 times. Those of 7x7 taps of 3 channels are two
# parts; with 64 they took 1.05 of the time without AVX-512.
PRODUCTS = 80
# `dot_block` computes the products of DOT_ROWS rows with DOT_TAPS rows: 24 (12) sums. The taps stay in the L1 cache from one
# block of rows to the next; the rows come from the L2 cache, the more slowly the fewer taps share them.
DOT_ROWS = 4
DOT_TAPS = 6 if WIDE else 3

# The vectors of positions of a block with all results of a group that has few, by their number: sums that fill the registers, or
# hide the latency of an addition. Other groups have blocks of ROWS.
VECTORS_OF = (0, 8, 8, 7, 6, 0, 0, 0, VECTORS) if WIDE else (0, 8, 4, 3, VECTORS)

# `multiply_run` computes one row of RUN_VECTORS vectors: as many sums as hide the latency of an addition. `dot_run` computes the
# products of one row with RUN_TAPS rows: those of 3x3 taps.
RUN_VECTORS = 8
RUN_TAPS = 9
# The most positions behind the last whole block for which `dot_run` takes less than a vector of them, which takes 5/12 of a
# block: with it one image of 512 channels of 7x7 takes 0.8 of the time.
DOT_POSITIONS = 8


def _whole_vectors(sums: int) -> int:
    """The elements that `sums` fill, whole vectors of either dtype."""
    return -(-sums * 4 // VECTOR_BYTES) * VECTOR_BYTES // 4


# The elements that `dot_block` and `dot_run` write.
DOT_SUMS = _whole_vectors(DOT_ROWS * DOT_TAPS)
RUN_SUMS = _whole_vectors(RUN_TAPS)

# Numba's type of what `intrinsic` returns has the typing context among the arguments of a call.


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
        """A mask of the lanes with numbers below `count`, where the first lane has the number `start`."""
        numbers = ir.VectorType(I64, self.type.count)
        limit = self.builder.insert_element(ir.Constant(numbers, ir.Undefined), count, ir.Constant(I64, 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.type.count), [0] * self.type.count)
        limit = self.builder.shuffle_vector(limit, ir.Constant(numbers, ir.Undefined), lanes)
        return self.builder.icmp_signed("<", ir.Constant(numbers, list(range(start, start + self.type.count))), limit)

    def every_second(self, one: Any, other: Any, first: int = 0) -> Any:
        """The lanes `first`, `first` + 2, ... of two vectors, one after the other."""
        lanes = list(range(first, 2 * self.type.count, 2))
        return self.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), self.type.count), lanes))

    def every(self, parts: list[Any]) -> Any:
        """The first lane of the vectors `parts`, one after the other, and every lane as many further on as they are."""
        count, stride, result = self.type.count, len(parts), parts[0]
        for number, part in enumerate(parts[1:], 1):
            wanted = [stride * lane for lane in range(count)]
            if number > 1:  # what comes from the parts before is in its place
                wanted = [at - (number - 1) * count if at >= number * count else lane for lane, at in enumerate(wanted)]
            lanes = [min(at, 2 * count - 1) for at in wanted]
            result = self.builder.shuffle_vector(result, part, ir.Constant(ir.VectorType(ir.IntType(32), count), lanes))
        return result

    def interleaved(self, even: Any, odd: Any, half: int) -> Any:
        """The first or second half of even[0], odd[0], even[1], odd[1], ..."""
        count = self.type.count
        lanes = [number // 2 + number % 2 * count for number in range(half * count, (half + 1) * count)]
        return self.builder.shuffle_vector(even, odd, ir.Constant(ir.VectorType(ir.IntType(32), count), lanes))

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
        """Ask for the cache line of `pointer`, to be written or read, in the cache of a level."""
        pointer = self.builder.bitcast(pointer, self.type.as_pointer())
        kinds = [ir.Constant(ir.IntType(32), number) for number in (int(write), 4 - level, 1)]  # 1: data
        signature = ir.FunctionType(ir.VoidType(), [pointer.type, *(kind.type for kind in kinds)])
        function = cgutils.get_or_insert_function(self.builder.module, signature, "llvm.prefetch.p0")
        self.builder.call(function, [pointer, *kinds])

    def splat(self, scalar: Any) -> Any:
        first = self.builder.insert_element(ir.Constant(self.type, ir.Undefined), scalar, ir.Constant(I64, 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.type.count), [0] * self.type.count)
        return self.builder.shuffle_vector(first, ir.Constant(self.type, ir.Undefined), lanes)

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
        indices = ir.VectorType(ir.IntType(32), self.type.count)
        halves = []
        for half in (0, group // 2):
            lanes = [start + half + lane for start in starts for lane in range(group // 2)]
            halves.append(self.builder.shuffle_vector(one, other, ir.Constant(indices, lanes)))
        return halves


def data_of(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any) -> Any:
    """The pointer to the first element of an array."""
    return context.make_array(array_type)(context, builder, array).data


def gep(builder: ir.IRBuilder, pointer: Any, *offsets: Any) -> Any:
    """The pointer moved on by a number of elements, the sum of `offsets`."""
    for offset in offsets:
        pointer = builder.gep(pointer, [ir.Constant(I64, offset) if isinstance(offset, int) else offset])
    return pointer


def unrolled(builder: ir.IRBuilder, count: Any, together: int, body: Callable[[Any], None],
              first: Callable[[Any], None] = lambda _: None) -> None:
    """Emit body(step) for each of `count` steps, `together` of them in an iteration, and before these first(step) once."""
    if together == 1:
        with cgutils.for_range(builder, count) as loop:
            first(loop.index)
            body(loop.index)
        return
    whole = builder.and_(count, ir.Constant(I64, -together))
    with cgutils.for_range_slice(builder, ir.Constant(I64, 0), whole, ir.Constant(I64, together), intp=I64) as (step, _):
        first(step)
        for number in range(together):
            body(builder.add(step, ir.Constant(I64, number)))
    with cgutils.for_range_slice(builder, whole, count, ir.Constant(I64, 1), intp=I64) as (step, _):
        body(step)


def _make_multiply(row_count: int, vector_count: int) -> Any:
    def multiply(typing, columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out, out_start, pitch,
                 accumulate):
        """`row_count` rows of `out`, `pitch` elements apart from `out_start` on, each of `vector_count` vectors:

        out[r, j] = bias[first_bias + r] + sum over k of columns[start + taps[k] + j] * weight[first + k * tap_step +
        r * row_step], or with `accumulate` the sum added to what is there; nothing is checked.
        """
        integer = types.int64
        signature = types.void(columns, integer, taps, weight, integer, integer, integer, bias, integer, out, integer, integer,
                               types.boolean)

        def emit(context, builder, signature, arguments):
            columns, taps, weight, bias, out = (
                data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 7, 9)
            )
            start, first, row_step, tap_step, first_bias = (arguments[i] for i in (1, 4, 5, 6, 8))
            out_start, pitch, accumulate = arguments[10:]
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, columns.type.pointee, lanes)
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(vector_count)] for _ in range(row_count)]
            targets = [gep(builder, out, out_start, builder.mul(pitch, ir.Constant(I64, r))) for r in range(row_count)]
            # On their way from memory while the sums are computed, also if they are only written: a store waits for its line.
            for target in targets:
                for v in range(vector_count):
                    vectors.prefetch(gep(builder, target, v * lanes))
            rows = [gep(builder, weight, first, builder.mul(row_step, ir.Constant(I64, r))) for r in range(row_count)]
            count = context.make_array(signature.args[2])(context, builder, arguments[2]).nitems

            def add_up(steps, first_step, accumulate):
                for r, row in enumerate(totals):
                    added = vectors.splat(builder.load(gep(builder, bias, first_bias, r)))
                    added = builder.select(accumulate, vectors.zero, added)
                    for total in row:
                        builder.store(added, total)
                with cgutils.for_range(builder, steps) as loop:
                    index = builder.add(first_step, loop.index)
                    source = gep(builder, columns, start, builder.load(gep(builder, taps, index)))
                    values = [vectors.load(gep(builder, source, v * lanes)) for v in range(vector_count)]
                    step = builder.mul(index, tap_step)
                    for row, scales in zip(totals, rows):
                        scale = vectors.splat(builder.load(gep(builder, scales, step)))
                        for total, value in zip(row, values):
                            vectors.add_product(total, value, scale)
                vectors.store_sums(totals, targets, accumulate, targets)

            zero, most = ir.Constant(I64, 0), ir.Constant(I64, PRODUCTS)
            end = builder.select(builder.icmp_signed("<", count, most), most, count)  # without products there is the bias
            with cgutils.for_range_slice(builder, zero, end, most, intp=I64) as (done, _):
                left = builder.sub(count, done)
                steps = builder.select(builder.icmp_signed("<", left, most), left, most)
                add_up(steps, done, builder.or_(accumulate, builder.icmp_signed("!=", done, zero)))
            return context.get_dummy_value()

        return signature, emit

    return multiply


multiply_block = intrinsic(_make_multiply(ROWS, VECTORS))
multiply_narrow = intrinsic(_make_multiply(ROWS, 1))  # for what is left of a plane: of 14x14 and 17x17 positions up to a vector
multiply_run = intrinsic(_make_multiply(1, RUN_VECTORS))


def rows_of(results: int) -> tuple[int, ...]:
    """The rows of a block, from 0 on, for groups of so many results: kernels are compiled for the length of the tuple."""
    return tuple(range(results if results < len(VECTORS_OF) and VECTORS_OF[results] else ROWS))


def _make_multiply_rows(narrow: bool) -> Any:
    def multiply_rows(typing, rows, columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out, out_start,
                      pitch, accumulate):
        """The function of `_make_multiply` for as many rows as the tuple `rows` has, and VECTORS_OF them, or a single one."""
        multiply = _make_multiply(rows.count, 1 if narrow else VECTORS_OF[rows.count])
        signature, emit = multiply(typing, columns, start, taps, weight, first, row_step, tap_step, bias, first_bias, out,
                                   out_start, pitch, accumulate)

        def emit_rows(context, builder, _, values):
            return emit(context, builder, signature, values[1:])

        return signature.return_type(rows, *signature.args), emit_rows

    return intrinsic(multiply_rows)


multiply_rows, multiply_rows_narrow = _make_multiply_rows(False), _make_multiply_rows(True)


def _make_dot(row_count: int, tap_count: int) -> Any:
    @intrinsic
    def dot(typing, g, g_start, rows, columns, start, taps, samples, g_step, step, count, sums):
        """Add to sums[r * tap_count + t] the products of `row_count` rows of g with `tap_count` rows of the columns, unchecked.

        `sums` has room for whole vectors (DOT_SUMS, RUN_SUMS).

        Row r of a sample starts at g[g_start + rows[r]], tap t at columns[start + taps[t]]; both have `count` elements. The next
        sample comes `g_step` and `step` elements later.
        """
        integer = types.int64
        signature = types.void(g, integer, rows, columns, integer, taps, integer, integer, integer, integer, sums)

        def emit(context, builder, signature, arguments):
            g, rows, columns, taps, sums = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 5, 10))
            g_start, start, samples, g_step, step, count = (arguments[i] for i in (1, 4, 6, 7, 8, 9))
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, columns.type.pointee, lanes)
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(tap_count)] for _ in range(row_count)]
            for row in totals:
                for total in row:
                    builder.store(vectors.zero, total)
            left = [gep(builder, g, g_start, builder.load(gep(builder, rows, r))) for r in range(row_count)]
            right = [gep(builder, columns, start, builder.load(gep(builder, taps, t))) for t in range(tap_count)]
            whole = builder.udiv(count, ir.Constant(I64, lanes))
            rest = builder.urem(count, ir.Constant(I64, lanes))
            mask = vectors.first(rest)

            def add(sample, j, load):
                g_sample, sample_start = builder.mul(sample, g_step), builder.mul(sample, step)
                values = [load(gep(builder, pointer, sample_start, j)) for pointer in right]
                for row, pointer in zip(totals, left):
                    scale = load(gep(builder, pointer, g_sample, j))
                    for total, value in zip(row, values):
                        vectors.add_product(total, value, scale)

            with cgutils.for_range(builder, samples) as sample:
                with cgutils.for_range(builder, whole) as loop:
                    add(sample.index, builder.mul(loop.index, ir.Constant(I64, lanes)), vectors.load)
                with builder.if_then(builder.icmp_unsigned("!=", rest, ir.Constant(I64, 0))):
                    add(sample.index, builder.mul(whole, ir.Constant(I64, lanes)), lambda p: vectors.load_masked(p, mask))
            for number, added in enumerate(vectors.sums([builder.load(total) for row in totals for total in row])):
                target = gep(builder, sums, number * lanes)
                vectors.store(builder.fadd(vectors.load(target), added), target)
            return context.get_dummy_value()

        return signature, emit

    return dot


dot_block = _make_dot(DOT_ROWS, DOT_TAPS)
dot_run = _make_dot(1, RUN_TAPS)


def _make_copy(stride: int) -> Any:
    @intrinsic
    def copy(typing, source, source_start, source_pitch, target, target_start, target_pitch, rows, count):
        """Copy every `stride`-th element of some rows: for r below `rows` and i below `count`, unchecked,

        target[target_start + r * target_pitch + i] = source[source_start + r * source_pitch + stride * i].

        The last vector of a row is masked: LLVM's own loop moves 64 elements at a time and the rest one by one, which takes four
        times as long for a plane of 7x7.
        """
        integer = types.int64
        signature = types.void(source, integer, integer, target, integer, integer, integer, integer)

        def emit(context, builder, signature, arguments):
            source = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
            target = gep(builder, data_of(context, builder, signature.args[3], arguments[3]), arguments[4])
            source_pitch, target_pitch, rows, count = (arguments[i] for i in (2, 5, 6, 7))
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, source.type.pointee, lanes)
            whole, rest = (divide(count, ir.Constant(I64, lanes)) for divide in (builder.udiv, builder.urem))
            # Of the last of the `stride` vectors only what is needed: the memory may end there.
            last = vectors.first(ir.Constant(I64, lanes - stride + 1))
            needed = builder.sub(builder.mul(rest, ir.Constant(I64, stride)), ir.Constant(I64, stride - 1))
            masks = [vectors.between(v * lanes, needed) for v in range(stride)]
            rest_mask, unfinished = vectors.first(rest), builder.icmp_unsigned("!=", rest, ir.Constant(I64, 0))

            def load(row, j, load_part):
                """The elements from `j` on, which lie in `stride` vectors of the source."""
                start = builder.mul(j, ir.Constant(I64, stride))
                parts = [load_part(gep(builder, row, start, v * lanes), v) for v in range(stride)]
                return parts[0] if stride == 1 else vectors.every_second(*parts)

            with cgutils.for_range(builder, rows) as row:
                row_source = gep(builder, source, builder.mul(row.index, source_pitch))
                row_target = gep(builder, target, builder.mul(row.index, target_pitch))
                with cgutils.for_range(builder, whole) as loop:
                    j = builder.mul(loop.index, ir.Constant(I64, lanes))
                    part = load(row_source, j, lambda p, v: vectors.load_masked(p, last) if v else vectors.load(p))
                    vectors.store(part, gep(builder, row_target, j))
                with builder.if_then(unfinished):
                    j = builder.mul(whole, ir.Constant(I64, lanes))
                    part = load(row_source, j, lambda p, v: vectors.load_masked(p, masks[v]))
                    vectors.store_masked(part, gep(builder, row_target, j), rest_mask)
            return context.get_dummy_value()

        return signature, emit

    return copy


copy_rows = _make_copy(1)
copy_every_second = _make_copy(2)
