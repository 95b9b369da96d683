"""Loops whose sums stay in vector registers, written as LLVM IR: the inner loops of the direct convolution.

Numba leaves sums in memory: a loop over arrays with one load and one store of each sum for every few products reaches
three quarters of the speed of these. The sums are stack slots here; LLVM makes registers of them, provided there are
few enough: the block sizes are chosen for 32 registers (AVX-512) or 16.
"""
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from ...runtime.intrinsic import I64, constant, intrinsic
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep

# `multiply_block` computes ROWS output channels at VECTORS vectors of positions: 24 (12) sums. With 16, which take more loads for
# each multiply-add, convolutions took 1.05 to 1.25 times as long on a Zen 5. Without AVX-512 two multiply-adds start in a cycle
# and take four or five: 8 sums took 1.2 to 1.3 times as long for 1x1 taps and 7x7 taps.
BLOCK_ROWS = {32: 4, 64: 8}  # by the bytes of a vector
ROWS, VECTORS = BLOCK_ROWS[VECTOR_BYTES], 3
# Products that these add up at a time: with up to 256 in a row, gradients of convolutions had up to 3.3
# times the largest error of PyTorch's, and grouped convolutions, up to 192, 2.4 times. Those of 7x7 taps of 3 channels are two
# parts; with 64 they took 1.05 of the time without AVX-512.
PRODUCTS = 80

# The vectors of positions of a block with all results of a group that has few, by their number: sums that fill the registers, or
# hide the latency of an addition. Other groups have blocks of ROWS.
_VECTORS_OF = {32: (0, 8, 4, 3, VECTORS), 64: (0, 8, 8, 7, 6, 0, 0, 0, VECTORS)}
VECTORS_OF = _VECTORS_OF[VECTOR_BYTES]


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
            targets = [gep(builder, out, out_start, builder.mul(pitch, constant(r))) for r in range(row_count)]
            # Prefetched while the sums are computed, also if they are only written: a store waits for its line.
            for target in targets:
                for v in range(vector_count):
                    vectors.prefetch(gep(builder, target, v * lanes))
            rows = [gep(builder, weight, first, builder.mul(row_step, constant(r))) for r in range(row_count)]
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

            zero, most = constant(0), constant(PRODUCTS)
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


def is_few(results: int, vector_bytes: int = VECTOR_BYTES) -> bool:
    """Whether groups of so many results have blocks of their own."""
    return results < len(_VECTORS_OF[vector_bytes]) - 1 and _VECTORS_OF[vector_bytes][results] > 0


def rows_of(results: int) -> tuple[int, ...]:
    """The rows of a block, from 0 on, for groups of so many results: kernels are compiled for the length of the tuple."""
    return tuple(range(results if is_few(results) else ROWS))


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


