"""Panels: an operand of a matrix product, copied into the order in which the register blocks read it.

A *panel* holds a few *lines* (rows of the left operand, columns of the right one), one step of the sum after the other. So a
product reads it from one end to the other whatever the strides were, and an edge is a panel filled up with zeros. Source: Goto
and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]

from ._compile import jit
from ._intrinsic import I64, intrinsic
from ._microkernels import VECTOR_BYTES, Vectors, gep

VECTORS = 2  # of a panel of columns; a narrow one has only one
# Panels of rows that are packed at a time. More, a power of two apart, would push each other out of the L1 cache: twice the time.
_ROW_PANELS = 8
_QUARTERS = 4  # of a vector of 64 bytes: 16 bytes, within which a shuffle may interleave

# Numba's type of what `intrinsic` returns has the typing context among the arguments of a call.
_carray: Any = carray


def lanes_of(pointer_type: Any) -> int:
    return VECTOR_BYTES // (pointer_type.dtype.bitwidth // 8)


@intrinsic
def pointer(typing, like, address):
    """The pointer to elements of the dtype of the array `like` at `address`."""

    def emit(context, builder, signature, arguments):
        return builder.inttoptr(arguments[1], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(like, types.int64), emit


@intrinsic
def moved(typing, pointer, elements):
    """The pointer `elements` further on."""

    def emit(context, builder, signature, arguments):
        return gep(builder, *arguments)

    return pointer(pointer, types.int64), emit


def transposed(builder: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """The columns of a square block: of as many vectors as each has lanes. 4 (3) shuffles a vector, of one instruction each.

    First each square of 16 bytes' side is transposed where it lies, then the quarters of the vectors change places.
    """
    lanes = len(rows)
    side = lanes // _QUARTERS

    def shuffle(one: Any, other: Any, places: list[int]) -> Any:
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), lanes), places))

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
        numbers = [ir.Constant(I64, r) for r in range(lanes)]
        for count in reached:
            last = builder.sub(count, ir.Constant(I64, 1))
            numbers = [builder.select(builder.icmp_signed("<", r, last), r, last) for r in numbers]
        rows = [vectors.load(gep(builder, source, builder.mul(pitch, r))) for r in numbers]
        for j, column in enumerate(transposed(builder, rows)):
            vectors.store(column, gep(builder, target, builder.mul(width, ir.Constant(I64, j))))
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


def make_copy(count: int) -> Any:
    @intrinsic
    def copy(typing, source, target):
        """Copy `count` vectors."""

        def emit(context, builder, signature, arguments):
            source, target = arguments
            lanes = lanes_of(signature.args[0])
            vectors = Vectors(builder, source.type.pointee, lanes)
            for v in range(count):
                vectors.store(vectors.load(gep(builder, source, v * lanes)), gep(builder, target, v * lanes))
            return context.get_dummy_value()

        return types.void(source, target), emit

    return copy


copy_narrow = make_copy(1)


@jit
def pack_rows(source: Any, depth_step: int, rows: int, depth: int, width: int, target: Any) -> None:
    """Rows whose elements of one step are contiguous, in panels of `width`, a vector; the last one is filled up with zeros."""
    whole = rows - rows % width
    for first in range(0, whole, _ROW_PANELS * width):
        for step in range(depth):
            for row in range(first, min(whole, first + _ROW_PANELS * width), width):
                copy_narrow(moved(source, step * depth_step + row), moved(target, row * depth + step * width))
    if rows > whole:
        x = _carray(source, (rows + depth * depth_step,))
        y = _carray(target, ((whole + width) * depth,))[whole * depth :]
        for step in range(depth):
            for row in range(whole, whole + width):
                y[step * width + row - whole] = x[step * depth_step + row] if row < rows else y.dtype.type(0)


@jit
def copy_strip(source: Any, column_step: int, depth_step: int, columns: int, depth: int, lanes: int, target: Any,
               width: int) -> None:
    """target[step, column] = source, for rows of the target that are `width` apart, whole vectors of `lanes`.

    Where the steps are contiguous, the last column fills up its vector.
    """
    whole = 0
    if column_step == 1:
        whole = columns - columns % lanes
        for column in range(0, whole, lanes):
            for step in range(depth):
                copy_narrow(moved(source, step * depth_step + column), moved(target, step * width + column))
    elif depth_step == 1 and depth >= lanes:
        whole = columns
        for column in range(0, columns, lanes):
            for first in range(0, depth, lanes):
                step = min(first, depth - lanes)  # the last block may copy some steps again
                line, there = moved(source, column * column_step + step), moved(target, step * width + column)
                transpose_rows(line, column_step, there, width, columns - column)
    x, y = _carray(source, (columns * column_step + depth * depth_step,)), _carray(target, (depth * width,))
    for column in range(whole, columns):
        for step in range(depth):
            y[step * width + column] = x[column * column_step + step * depth_step]
