"""Prefetching: lines of memory are loaded before they are read."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..runtime.intrinsic import I64, constant, intrinsic
from .ir import Vectors, gep

_LINE = 64  # bytes of a cache line


@intrinsic
def prefetch(typing, address, size):
    """Prefetch the `size` bytes at an address."""

    def emit(context, builder, signature, arguments):
        address, size = arguments
        byte = ir.IntType(8)
        start, vectors = builder.inttoptr(address, byte.as_pointer()), Vectors(builder, byte, _LINE)
        with cgutils.for_range_slice(builder, constant(0), size, constant(_LINE), intp=I64) as (j, _):
            vectors.prefetch(gep(builder, start, j), write=False)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit
