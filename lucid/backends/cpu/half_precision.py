"""Elementwise operations on many half-precision elements: formulas of one operation, which read and write them as they are.

NumPy computes float16 and bfloat16 number by number, which takes up to 200 times as long. With an array of float32 for each
argument and for the result, an addition takes 3 times as long, as it is all memory.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..common import elementwise as common
from ..elementwise import Row
from ..elementwise.row import NUMPY_HAS_VECTORS
from ..half_precision import HALVES
from ..sizes import MIDDLE

Array = Any
Kernel = Callable[..., Any]

_BITS: dict[str, tuple[Kernel, np.uint16]] = {
    "neg": (np.bitwise_xor, np.uint16(0x8000)), "abs": (np.bitwise_and, np.uint16(0x7FFF))}


def by_formula_if_large(row: Row, operands: Sequence[Any], out: Array | None, attributes: dict[str, Any]) -> Array | None:
    """`by_formula` of at least so many elements that it is faster than NumPy's function."""
    x = operands[0] if operands[0].__class__ is np.ndarray else operands[1]
    if x.itemsize != 2 or x.size < (row.float16_from if x.dtype.char == "e" else MIDDLE):
        return None
    return by_formula(row, operands, out, attributes)


def by_formula(row: Row, operands: Sequence[Any], out: Array | None, attributes: dict[str, Any]) -> Array | None:
    """The operation of `row` of arrays of one half-precision dtype, broadcast, of scalars, and of None where it may be absent.

    None unless the arrays lie in rows, or are one scalar for all elements, and the processor converts their dtype.
    """
    like: Any = operands[0] if operands[0].__class__ is np.ndarray else operands[1]
    kernels = _kernels(like.dtype)
    if kernels is None:
        return None
    fused, half_precision, sincos, has_dense_rows = kernels
    if row.number and np.ndim(operands[-1]) == 0:
        number = operands[-1]
        operands, attributes = operands[:-1], {row.number: number.item() if isinstance(number, np.ndarray) else number}
    function = getattr(sincos, row.half) if row.half in ("sin", "cos") else (
        getattr(np, row.source) if row.half_vectors and NUMPY_HAS_VECTORS else None)
    if function is not None:
        wide = [half_precision.widen(x) if isinstance(x, np.ndarray) and x.dtype == like.dtype else x for x in operands]
        with np.errstate(all="ignore"):
            computed = half_precision.narrow(function(*wide), like.dtype)
        if out is not None:
            out[...] = computed
        return computed if out is None else out
    if row.half == "bits" and operands[0].flags.c_contiguous and (out is None or out.dtype == like.dtype):
        change, mask = _BITS[row.name]
        bits = change(like.view(np.uint16), mask, out=None if out is None else out.view(np.uint16))
        return bits.view(like.dtype) if out is None else out
    arrays: list[Array] = []
    for operand in operands:
        if operand.__class__ is np.ndarray:
            if operand.dtype is not like.dtype and operand.dtype != like.dtype:
                return None
            if not operand.flags.c_contiguous and not has_dense_rows(operand):
                if operand is like or any(operand.strides):
                    return None
                operand = operand[(0,) * operand.ndim]
            arrays.append(operand)
        elif operand is None:
            arrays.append(None)
        else:
            with np.errstate(over="ignore"):  # values that are too large are infinite
                arrays.append(np.asarray(operand, like.dtype))
    present = tuple([array is not None for array in arrays])
    program = common.program(row, like.dtype, present, tuple(attributes.items()) if attributes else ())
    return None if program is None else fused(*arrays, program=program, out=out)


@functools.cache
def _kernels(dtype: Any) -> tuple[Kernel, Any, Any, Kernel] | None:
    """What computes with `dtype`, if that is a half-precision one; None where no kernel converts them."""
    if dtype not in HALVES:
        return None
    from lucid_kernels.cpu.arrays import half_precision
    from lucid_kernels.cpu.arrays import layout as arrays_layout
    from lucid_kernels.cpu.elementwise import fused, sincos  # compile with Numba

    return (fused.fused, half_precision, sincos, arrays_layout.has_dense_rows) if half_precision.converts(dtype) else None
