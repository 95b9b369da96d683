"""Stores that bypass the caches, for large results: what a kernel writes is not read from memory first.

A normal store fetches its line before it changes it, so a result costs its bytes twice, and it drives out of the cache what was
there. A streamed (non-temporal) store collects a whole line and sends it to memory. Few lines can be in flight: the processor
soon stands still if a kernel computes a page and then streams it, which took twice as long as normal stores where there is much
to compute. So a loop gets `piece`s of its arguments as long as a block of a few vectors on the stack (`block_for`), and after
each comes `stream_block`; inlined, with constant lengths, it has its values in registers. `fence` ends each task.

Streamed stores are ordered with nothing else: a thread that was told that the task is done could read old values without a
fence. On processors other than x86-64 the same functions use normal stores, and nothing is streamed.
"""
from __future__ import annotations

import functools
import pathlib
import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.np.arrayobj import populate_array

from ..runtime import tuning
from ..runtime.intrinsic import I64, constant, intrinsic
from .address import address_of
from .cpu_features import VECTOR_BYTES
from .ir import Vectors, data_of, gep

_X86 = platform.machine().lower() in ("x86_64", "amd64")
# Bytes of the last-level cache where the system does not tell: what a server's cores or a desktop processor share.
_USUAL_CACHE = 32 << 20
# Vectors of a block: from 2 to 8 it made no difference.
_VECTORS = 4
# Bytes from what a loop reads to what it prefetches. It saves relu's gradient a third of its time, relu a tenth; a sum loses
# 3 %.
_AHEAD = 4096
# The same for rows at least, shared by the arrays that are read: the next row alone can be too near, softmax took 1.1 of the
# time, layer norm 1.4.
_ROWS_AHEAD = 1 << 14


def _cache_size(folder: pathlib.Path) -> int:
    """Bytes of the largest cache that Linux lists in `folder`, or `_USUAL_CACHE`."""
    sizes = []
    for file in folder.glob("index*/size"):
        try:
            text = file.read_text().strip()
            sizes.append(int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1:], 0))
        except (OSError, ValueError):
            continue
    return max(sizes, default=_USUAL_CACHE)


@functools.cache
def _streamed_from() -> int:
    """Bytes moved, from which on results are streamed.

    A kernel alone gains from a third of the cache on, but what reads its result afterwards loses as much where the cache would
    have kept it. Both together took 1.1 to 1.2 of the time when three quarters of the cache were moved, as long as without from
    15/16 on, and less above.
    """
    size = _cache_size(pathlib.Path("/sys/devices/system/cpu/cpu0/cache"))
    return size - size // 16


def streams(moved: int, *results: np.ndarray) -> bool:
    """Whether a kernel that reads and writes `moved` bytes in all shall stream its `results`, none of which it reads.

    It does so where they are nearly as much as the last-level cache. Not where results begin between vectors (those from the
    pool do not): each block would begin and end within a line.
    """
    return _X86 and moved >= _streamed_from() and not any(address_of(array) % VECTOR_BYTES for array in results)


def streams_rows(moved: int, row: int) -> bool:
    """The same for a kernel that streams rows of `row` bytes, which need not be aligned, by `stream_row`."""
    shortest = tuning.STREAMED_SHORTEST_RAGGED_ROW if row % VECTOR_BYTES else tuning.STREAMED_SHORTEST_ROW
    return shortest <= row <= tuning.STREAMED_LONGEST_ROW and streams(moved)


def streamed(builder: ir.IRBuilder, store: Any) -> None:
    """Let a store of a whole, aligned vector bypass the caches."""
    if _X86:
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))


