"""Copies between addresses, in LLVM IR: rows of bytes, rows of one element each, and tiles of a transposition, whose rows become
columns in registers.

Nothing is checked. Addresses need not be multiples of anything; with `stream` whole vectors are non-temporal.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from .cpu_features import VECTOR_BYTES
from .ir import shuffle, splat
from .nontemporal import streamed

_BYTE = ir.IntType(8)
_PAGE = 4096
# Rows of the largest tile: half of the registers.
_LANES = 16


def side(size: int) -> int:
    """The rows and columns of a tile of elements of `size` bytes."""
    return min(_LANES, VECTOR_BYTES // size)


def _pointer(builder: ir.IRBuilder, address: Any, kind: ir.Type) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _copy(builder: ir.IRBuilder, source: Any, target: Any, kind: ir.Type) -> Any:
    """Copy a `kind` between addresses; the store."""
    return builder.store(builder.load(_pointer(builder, source, kind), align=1), _pointer(builder, target, kind), align=1)


def prefetch_line(builder: ir.IRBuilder, address: Any, write: bool = False) -> None:
    """Prefetch the cache line of an address, to be read or written."""
    kinds = [ir.Constant(ir.IntType(32), number) for number in (int(write), 3, 1)]
    signature = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), *(kind.type for kind in kinds)])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    builder.call(function, [_pointer(builder, address, _BYTE), *kinds])


def _ends(builder: ir.IRBuilder, source: Any, target: Any, count: Any, size: int) -> None:
    """Copy `count` bytes, from `size` to 2 * `size`, as two pieces of that size, which may overlap."""
    kind = ir.VectorType(_BYTE, size)
    _copy(builder, source, target, kind)
    end = builder.sub(count, constant(size))
    _copy(builder, builder.add(source, end), builder.add(target, end), kind)


@intrinsic
def copy_bytes(typing, source, source_pitch, target, target_pitch, rows, count, stream):
    """Copy `rows` rows of `count` bytes, which start at the addresses `source` and `target` and `..._pitch` bytes later each.

    It prefetches rows that follow: the processor does not foresee where they are. Rows of a page and more are left to `memcpy`,
    which writes whole lines without reading them.
    """
    signature = types.void(*(types.int64,) * 6, types.boolean)

    def emit(context, builder, signature, arguments):
        source, source_pitch, target, target_pitch, rows, count, stream = arguments
        vector = ir.VectorType(_BYTE, VECTOR_BYTES)
        # As many rows as a page has bytes: the next one comes too late.
        rows_ahead = builder.add(builder.udiv(constant(_PAGE), count), constant(1))
        ahead = builder.mul(rows_ahead, source_pitch)

        def copy_vectors(source: Any, target: Any, start: Any, aligned: bool) -> None:
            """The whole vectors from `start` on."""
            end = builder.sub(count, constant(VECTOR_BYTES - 1))
            with cgutils.for_range_slice(builder, start, end, constant(VECTOR_BYTES), intp=I64) as (at, _):
                prefetch_line(builder, builder.add(builder.add(source, at), ahead))
                store = _copy(builder, builder.add(source, at), builder.add(target, at), vector)
                if aligned:
                    store.align = VECTOR_BYTES
                    streamed(builder, store)

        def copy_long(source: Any, target: Any) -> None:
            """Whole vectors, and one at each end that is not, which overlaps them."""
            end = builder.sub(count, constant(VECTOR_BYTES))
            with builder.if_else(stream) as (then, otherwise):
                with then:
                    gap = builder.and_(builder.neg(target), constant(VECTOR_BYTES - 1))
                    rest = builder.and_(builder.sub(count, gap), constant(VECTOR_BYTES - 1))
                    with builder.if_then(builder.icmp_unsigned("!=", gap, constant(0))):
                        _copy(builder, source, target, vector)
                    copy_vectors(source, target, gap, True)
                    with builder.if_then(builder.icmp_unsigned("!=", rest, constant(0))):
                        _copy(builder, builder.add(source, end), builder.add(target, end), vector)
                with otherwise, builder.if_else(builder.icmp_signed(">=", count, constant(_PAGE))) as (whole, parts):
                    with whole:
                        destination, origin = (_pointer(builder, address, _BYTE) for address in (target, source))
                        cgutils.raw_memcpy(builder, destination, origin, count, 1)
                    with parts:
                        copy_vectors(source, target, constant(0), False)
                        _copy(builder, builder.add(source, end), builder.add(target, end), vector)

        def copy_short(source: Any, target: Any, size: int) -> None:
            """Less than 2 * `size` bytes."""
            with builder.if_else(builder.icmp_signed(">=", count, constant(size))) as (then, otherwise):
                with then:
                    _ends(builder, source, target, count, size)
                with otherwise:
                    if size > 1:
                        copy_short(source, target, size // 2)

        with cgutils.for_range(builder, rows) as row:
            start = builder.add(source, builder.mul(row.index, source_pitch))
            end = builder.add(target, builder.mul(row.index, target_pitch))
            with builder.if_else(builder.icmp_signed(">=", count, constant(2 * VECTOR_BYTES))) as (then, otherwise):
                with then:
                    copy_long(start, end)
                with otherwise:
                    copy_short(start, end, VECTOR_BYTES)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def fill_rows(typing, kind, source, source_pitch, target, target_pitch, rows, count, stream):
    """Fill `rows` rows of `count` bytes, `target_pitch` bytes apart from `target` on, each with its element of those at `source`,
    `source_pitch` bytes apart and as large as those of the array `kind`.

    With `stream`, elements of the target begin at multiples of their size.
    """
    signature = types.void(kind, *(types.int64,) * 6, types.boolean)

    def emit(context, builder, signature, arguments):
        kind, (_, source, source_pitch, target, target_pitch, rows, count, stream) = signature.args[0].dtype, arguments
        size = kind.bitwidth // 8
        element, lanes = ir.IntType(kind.bitwidth), VECTOR_BYTES // size

        def store(value: Any, pointer: Any, aligned: bool = False) -> None:
            stored = builder.store(value, _pointer(builder, pointer, value.type), align=VECTOR_BYTES if aligned else 1)
            if aligned:
                streamed(builder, stored)

        def fill_vectors(target: Any, start: Any, value: Any, aligned: bool) -> None:
            """The whole vectors from `start` on, and one at the end, which may overlap them."""
            end = builder.sub(count, constant(VECTOR_BYTES - 1))
            with cgutils.for_range_slice(builder, start, end, constant(VECTOR_BYTES), intp=I64) as (at, _):
                store(value, builder.add(target, at), aligned)
            store(value, builder.add(target, builder.sub(count, constant(VECTOR_BYTES))))

        with cgutils.for_range(builder, rows) as row:
            begin = builder.add(target, builder.mul(row.index, target_pitch))
            number = builder.load(_pointer(builder, builder.add(source, builder.mul(row.index, source_pitch)), element), align=1)
            value = splat(builder, number, lanes)
            with builder.if_else(builder.icmp_signed(">=", count, constant(VECTOR_BYTES))) as (long, short):
                with long, builder.if_else(stream) as (then, otherwise):
                    with then:
                        store(value, begin)
                        fill_vectors(begin, builder.and_(builder.neg(begin), constant(VECTOR_BYTES - 1)), value, True)
                    with otherwise:
                        fill_vectors(begin, constant(0), value, False)
                with short, cgutils.for_range_slice(builder, constant(0), count, constant(size), intp=I64) as (at, _):
                    store(number, builder.add(begin, at))
        return context.get_dummy_value()

    return signature, emit


def _transposed(builder: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """The columns of a square of vectors: halves of ever smaller squares change places."""
    count, distance = len(rows), 1
    while distance < count:
        first = [lane if not lane & distance else count + lane - distance for lane in range(count)]
        second = [lane + distance if not lane & distance else count + lane for lane in range(count)]
        for at in range(count):
            if not at & distance:
                pair = rows[at], rows[at + distance]
                rows[at], rows[at + distance] = (shuffle(builder, *pair, lanes) for lanes in (first, second))
        distance *= 2
    return rows


@intrinsic
def copy_tiles(typing, kind, source, source_pitch, target, target_pitch, tiles, ahead, stream):
    """Transpose `tiles` tiles of `side` rows and columns, for elements as large as those of the array `kind`:

    element c of row r, rows `source_pitch` bytes apart, becomes element r of row c, rows `target_pitch` bytes apart. A tile
    begins `side` rows of the source below the one before it. What is `ahead` bytes from the rows is prefetched.
    """
    signature = types.void(kind, *(types.int64,) * 6, types.boolean)

    def emit(context, builder, signature, arguments):
        _, source, source_pitch, target, target_pitch, tiles, ahead, stream = arguments
        size = signature.args[0].dtype.bitwidth // 8
        count = side(size)
        vector = ir.VectorType(ir.IntType(8 * size), count)
        with cgutils.for_range(builder, tiles) as tile:
            first = builder.add(source, builder.mul(builder.mul(tile.index, constant(count)), source_pitch))
            rows = []
            for number in range(count):
                pointer = builder.add(first, builder.mul(source_pitch, constant(number)))
                prefetch_line(builder, builder.add(pointer, ahead))
                rows.append(builder.load(_pointer(builder, pointer, vector), align=1))
            columns = _transposed(builder, rows)
            start = builder.add(target, builder.mul(tile.index, constant(count * size)))
            pointers = [builder.add(start, builder.mul(target_pitch, constant(number))) for number in range(count)]
            with builder.if_else(stream) as (then, otherwise):
                with then:
                    for column, pointer in zip(columns, pointers):
                        streamed(builder, builder.store(column, _pointer(builder, pointer, vector), align=count * size))
                with otherwise:
                    for column, pointer in zip(columns, pointers):
                        builder.store(column, _pointer(builder, pointer, vector), align=1)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def copy_elements(typing, kind, source, source_pitch, target, target_pitch, rows, columns):
    """`copy_tiles` for any number of rows and columns, element by element, the longer of the two in the inner loop."""
    signature = types.void(kind, *(types.int64,) * 6)

    def emit(context, builder, signature, arguments):
        _, source, source_pitch, target, target_pitch, rows, columns = arguments
        size = signature.args[0].dtype.bitwidth // 8

        def copy(row: Any, column: Any) -> None:
            pointer = builder.add(source, builder.add(builder.mul(row, source_pitch), builder.mul(column, constant(size))))
            end = builder.add(target, builder.add(builder.mul(column, target_pitch), builder.mul(row, constant(size))))
            _copy(builder, pointer, end, ir.IntType(8 * size))

        with builder.if_else(builder.icmp_signed("<", rows, columns)) as (then, otherwise):
            with then, cgutils.for_range(builder, rows) as row, cgutils.for_range(builder, columns) as column:
                copy(row.index, column.index)
            with otherwise, cgutils.for_range(builder, columns) as column, cgutils.for_range(builder, rows) as row:
                copy(row.index, column.index)
        return context.get_dummy_value()

    return signature, emit
