"""NumPy's own loops, on all threads: for functions of integers and truth values, each of which NumPy has for every dtype.

A ufunc keeps the addresses of its loops, and they take what the tasks of the thread pool have at hand: where the operands begin,
how many elements there are, the bytes from one to the next. Nothing is compiled for a function or a dtype, and NumPy's loops have
the vectors of the processor. On two threads `maximum` of 4M bytes takes 0.55 of the time, of 1M int64 0.4: the pool has its
memory.
"""
from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types

from ..runtime.allocator import empty
from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_parallel
from ..simd.address import HEADER, READABLE, address_of

Array = np.ndarray[Any, Any]

# Bytes of the largest operand that a task has.
_GRAIN = 1 << 16


class _UFunc(ctypes.Structure):
    """What `PyUFuncObject` of NumPy's ufuncobject.h has after the head of an object."""

    _fields_ = (("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
                ("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p)),
                ("ntypes", ctypes.c_int), ("reserved", ctypes.c_int), ("name", ctypes.c_char_p),
                ("types", ctypes.POINTER(ctypes.c_char)))  # fmt: skip


def _fields_stand_there() -> bool:
    """Whether ufuncs have these fields, as those of two tell."""
    for ufunc in (np.add, np.negative):
        fields = _UFunc.from_address(id(ufunc) + HEADER)
        if (fields.nin, fields.nout, fields.nargs, fields.ntypes) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
            return False
        if fields.name != ufunc.__name__.encode():
            return False
    return True


_KNOWN = READABLE and _fields_stand_there()


@functools.cache
def loop_of(ufunc: np.ufunc, dtype: Any) -> tuple[int, int, Any] | None:
    """The loop of `ufunc` for `dtype`: its address, that of its data, 0 for none, and the dtype of the result.

    Those of other dtypes may need Python's lock, as objects do.
    """
    wanted = dtype.char * ufunc.nin + "->"
    if not _KNOWN or ufunc.nout != 1 or dtype.kind not in "biuf" or not dtype.isnative:
        return None
    fields = _UFunc.from_address(id(ufunc) + HEADER)
    for number, signature in enumerate(ufunc.types):
        if signature.startswith(wanted):
            return fields.functions[number] or 0, fields.data[number] or 0, np.dtype(signature[-1])
    return None


@intrinsic
def call(typing_context: Any, loop: Any, addresses: Any, count: Any, steps: Any, data: Any) -> Any:
    """Call a loop of a ufunc, all of whose arguments but `loop` and `data` are addresses of words."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, size = ir.IntType(8).as_pointer(), ir.IntType(64).as_pointer()
        kinds = (pointer.as_pointer(), size, size, pointer)
        kind = ir.FunctionType(ir.VoidType(), kinds)
        arguments = [builder.inttoptr(value, of) for value, of in zip(values[1:], kinds, strict=True)]
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@jit_parallel
def _in_parts(loop: int, data: int, inputs: int, a: int, a_step: int, b: int, b_step: int, c: int, c_step: int, y: int,
              y_step: int, size: int, grain: int) -> None:
    """Call `loop` for `size` elements of its `inputs`, of a, b and c as many as there are, and of y, `grain` of them at a time.

    All are given by their address and the bytes from one element to the next.
    """
    for part in numba.prange((size + grain - 1) // grain):
        first = np.int64(part) * grain
        words: Any = np.empty(9, np.int64)
        words[0], words[1], words[2] = a + first * a_step, b + first * b_step, c + first * c_step
        words[4], words[5], words[6] = a_step, b_step, c_step
        words[inputs], words[4 + inputs] = y + first * y_step, y_step
        words[8] = min(grain, size - first)
        start = words.ctypes.data
        call(loop, start, start + 64, start + 32, data)


def apply(ufunc: np.ufunc, *operands: Any, out: Array | None = None) -> Array | None:
    """``ufunc(*operands, out=out)`` of one to three operands: C-contiguous arrays of one shape and one dtype, and scalars:
    Python's or arrays without dimensions. None for other operands, scalars that the dtype does not have, and where
    NumPy is not as we know it.

    Functions whose loops raise errors, as `power` of integers with a negative exponent, are not for this.
    """
    first: Any = next((operand for operand in operands if getattr(operand, "ndim", 0)), None)
    if first is None:
        return None
    dtype, shape = first.dtype, first.shape
    loop = loop_of(ufunc, dtype)
    if loop is None:
        return None
    layout, scalars = list[int](), list[Array]()  # address and step of each operand
    for operand in operands:
        if not isinstance(operand, np.ndarray):
            if not _has(dtype, operand):
                return None
            scalars.append(np.asarray(operand, dtype))  # alive until the loop has read it
            layout += (address_of(scalars[-1]), 0)
        elif operand.dtype != dtype or (operand.ndim and (operand.shape != shape or not operand.flags.c_contiguous)):
            return None
        else:
            layout += (address_of(operand), dtype.itemsize if operand.ndim else 0)
    function, data, kind = loop
    if out is None:
        y = empty(shape, kind)
    elif not _fits(out, shape, kind, operands):
        return None
    else:
        y = out
    layout += (0, 0) * (3 - len(operands))
    grain = _GRAIN // max(dtype.itemsize, kind.itemsize)
    _in_parts(function, data, len(operands), *layout, address_of(y), kind.itemsize, first.size, grain)
    return y


def _fits(out: Array, shape: tuple[int, ...], dtype: Any, operands: tuple[Any, ...]) -> bool:
    """Whether a loop can write its result into `out`, which may be one of the operands."""
    if out.shape != shape or out.dtype != dtype or not (out.flags.c_contiguous and out.flags.writeable):
        return False
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    return all(address_of(array) == address_of(out) or not np.may_share_memory(array, out) for array in arrays)


@functools.lru_cache(maxsize=256, typed=True)
def _has(dtype: Any, number: Any) -> bool:
    """Whether `dtype` has `number`, one of Python's, or rounds it to one that is not infinite."""
    if dtype.kind == "b":
        return number.__class__ is bool
    if dtype.kind == "f" and number.__class__ in (int, float):
        return not abs(number) > float(np.finfo(dtype).max) or number in (math.inf, -math.inf)
    return number.__class__ is int and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
