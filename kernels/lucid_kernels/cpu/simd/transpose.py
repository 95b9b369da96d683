"""Squares of a matrix transposed in registers."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from ..runtime.intrinsic import constant, intrinsic
from .ir import Vectors, gep
from .pointer import lanes_of

_QUARTERS = 4  # of a vector of 64 bytes: 16 bytes, within which a shuffle may interleave


def transposed(builder: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """The columns of a square block: of as many vectors as each has lanes. 4 (3) shuffles a vector, of one instruction each.

    First each square of 16 bytes' side is transposed where it lies, then the quarters of the vectors change places.
    """
    lanes = len(rows)
    side = lanes // _QUARTERS

    def shuffle(one: Any, other: Any, wanted: list[int]) -> Any:
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), lanes), wanted))

    def interleaved(one: Any, other: Any, size: int) -> list[Any]:
        """Groups of `size` lanes of both in turn, from the first and from the second half of each quarter."""
        return [shuffle(one, other, [vector + quarter + half + group + lane for quarter in range(0, lanes, side)
                                     for group in range(0, side // 2, size) for vector in (0, lanes) for lane in range(size)])
                for half in (0, side // 2)]  # fmt: skip

    def quarters(one: Any, other: Any, chosen: tuple[int, int]) -> Any:
        return shuffle(one, other, [vector + side * quarter + lane for vector in (0, lanes) for quarter in chosen
                                    for lane in range(side)])  # fmt: skip

    squares = []  # squares[g][c]: column c of the squares in the rows from g * side on, one in each quarter
    for first in range(0, lanes, side):
        columns = rows[first : first + side]
        if side == 2:
            columns = interleaved(columns[0], columns[1], 1)
        elif side == 4:
            (a, b), (c, d) = (interleaved(columns[i], columns[i + 1], 1) for i in (0, 2))
            columns = [*interleaved(a, c, 2), *interleaved(b, d, 2)]
        squares.append(columns)
    result: list[Any] = [None] * lanes
    for c in range(side):
        for half, chosen in enumerate(((0, 1), (2, 3))):
            upper, lower = (quarters(squares[g][c], squares[g + 1][c], chosen) for g in (0, 2))
            for odd in (0, 1):
                result[(2 * half + odd) * side + c] = quarters(upper, lower, (odd, odd + 2))
    return result


def _make_transpose(in_part: bool) -> Any:
    def emit(context, builder, signature, arguments):
        source, pitch, target, width, *reached = arguments
        lanes = lanes_of(signature.args[0])
        vectors = Vectors(builder, source.type.pointee, lanes)
        indices = [constant(r) for r in range(lanes)]
        for count in reached:
            last = builder.sub(count, constant(1))
            indices = [builder.select(builder.icmp_signed("<", r, last), r, last) for r in indices]
        rows = [vectors.load(gep(builder, source, builder.mul(pitch, r))) for r in indices]
        for j, column in enumerate(transposed(builder, rows)):
            vectors.store(column, gep(builder, target, builder.mul(width, constant(j))))
        return context.get_dummy_value()

    if in_part:

        @intrinsic
        def transpose_rows(typing, source, pitch, target, width, rows):
            """`transpose_block` of the first `rows` rows, at least one; the last one fills the others' columns."""
            return types.void(source, types.int64, target, types.int64, types.int64), emit

        return transpose_rows

    @intrinsic
    def transpose_block(typing, source, pitch, target, width):
        """target[j * width + r] = source[r * pitch + j] for a square block, one vector's lanes wide."""
        return types.void(source, types.int64, target, types.int64), emit

    return transpose_block


transpose_block, transpose_rows = _make_transpose(False), _make_transpose(True)
