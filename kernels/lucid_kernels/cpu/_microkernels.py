"""Loops whose sums stay in vector registers, written as LLVM IR: the inner loops of the direct convolution.

Numba leaves sums in memory: a loop over arrays with one load and one store of each sum for every few products reaches
three quarters of the speed of these. The sums are stack slots here; LLVM makes registers of them, provided there are
few enough: the block sizes are chosen for 32 registers (AVX-512) or 16.
"""
from __future__ import annotations

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WIDE = llvmlite.binding.get_host_cpu_features().get("avx512f", False)
# Bytes of one vector register.
VECTOR_BYTES = 64 if _WIDE else 32
# `multiply_block` computes ROWS output channels at VECTORS vectors of positions: 16 (8) sums.
ROWS = 8 if _WIDE else 4
VECTORS = 2
# `dot_block` computes the products of DOT_ROWS rows with DOT_TAPS rows: 24 (8) sums. The taps stay in the L1 cache from one
# block of rows to the next; the rows come from the L2 cache, the more slowly the fewer taps share them.
DOT_ROWS = 4 if _WIDE else 2
DOT_TAPS = 6 if _WIDE else 4

# Numba's type of what `intrinsic` returns has the typing context among the arguments of a call.
_intrinsic: Any = intrinsic
_INT = ir.IntType(64)


class _Vectors:
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
        numbers = ir.VectorType(_INT, self.type.count)
        limit = self.builder.insert_element(ir.Constant(numbers, ir.Undefined), count, ir.Constant(_INT, 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.type.count), [0] * self.type.count)
        limit = self.builder.shuffle_vector(limit, ir.Constant(numbers, ir.Undefined), lanes)
        return self.builder.icmp_unsigned("<", ir.Constant(numbers, list(range(self.type.count))), limit)

    def load_masked(self, pointer: Any, mask: Any) -> Any:
        """The lanes of `mask`, and 0 in the others, whose memory is not touched."""
        kind = "f32" if self.alignment == 4 else "f64"
        source = self.type.as_pointer()
        name = f"llvm.masked.load.v{self.type.count}{kind}.p0"
        arguments = [source, ir.IntType(32), mask.type, self.type]
        function = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(self.type, arguments), name)
        alignment = ir.Constant(ir.IntType(32), self.alignment)
        return self.builder.call(function, [self.builder.bitcast(pointer, source), alignment, mask, self.zero])

    def store(self, vector: Any, pointer: Any) -> None:
        self.builder.store(vector, self.builder.bitcast(pointer, self.type.as_pointer()), align=self.alignment)

    def splat(self, scalar: Any) -> Any:
        first = self.builder.insert_element(ir.Constant(self.type, ir.Undefined), scalar, ir.Constant(_INT, 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.type.count), [0] * self.type.count)
        return self.builder.shuffle_vector(first, ir.Constant(self.type, ir.Undefined), lanes)

    def add_product(self, total: Any, a: Any, b: Any) -> None:
        """Add a * b to the stack slot `total`; `contract` makes it one instruction, rounded once, where there is one."""
        product = self.builder.fmul(a, b, flags=("contract",))
        self.builder.store(self.builder.fadd(self.builder.load(total), product, flags=("contract",)), total)

    def sum(self, vector: Any) -> Any:
        """The sum of the lanes: halves are added until one lane is left."""
        count = self.type.count
        while count > 1:
            count //= 2
            indices = ir.VectorType(ir.IntType(32), count)
            halves = (
                self.builder.shuffle_vector(vector, vector, ir.Constant(indices, list(range(at, at + count))))
                for at in (0, count)
            )
            vector = self.builder.fadd(*halves)
        return self.builder.extract_element(vector, ir.Constant(_INT, 0))


def _data(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any) -> Any:
    """The pointer to the first element of an array."""
    return context.make_array(array_type)(context, builder, array).data


def _at(builder: ir.IRBuilder, pointer: Any, *offsets: Any) -> Any:
    """The pointer moved on by a number of elements, the sum of `offsets`."""
    for offset in offsets:
        pointer = builder.gep(pointer, [ir.Constant(_INT, offset) if isinstance(offset, int) else offset])
    return pointer


@_intrinsic
def multiply_block(typing, columns, start, taps, weight, bias, out, out_start, pitch, accumulate):
    """ROWS rows of `out`, `pitch` elements apart from `out_start` on, each of VECTORS vectors:

    out[r, j] = bias[r] + sum over k of weight[k, r] * columns[start + taps[k] + j], or with `accumulate` the sum added to
    what is there; nothing is checked.
    """
    signature = types.void(columns, types.int64, taps, weight, bias, out, types.int64, types.int64, types.boolean)

    def emit(context, builder, signature, arguments):
        columns, taps, weight, bias, out = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 4, 5))
        start, out_start, pitch = (arguments[i] for i in (1, 6, 7))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, columns.type.pointee, lanes)
        totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(VECTORS)] for _ in range(ROWS)]
        targets = [_at(builder, out, out_start, builder.mul(pitch, ir.Constant(_INT, r))) for r in range(ROWS)]
        with builder.if_else(arguments[8]) as (more, new):
            with more:
                for row, target in zip(totals, targets):
                    for v, total in enumerate(row):
                        builder.store(vectors.load(_at(builder, target, v * lanes)), total)
            with new:
                for r, row in enumerate(totals):
                    first = vectors.splat(builder.load(_at(builder, bias, r)))
                    for total in row:
                        builder.store(first, total)
        count = context.make_array(signature.args[2])(context, builder, arguments[2]).nitems
        with cgutils.for_range(builder, count) as loop:
            source = _at(builder, columns, start, builder.load(_at(builder, taps, loop.index)))
            values = [vectors.load(_at(builder, source, v * lanes)) for v in range(VECTORS)]
            scales = _at(builder, weight, builder.mul(loop.index, ir.Constant(_INT, ROWS)))
            for r, row in enumerate(totals):
                scale = vectors.splat(builder.load(_at(builder, scales, r)))
                for total, value in zip(row, values):
                    vectors.add_product(total, value, scale)
        for row, target in zip(totals, targets):
            for v, total in enumerate(row):
                vectors.store(builder.load(total), _at(builder, target, v * lanes))
        return context.get_dummy_value()

    return signature, emit


@_intrinsic
def dot_block(typing, g, g_start, rows, columns, start, taps, samples, g_step, step, count, sums):
    """Add to sums[r, t] the products of DOT_ROWS rows of g with DOT_TAPS rows of the columns; nothing is checked.

    Row r of a sample starts at g[g_start + rows[r]], tap t at columns[start + taps[t]]; both have `count` elements. The next
    sample comes `g_step` and `step` elements later.
    """
    integer = types.int64
    signature = types.void(g, integer, rows, columns, integer, taps, integer, integer, integer, integer, sums)

    def emit(context, builder, signature, arguments):
        g, rows, columns, taps, sums = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 5, 10))
        g_start, start, samples, g_step, step, count = (arguments[i] for i in (1, 4, 6, 7, 8, 9))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, columns.type.pointee, lanes)
        totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(DOT_TAPS)] for _ in range(DOT_ROWS)]
        for row in totals:
            for total in row:
                builder.store(vectors.zero, total)
        left = [_at(builder, g, g_start, builder.load(_at(builder, rows, r))) for r in range(DOT_ROWS)]
        right = [_at(builder, columns, start, builder.load(_at(builder, taps, t))) for t in range(DOT_TAPS)]
        whole = builder.udiv(count, ir.Constant(_INT, lanes))
        rest = builder.urem(count, ir.Constant(_INT, lanes))
        mask = vectors.first(rest)

        def add(sample, j, load):
            g_sample, sample_start = builder.mul(sample, g_step), builder.mul(sample, step)
            values = [load(_at(builder, pointer, sample_start, j)) for pointer in right]
            for row, pointer in zip(totals, left):
                scale = load(_at(builder, pointer, g_sample, j))
                for total, value in zip(row, values):
                    vectors.add_product(total, value, scale)

        with cgutils.for_range(builder, samples) as sample:
            with cgutils.for_range(builder, whole) as loop:
                add(sample.index, builder.mul(loop.index, ir.Constant(_INT, lanes)), vectors.load)
            with builder.if_then(builder.icmp_unsigned("!=", rest, ir.Constant(_INT, 0))):
                add(sample.index, builder.mul(whole, ir.Constant(_INT, lanes)), lambda p: vectors.load_masked(p, mask))
        for r, row in enumerate(totals):
            for t, total in enumerate(row):
                target = _at(builder, sums, r * DOT_TAPS + t)
                builder.store(builder.fadd(builder.load(target), vectors.sum(builder.load(total))), target)
        return context.get_dummy_value()

    return signature, emit
