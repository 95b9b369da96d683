"""The products of a step of a recurrent network, in registers, and how its threads see what the others have written."""
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from ..runtime.jit import jit_exact, jit_inline
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, data_of, gep

# Rows of a block. Six with four gates are 24 sums in 32 registers: for each vector of the weight, which comes from the L2 cache,
# that is enough to compute meanwhile. Of 16 registers six rows with two gates at a time fill 12.
MOST_ROWS = 6
_MOST_SUMS = 24 if VECTOR_BYTES == 64 else 12
# As many sums hide the latency of a multiply-add: those of fewer rows and gates are computed in several parts.
_SUMS = 16 if VECTOR_BYTES == 64 else 12


def _gates_at_a_time(row_count: int, gate_count: int) -> list[range]:
    """The gates whose sums are in registers together."""
    passes = -(-row_count * gate_count // _MOST_SUMS)
    each = -(-gate_count // passes)
    return [range(first, min(gate_count, first + each)) for first in range(0, gate_count, each)]


def _parts(sums: int) -> int:
    parts = 1
    while 2 * parts * sums <= _SUMS:
        parts *= 2
    return parts


def _make_multiply(row_count: int, gate_count: int) -> Any:

    def add_up(builder, vectors, starts, weight, count, product, pitch, gates):
        """The sums of some of the gates."""
        lanes, parts, totals = vectors.type.count, _parts(row_count * len(gates)), []
        for _ in starts:
            totals.append([[cgutils.alloca_once(builder, vectors.type) for _ in gates] for _ in range(parts)])
            for part, line in enumerate(totals[-1]):
                for gate, total in zip(gates, line):
                    builder.store(vectors.zero if part else vectors.load(gep(builder, weight, gate * lanes)), total)
        weight = gep(builder, weight, gate_count * lanes)

        def add(k, part):
            source = gep(builder, weight, builder.mul(k, constant(gate_count * lanes)))
            values = [vectors.load(gep(builder, source, gate * lanes)) for gate in gates]
            for start, total in zip(starts, totals):
                scale = vectors.splat(builder.load(gep(builder, start, k)))
                for sum_, value in zip(total[part], values):
                    vectors.add_product(sum_, value, scale)

        whole = builder.and_(count, constant(-parts))
        with cgutils.for_range_slice(builder, constant(0), whole, constant(parts), intp=I64) as (k, _):
            for part in range(parts):
                add(builder.add(k, constant(part)), part)
        if parts > 1:
            with cgutils.for_range_slice(builder, whole, count, constant(1), intp=I64) as (k, _):
                add(k, 0)
        for r, total in enumerate(totals):
            for i, gate in enumerate(gates):
                sums = [builder.load(line[i]) for line in total]
                while len(sums) > 1:
                    sums = [builder.fadd(*sums[at : at + 2]) for at in range(0, len(sums), 2)]
                target = gep(builder, product, builder.mul(pitch, constant(r * gate_count + gate)))
                vectors.store(sums[0], target)

    @intrinsic
    def multiply(typing, lines, line_step, have, weight, count, product, pitch):
        """`gate_count` vectors of each of the first `have` of `row_count` rows of a product, for pointers, unchecked:

        product[(r * gate_count + gate) * pitch + lane] is weight[gate * lanes + lane] plus the sum over k below `count` of
        lines[r * line_step + k] * weight[((k + 1) * gate_count + gate) * lanes + lane]. There is room for all rows.
        """

        def emit(context, builder, signature, arguments):
            lines, line_step, have, weight, count, product, pitch = arguments
            lanes = VECTOR_BYTES // (signature.args[0].dtype.bitwidth // 8)
            vectors = Vectors(builder, lines.type.pointee, lanes)
            last = builder.sub(have, constant(1))
            starts = []
            for r in range(row_count):
                row = constant(r)
                row = builder.select(builder.icmp_signed("<", row, last), row, last)
                starts.append(gep(builder, lines, builder.mul(row, line_step)))
            for gates in _gates_at_a_time(row_count, gate_count):
                add_up(builder, vectors, starts, weight, count, product, pitch, gates)
            return context.get_dummy_value()

        integer = types.int64
        return types.void(lines, integer, integer, weight, integer, product, integer), emit

    return multiply


def _make_block(gate_count: int) -> Any:
    one, two, four, six = (_make_multiply(rows, gate_count) for rows in (1, 2, 4, 6))

    @jit_exact
    def multiply(lines, line_step, have, weight, count, product, pitch):
        """The block for up to MOST_ROWS rows."""
        if have == 1:
            one(lines, line_step, have, weight, count, product, pitch)
        elif have == 2:
            two(lines, line_step, have, weight, count, product, pitch)
        elif have <= 4:
            four(lines, line_step, have, weight, count, product, pitch)
        else:
            six(lines, line_step, have, weight, count, product, pitch)

    return multiply


#: By the number of gates.
MULTIPLY = {count: _make_block(count) for count in (1, 3, 4)}


@jit_inline
def block_rows(left):
    """How many of `left` rows to compute at a time: of 8, the weight is read twice either way, and two rows wait for it."""
    return 4 if 6 < left <= 8 else min(MOST_ROWS, left)


@intrinsic
def acquire(typing, flags, index):
    """``flags[index]``, and what another thread wrote before it set that by `release`."""

    def emit(context, builder, signature, arguments):
        pointer = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(flags, types.int64), emit


@intrinsic
def release(typing, flags, index, value):
    """``flags[index] = value``, which other threads see no sooner than all that this one wrote before."""

    def emit(context, builder, signature, arguments):
        pointer = gep(builder, data_of(context, builder, signature.args[0], arguments[0]), arguments[1])
        builder.store_atomic(arguments[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(flags, types.int64, types.int64), emit
