"""Panels: an operand of a matrix product, copied into the order in which the register blocks read it.

A *panel* holds a few *lines* (rows of the left operand, columns of the right one), one step of the sum after the other. So a
product reads it from one end to the other whatever the strides were, and an edge is a panel filled up with zeros. The blocks are
those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

from ._compile import jit
from ._microkernels import PROCESSOR, ROWS, VECTOR_BYTES, _at, _unrolled, _Vectors

ROW_BLOCK = ROWS  # rows of the result that are computed at a time
# Vectors of a panel of columns. With three of 64 bytes products of 1024 rows take 0.9 of the time, but what is left of
# 64 columns fills a third of one: 1x1 taps of 56x56 positions take up to 1.24.
VECTORS = 2 if VECTOR_BYTES == 64 else 3
# Bytes of one step of a panel of rows, those of a register block or two, and of one of columns; a narrow one has only a vector.
ROW_PANEL_BYTES, COLUMN_PANEL_BYTES = VECTOR_BYTES, VECTORS * VECTOR_BYTES
# Panels of rows that are packed at a time. More, a power of two apart, would push each other out of the L1 cache: twice the time.
_ROW_PANELS = 8
# Whether to ask, within the loop of a product, for what the processor finds by itself, where rows stay in the L2 cache, and for
# what the next block writes. On a Zen 5, which starts two multiply-adds of 64 bytes in a cycle and two loads, the questions cost
# more than they save: without, 1x1 taps take 0.8 to 0.98 of the time, and a GPT's products 0.96 to 0.98.
ASKS_WITHIN = PROCESSOR != "znver5"
# Steps of a sum in one iteration of a product's loop. The questions of each step and its bookkeeping take as many instructions as
# its multiply-adds. A Zen 3 starts six instructions in a cycle: 45 GFLOP/s of 95. Four steps, without questions for what the
# next block needs, which gain nothing there, take half of the time.
STEPS = 1 if VECTOR_BYTES == 64 else 4
# Products that are added up at a time without AVX-512: of 512 in a row the largest error was 2.0 to 2.6 times PyTorch's.
_PRODUCTS = 128
EACH_STEP = 1 << 16  # the `pace` of a line with each step of a sum
_QUARTERS = 4  # of a vector of 64 bytes: 16 bytes, within which a shuffle may interleave

# Numba's type of what `intrinsic` returns has the typing context among the arguments of a call.
_intrinsic: Any = intrinsic
_carray: Any = carray
_INT = ir.IntType(64)


def _lanes(pointer_type: Any) -> int:
    return VECTOR_BYTES // (pointer_type.dtype.bitwidth // 8)


@_intrinsic
def pointer(typing, like, address):
    """The pointer to elements of the dtype of the array `like` at `address`."""

    def emit(context, builder, signature, arguments):
        return builder.inttoptr(arguments[1], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(like, types.int64), emit


@_intrinsic
def moved(typing, pointer, elements):
    """The pointer `elements` further on."""

    def emit(context, builder, signature, arguments):
        return _at(builder, *arguments)

    return pointer(pointer, types.int64), emit


def _make_multiply(packed: bool, columns: int, asks: bool = True) -> Any:
    @_intrinsic
    def multiply(typing, a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace):
        """ROW_BLOCK rows of c, `pitch` elements apart and `columns` vectors wide, are a @ b, and with `add` that plus `added`.

        `b` is a panel of columns of `count` steps; `a` lies in one of rows if `packed`, else the rows lie `line_step` apart. The
        rows of `added`, which may be those of c, are `added_pitch` apart, 0 for the same row always. Meanwhile it asks for two
        lines of each step of what will be packed next, at `later` and `later_step` elements apart: `pace` / EACH_STEP lines with
        each step of the sum. If it `asks`, then for what the next block needs as well, unless it takes several STEPS at a time.
        Nothing is checked.
        """

        def emit(context, builder, signature, arguments):
            a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace = arguments
            lanes = _lanes(signature.args[0])
            vectors = _Vectors(builder, a.type.pointee, lanes)

            def rows(start, step):
                return [_at(builder, start, builder.mul(step, ir.Constant(_INT, r))) for r in range(ROW_BLOCK)]

            def fetch_later(step):
                """Of many lines at once the processor drops some, and the others keep it from reading what it needs at once."""
                line = builder.udiv(builder.mul(step, pace), ir.Constant(_INT, EACH_STEP))
                half = builder.mul(builder.and_(line, ir.Constant(_INT, 1)), ir.Constant(_INT, (columns - 1) * lanes))
                place = builder.add(builder.mul(builder.lshr(line, ir.Constant(_INT, 1)), later_step), half)
                vectors.prefetch(_at(builder, later, place), write=False, level=2)

            def fetch_next(step):
                """Ask for a line of what the next block of rows writes, and for one of what it reads, unless that is packed.

                What is read goes to the L2 cache: rows may lie 4 KiB apart, where the L1 cache has room for those of one block
                only.
                """
                row = builder.add(builder.and_(step, ir.Constant(_INT, ROW_BLOCK - 1)), ir.Constant(_INT, ROW_BLOCK))
                if ASKS_WITHIN:
                    lines = ir.Constant(_INT, (1 << (columns - 1).bit_length()) - 1)  # of three vectors the one behind them too
                    vector = builder.and_(builder.udiv(step, ir.Constant(_INT, ROW_BLOCK)), lines)
                    vectors.prefetch(_at(builder, c, builder.mul(row, pitch), builder.mul(vector, ir.Constant(_INT, lanes))))
                if not packed:
                    line = builder.and_(step, ir.Constant(_INT, -lanes))
                    vectors.prefetch(_at(builder, a, builder.mul(row, line_step), line), write=False, level=2)

            totals = [[cgutils.alloca_once(builder, vectors.type) for _ in range(columns)] for _ in range(ROW_BLOCK)]
            targets, starts = rows(c, pitch), rows(a, ir.Constant(_INT, 1) if packed else line_step)

            def fetch_together(first):
                with builder.if_then(builder.icmp_signed(">", pace, ir.Constant(_INT, 0))):
                    for number in range(STEPS):
                        fetch_later(builder.add(first, ir.Constant(_INT, number)))

            def multiply_step(index):
                source = _at(builder, b, builder.mul(index, ir.Constant(_INT, columns * lanes)))
                values = [vectors.load(_at(builder, source, v * lanes)) for v in range(columns)]
                step = builder.mul(index, ir.Constant(_INT, lanes if packed else 1))
                if STEPS == 1:
                    fetch_later(index)
                    if asks:
                        fetch_next(index)
                for line, start in zip(totals, starts):
                    scale = vectors.splat(builder.load(_at(builder, start, step)))
                    for total, value in zip(line, values):
                        vectors.add_product(total, value, scale)

            def add_up(first, steps, add, to, to_pitch):
                for line in totals:
                    for total in line:
                        builder.store(vectors.zero, total)
                if STEPS == 1:
                    _unrolled(builder, steps, 1, multiply_step)
                else:
                    _unrolled(builder, steps, STEPS, lambda step: multiply_step(builder.add(first, step)),
                              lambda step: fetch_together(builder.add(first, step)))
                vectors.store_sums(totals, targets, add, rows(to, to_pitch))

            zero, most = ir.Constant(_INT, 0), ir.Constant(_INT, _PRODUCTS)
            if STEPS == 1:
                add_up(zero, count, add, added, added_pitch)
                return context.get_dummy_value()
            with cgutils.for_range_slice(builder, zero, count, most, intp=_INT) as (done, _):
                left, begun = builder.sub(count, done), builder.icmp_signed("!=", done, zero)
                steps = builder.select(builder.icmp_signed("<", left, most), left, most)
                add_up(done, steps, builder.or_(add, begun), builder.select(begun, c, added),
                       builder.select(begun, pitch, added_pitch))
            return context.get_dummy_value()

        integer = types.int64
        return types.void(a, integer, b, integer, c, integer, types.boolean, added, integer, later, integer, integer), emit

    return multiply


_multiply_rows, _multiply_panel = (_make_multiply(packed, VECTORS) for packed in (False, True))
_multiply_narrow_rows, _multiply_narrow_panel = (_make_multiply(packed, 1) for packed in (False, True))
_multiply_few_rows, _multiply_narrow_few_rows = (_make_multiply(False, columns, ASKS_WITHIN) for columns in (VECTORS, 1))


@jit
def multiply_block(a: Any, packed: bool, line_step: int, b: Any, narrow: bool, count: int, c: Any, pitch: int, add: bool,
                   added: Any, added_pitch: int, later: Any, later_step: int, pace: int) -> None:
    """The register block of `_make_multiply`, for rows that are packed into a panel or not, and a panel of columns as wide as
    others or, `narrow`, of one vector.
    """
    if narrow:
        if packed:
            _multiply_narrow_panel(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
        else:
            _multiply_narrow_rows(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
    elif packed:
        _multiply_panel(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
    else:
        _multiply_rows(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)


@jit
def multiply_near(a: Any, line_step: int, b: Any, narrow: bool, count: int, c: Any, pitch: int, add: bool, added: Any,
                  added_pitch: int, later: Any, later_step: int, pace: int) -> None:
    """`multiply_block` for rows that are not packed, few enough to stay in the L2 cache."""
    if narrow:
        _multiply_narrow_few_rows(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)
    else:
        _multiply_few_rows(a, line_step, b, count, c, pitch, add, added, added_pitch, later, later_step, pace)


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


@_intrinsic
def transpose_block(typing, source, pitch, target, width):
    """target[j * width + r] = source[r * pitch + j] for a square block, one vector's lanes wide."""

    def emit(context, builder, signature, arguments):
        source, pitch, target, width = arguments
        lanes = _lanes(signature.args[0])
        vectors = _Vectors(builder, source.type.pointee, lanes)
        rows = [vectors.load(_at(builder, source, builder.mul(pitch, ir.Constant(_INT, r)))) for r in range(lanes)]
        for j, column in enumerate(transposed(builder, rows)):
            vectors.store(column, _at(builder, target, builder.mul(width, ir.Constant(_INT, j))))
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), emit


