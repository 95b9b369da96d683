"""Stores that bypass the caches, for large results: what a kernel writes is not read from memory first.

A normal store fetches its line before it changes it, so a result costs its bytes twice, and it drives out of the cache what was
there. A streamed (non-temporal) store collects a whole line and sends it to memory. A kernel that streams computes blocks of a
few KiB into a buffer, which stays in the L1 cache, and lets `stream` copy them out; `fence` ends each task.

Streamed stores are ordered with nothing else: a thread that was told that the task is done could read old numbers without a
fence. On processors other than x86-64 the same functions use normal stores, and nothing is streamed.
"""
from __future__ import annotations

import functools
import pathlib
import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ._microkernels import _INT, VECTOR_BYTES, _at, _data, _intrinsic, _Vectors

_X86 = platform.machine().lower() in ("x86_64", "amd64")
# Bytes of the last-level cache where the system does not tell: what a server's cores or a desktop processor share.
_USUAL_CACHE = 32 << 20
# Elements in the buffer of a kernel that streams: at most 8 KiB, so that its arguments stay in the L1 cache as well.
BLOCK = 1 << 10
# Elements of the longest rows that such a kernel takes as a whole: they stay in the L2 cache.
LONGEST_ROW = 1 << 16


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
    return _cache_size(pathlib.Path("/sys/devices/system/cpu/cpu0/cache"))


def streams(moved: int, *results: np.ndarray) -> bool:
    """Whether a kernel that reads and writes `moved` bytes in all shall stream its `results`, none of which it reads.

    From the size of the last-level cache on: then a result would not stay there until it is read, or takes the place of what is
    read. Not where results begin between vectors (those from the pool do not): each block would begin and end within a line.
    """
    return _X86 and moved >= _streamed_from() and not any(array.ctypes.data % VECTOR_BYTES for array in results)


def streamed(builder: ir.IRBuilder, store: Any) -> None:
    """Let a store of a whole, aligned vector bypass the caches."""
    if _X86:
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))


@_intrinsic
def stream(typing, source, source_start, target, target_start, count):
    """target[target_start + i] = source[source_start + i] for i below `count`, arrays as if flat; nothing is checked.

    What does not fill a whole aligned vector of the target, at both ends, is stored as usual.
    """
    integer = types.int64
    signature = types.void(source, integer, target, integer, integer)

    def emit(context, builder, signature, arguments):
        source = _at(builder, _data(context, builder, signature.args[0], arguments[0]), arguments[1])
        target = _at(builder, _data(context, builder, signature.args[2], arguments[2]), arguments[3])
        count, size = arguments[4], signature.args[0].dtype.bitwidth // 8
        lanes = VECTOR_BYTES // size
        vectors = _Vectors(builder, source.type.pointee, lanes)

        def copy_part(start: Any, length: Any) -> None:
            """Less than a vector."""
            with builder.if_then(builder.icmp_unsigned("!=", length, ir.Constant(_INT, 0))):
                mask = vectors.first(length)
                vectors.store_masked(vectors.load_masked(_at(builder, source, start), mask), _at(builder, target, start), mask)

        # -address modulo the bytes of a vector: the way to its next boundary.
        address = builder.ptrtoint(target, _INT)
        way = builder.udiv(builder.and_(builder.neg(address), ir.Constant(_INT, VECTOR_BYTES - 1)), ir.Constant(_INT, size))
        first = builder.select(builder.icmp_unsigned("<", way, count), way, count)
        left = builder.sub(count, first)
        last = builder.add(first, builder.sub(left, builder.urem(left, ir.Constant(_INT, lanes))))
        copy_part(ir.Constant(_INT, 0), first)
        # A view of bytes can have elements at other addresses than multiples of their size: then no vector is aligned.
        misplaced = builder.and_(address, ir.Constant(_INT, size - 1))
        end = builder.select(builder.icmp_unsigned("==", misplaced, ir.Constant(_INT, 0)), last, first)
        with cgutils.for_range_slice(builder, first, end, ir.Constant(_INT, lanes), intp=_INT) as (i, _):
            place = builder.bitcast(_at(builder, target, i), vectors.type.as_pointer())
            streamed(builder, builder.store(vectors.load(_at(builder, source, i)), place, align=VECTOR_BYTES))
        with cgutils.for_range_slice(builder, end, last, ir.Constant(_INT, lanes), intp=_INT) as (i, _):
            vectors.store(vectors.load(_at(builder, source, i)), _at(builder, target, i))
        copy_part(last, builder.sub(count, last))
        return context.get_dummy_value()

    return signature, emit


@_intrinsic
def fence(typing):
    """End a task that streams: its stores come before all that follows."""

    def emit(context, builder, signature, arguments):
        if _X86:
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse.sfence")
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), emit
