"""Pointers to elements, for functions that take addresses."""
from __future__ import annotations

from typing import Any

from numba import types

from ..runtime.intrinsic import intrinsic
from .cpu_features import VECTOR_BYTES
from .ir import gep


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
