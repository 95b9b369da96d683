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
# `dot_block` computes the products of DOT_ROWS rows with DOT_TAPS rows: 16 (8) sums.
DOT_ROWS = 4 if _WIDE else 2
DOT_TAPS = 4

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
def multiply_block(typing, columns, start, taps, weight, bias, out, out_start, pitch):
    """ROWS rows of `out`, `pitch` elements apart from `out_start` on, each of VECTORS vectors:

    out[r, j] = bias[r] + sum over k of weight[k, r] * columns[start + taps[k] + j]; nothing is checked.
    """
    signature = types.void(columns, types.int64, taps, weight, bias, out, types.int64, types.int64)

    def emit(context, builder, signature, arguments):
        columns, taps, weight, bias, out = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 4, 5))
        start, out_start, pitch = (arguments[i] for i in (1, 6, 7))
        lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
        vectors = _Vectors(builder, columns.type.pointee, lanes)
        totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(VECTORS)] for _ in range(ROWS)]
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
        for r, row in enumerate(totals):
            target = _at(builder, out, out_start, builder.mul(pitch, ir.Constant(_INT, r)))
            for v, total in enumerate(row):
                vectors.store(builder.load(total), _at(builder, target, v * lanes))
        return context.get_dummy_value()

    return signature, emit


def _make_dot_block(vector_bytes: int) -> Any:
    @_intrinsic
    def dot_block(typing, g, rows, columns, taps, samples, g_step, step, vectors_each, sums):
        """Add to sums[r, t] the products of DOT_ROWS rows of g with DOT_TAPS rows of the columns; nothing is checked.

        Row r of a sample starts at g[rows[r]], tap t at columns[taps[t]]; both have `vectors_each` vectors. The next
        sample comes `g_step` and `step` elements later.
        """
        integer = types.int64
        signature = types.void(g, rows, columns, taps, integer, integer, integer, integer, sums)

        def emit(context, builder, signature, arguments):
            g, rows, columns, taps, sums = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 2, 3, 8))
            samples, g_step, step, vectors_each = arguments[4:8]
            lanes = max(1, vector_bytes // (signature.args[0].dtype.bitwidth // 8))
            vectors = _Vectors(builder, columns.type.pointee, lanes)
            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(DOT_TAPS)] for _ in range(DOT_ROWS)]
            for row in totals:
                for total in row:
                    builder.store(vectors.zero, total)
            left = [_at(builder, g, builder.load(_at(builder, rows, r))) for r in range(DOT_ROWS)]
            right = [_at(builder, columns, builder.load(_at(builder, taps, t))) for t in range(DOT_TAPS)]
            with cgutils.for_range(builder, samples) as sample:
                g_sample, sample_start = builder.mul(sample.index, g_step), builder.mul(sample.index, step)
                with cgutils.for_range(builder, vectors_each) as loop:
                    j = builder.mul(loop.index, ir.Constant(_INT, lanes))
                    values = [vectors.load(_at(builder, pointer, sample_start, j)) for pointer in right]
                    for row, pointer in zip(totals, left):
                        scale = vectors.load(_at(builder, pointer, g_sample, j))
                        for total, value in zip(row, values):
                            vectors.add_product(total, value, scale)
            for r, row in enumerate(totals):
                for t, total in enumerate(row):
                    target = _at(builder, sums, r * DOT_TAPS + t)
                    builder.store(builder.fadd(builder.load(target), vectors.sum(builder.load(total))), target)
            return context.get_dummy_value()

        return signature, emit

    return dot_block


dot_block = _make_dot_block(VECTOR_BYTES)
# The positions of a row that do not fill a vector.
dot_block_scalar = _make_dot_block(0)