@_intrinsic
def add_panel(typing, panel, count, sums):
    """sums[r] += the sum of row r of a panel of rows, a vector wide, over `count` steps; `sums` is of float64."""

    def emit(context, builder, signature, arguments):
        panel, count, sums = arguments
        lanes = _lanes(signature.args[0])
        vectors = _Vectors(builder, panel.type.pointee, lanes)
        wide = _Vectors(builder, sums.type.pointee, lanes)
        totals = [cgutils.alloca_once(builder, wide.type) for _ in range(2)]  # two, as an addition waits for the one before

        def add(total, step):
            values = vectors.load(_at(builder, panel, builder.mul(step, ir.Constant(_INT, lanes))))
            if values.type != wide.type:
                values = builder.fpext(values, wide.type)
            builder.store(builder.fadd(builder.load(total), values), total)

        for total in totals:
            builder.store(wide.zero, total)
        one, two = ir.Constant(_INT, 1), ir.Constant(_INT, 2)
        with cgutils.for_range_slice(builder, ir.Constant(_INT, 0), builder.sub(count, one), two, intp=_INT) as (step, _):
            add(totals[0], step)
            add(totals[1], builder.add(step, one))
        with builder.if_then(builder.trunc(count, ir.IntType(1))):
            add(totals[0], builder.sub(count, one))
        total = builder.fadd(*map(builder.load, totals))
        wide.store(builder.fadd(wide.load(sums), total), sums)
        return context.get_dummy_value()

    return types.void(panel, types.int64, sums), emit