def _array(context: Any, builder: ir.IRBuilder, kind: Any, data: Any, count: Any) -> Any:
    """A flat array that owns no memory."""
    array = context.make_array(kind)(context, builder)
    size = constant(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    populate_array(array, data=data, shape=[count], strides=[size], itemsize=size, meminfo=None)
    return array._getvalue()


@intrinsic
def piece(typing, array, start, count):
    """array[start : start + count] of a flat array, without an owner; no number is checked."""
    if array.layout != "C" or array.ndim != 1:
        raise TypingError(f"a piece of {array}")
    signature = array(array, types.intp, types.intp)

    def emit(context, builder, signature, arguments):
        kind, (array, start, count) = signature.args[0], arguments
        return _array(context, builder, kind, gep(builder, data_of(context, builder, kind, array), start), count)

    return signature, emit


@intrinsic
def prefetch_block(typing, array, start, block):
    """Prefetch the lines of array[start : start + block.size] that a loop will read `_AHEAD` later."""
    signature = types.void(array, types.intp, block)

    def emit(context, builder, signature, arguments):
        kind, size = signature.args[0], context.get_abi_sizeof(context.get_data_type(signature.args[2].dtype))
        vectors = Vectors(builder, context.get_value_type(signature.args[2].dtype), VECTOR_BYTES // size)
        pointer = gep(builder, data_of(context, builder, kind, arguments[0]), arguments[1])
        pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        each = vectors.type.count * context.get_abi_sizeof(context.get_data_type(kind.dtype))
        for number in range(_VECTORS):
            vectors.prefetch(gep(builder, pointer, _AHEAD + number * each), write=False)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def block_for(typing, array):
    """A flat array of a few vectors of the dtype of `array`, for the time of the function."""
    signature = array(array)

    def emit(context, builder, signature, arguments):
        (kind,) = signature.args
        element = context.get_value_type(kind.dtype)
        lanes = VECTOR_BYTES // context.get_abi_sizeof(element)
        with builder.goto_entry_block():
            data = builder.alloca(ir.VectorType(element, lanes), _VECTORS)
        data.align = VECTOR_BYTES
        count = constant(_VECTORS * lanes)
        return _array(context, builder, kind, builder.bitcast(data, element.as_pointer()), count)

    return signature, emit


@intrinsic
def stream_block(typing, block, target, start):
    """target[start : start + block.size] = block, non-temporal, where a vector may begin at target[start]; not checked."""
    signature = types.void(block, target, types.intp)

    def emit(context, builder, signature, arguments):
        block, target = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1))
        vectors = Vectors(builder, block.type.pointee, VECTOR_BYTES // context.get_abi_sizeof(block.type.pointee))
        for number in range(_VECTORS):
            value = vectors.load(gep(builder, block, number * vectors.type.count))
            pointer = gep(builder, target, arguments[2], number * vectors.type.count)
            streamed(builder, builder.store(value, builder.bitcast(pointer, vectors.type.as_pointer()), align=VECTOR_BYTES))
        return context.get_dummy_value()

    return signature, emit


def emit_row(builder: ir.IRBuilder, vectors: Vectors, target: Any, count: Any, value: Callable[[Any, Any], Any],
             read: Sequence[Any], rows: int = 1) -> None:  # fmt: skip
    """Emit the stores of value(column, mask) to `count` elements at `target`, streamed but for parts of a vector at both ends.

    The mask has the lanes of a part; it is None for whole vectors. Of the arrays that have this row at the pointers `read`, what
    comes `rows` rows later is prefetched, or further on where that is near (`_ROWS_AHEAD`): it is in flight while this row is
    written, and what reads the next ones needs no part in this loop.
    """
    lanes, zero = constant(vectors.type.count), constant(0)
    # -address modulo the bytes of a vector: the distance to its next boundary.
    gap = builder.and_(builder.neg(builder.ptrtoint(target, I64)), constant(VECTOR_BYTES - 1))
    gap = builder.udiv(gap, constant(VECTOR_BYTES // vectors.type.count))
    begin = builder.select(builder.icmp_unsigned("<", gap, count), gap, count)
    end = builder.sub(count, builder.urem(builder.sub(count, begin), lanes))
    for column, length in ((zero, begin), (end, builder.sub(count, end))):
        with builder.if_then(builder.icmp_unsigned("!=", length, zero)):
            mask = vectors.first(length)
            vectors.store_masked(value(column, mask), gep(builder, target, column), mask)
    least = constant(_ROWS_AHEAD // VECTOR_BYTES * vectors.type.count // len(read))
    block = builder.mul(count, constant(rows))
    ahead = builder.select(builder.icmp_unsigned("<", block, least), least, block)
    with cgutils.for_range_slice(builder, begin, end, lanes, intp=I64) as (column, _):
        for pointer in read:
            vectors.prefetch(gep(builder, pointer, ahead, column), write=False)
        pointer = builder.bitcast(gep(builder, target, column), vectors.type.as_pointer())
        streamed(builder, builder.store(value(column, None), pointer, align=VECTOR_BYTES))


@intrinsic
def stream_row(typing, row, factor, target, start, source):
    """target[start : start + row.size] = row * factor, non-temporal, but for the parts of a vector at both ends; not checked.

    What comes after these in the array `source` is prefetched (see `emit_row`). Arrays are as if flat.
    """
    signature = types.void(row, row.dtype, target, types.intp, source)

    def emit(context, builder, signature, arguments):
        row, target, source = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 4))
        count = context.make_array(signature.args[0])(context, builder, arguments[0]).nitems
        vectors = Vectors(builder, row.type.pointee, VECTOR_BYTES // (signature.args[1].bitwidth // 8))
        factor = vectors.splat(arguments[1])

        def value(column: Any, mask: Any) -> Any:
            return builder.fmul(vectors.load_part(gep(builder, row, column), mask), factor)

        emit_row(builder, vectors, gep(builder, target, arguments[3]), count, value, [gep(builder, source, arguments[3])])
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def fence(typing):
    """End a task that streams: its stores come before all that follows."""

    def emit(context, builder, signature, arguments):
        if _X86:
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse.sfence")
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), emit