def _make_copy(count: int) -> Any:
    @_intrinsic
    def copy(typing, source, target):
        """Copy `count` vectors."""

        def emit(context, builder, signature, arguments):
            source, target = arguments
            lanes = _lanes(signature.args[0])
            vectors = _Vectors(builder, source.type.pointee, lanes)
            for v in range(count):
                vectors.store(vectors.load(_at(builder, source, v * lanes)), _at(builder, target, v * lanes))
            return context.get_dummy_value()

        return types.void(source, target), emit

    return copy


copy_narrow, _copy_wide = _make_copy(1), _make_copy(VECTORS)


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
def pack_columns(source: Any, step_of_columns: int, depth_step: int, columns: int, depth: int, width: int, lanes: int,
                 target: Any) -> None:
    """Columns in panels of `width`, the last one filled up with zeros; a vector has `lanes` elements, one of the steps is 1."""
    panel, whole_columns, whole = width * depth, columns - columns % width, depth
    if step_of_columns == 1:
        for column in range(0, whole_columns, width):
            for step in range(depth):
                line, there = moved(source, step * depth_step + column), moved(target, column * depth + step * width)
                if width == lanes:
                    copy_narrow(line, there)
                else:
                    _copy_wide(line, there)
    elif depth < lanes:
        whole = 0
    else:
        whole_columns = columns - columns % lanes
        for column in range(0, whole_columns, lanes):
            start = column // width * panel + column % width
            for first in range(0, depth, lanes):
                step = min(first, depth - lanes)  # the last block may copy some steps again
                block = moved(source, column * step_of_columns + step)
                transpose_block(block, step_of_columns, moved(target, start + step * width), width)
    padded = (columns + width - 1) // width * width
    x = _carray(source, (columns * step_of_columns + depth * depth_step,))
    y = _carray(target, (padded * depth,))
    for column in range(padded):
        start = column // width * panel + column % width
        for step in range(whole if column < whole_columns else 0, depth):
            y[start + step * width] = x[column * step_of_columns + step * depth_step] if column < columns else y.dtype.type(0)
