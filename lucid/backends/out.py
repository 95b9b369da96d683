"""Results in memory that is there already: which operations can write them, and which memory they must not share a part of."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .families import ARITHMETIC, LARGE
from .memory_format import memory_axes
from .storage import has_memory, span

Array = Any

# Kernels that take `out`, which may be an argument, have the dtype of their arguments, and raise nothing once they write.
_ALIKE = frozenset("""
abs add add_scaled addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_invert bitwise_or
bitwise_xor ceil clip cos cosh deg2rad div exp exp2 expm1 floor fmod leaky_relu lerp log log10 log1p log2 maximum minimum mul
nan_to_num neg power rad2deg reciprocal remainder round rsqrt sign sin sinh sqrt square sub tan trunc
""".split())
TERNARY = frozenset({"addcmul", "addcdiv"})  # those that take two tensors and the keyword `value`
# Those of which a public function has the name, and hands them floating-point operands as they are: tensors, ints and floats.
PLAIN = frozenset("""
abs add ceil clip cos cosh div exp exp2 expm1 floor fmod lerp log log10 log1p log2 mul neg reciprocal relu remainder round rsqrt
sigmoid sign sin sinh sqrt square sub tan tanh trunc
""".split())
FORMULAS = {"remainder": 1 << 11, "rsqrt": 1 << 15, "sign": 1 << 14}  # those that from so many elements on are formulas
OF_TENSORS = frozenset({"lerp"})  # those that take no number as their second argument
SCALED = {"add": 1, "sub": -1}  # those that are `add_scaled` with the keyword `alpha`, and the sign of that
PLAIN_COMPLEX = frozenset("add div mul neg sub".split())  # those that do the same with complex ones
_OURS = frozenset("exp gelu leaky_relu relu sigmoid silu tanh".split())
_ALIKE_ON_CPU = _ALIKE | _OURS  # CUDA kernels rely on a result of its own
_TRUTHS = frozenset("eq ge gt le logical_and logical_not logical_or logical_xor lt ne".split())  # with a bool result


def are_many(out: Array) -> bool:
    """Whether kernels of large arrays serve arithmetic that is written into memory that is there already, such as `out`.

    As long as two arrays are in the L2 cache NumPy's loop, which has no new memory to fill, takes 0.6 to 1 of the time of ours;
    from 1 MiB on ours takes 0.6 to 1 of its. NumPy computes halves one by one.
    """
    many: bool = out.size >= LARGE if out.itemsize == 2 else out.nbytes >= 1 << 20
    return many


def entry_into(name: str, arguments: Sequence[Any], out: Array, program: Any = None) -> str | None:
    """The entry of the table of `out` that computes operation `name` in its memory; None where the result must be a new array.

    Any arguments of any operation will do: arrays of several shapes, dtypes and devices, numbers and None. `program` is that of a
    formula.
    """
    kind, dtype, shape = out.__class__, out.dtype, out.shape
    on_cpu = kind is np.ndarray
    if program is not None:
        serves = on_cpu and program.dtypes == (dtype,) and out.flags.c_contiguous and out.flags.writeable
        return name if serves and all(array is None or _is_read_in_step(array, out) for array in arguments) else None
    alike = name in (_ALIKE_ON_CPU if on_cpu else _ALIKE)
    if not alike and (dtype.kind != "b" or name not in _TRUTHS):
        return None
    one_shape = True
    for array in arguments:
        if array.__class__ is kind:
            if alike and array.dtype is not dtype and array.dtype != dtype:
                return None
            if array.shape != shape:
                one_shape = False
        elif hasattr(array, "dtype"):
            return None
    if dtype.kind == "c":  # functions of complex numbers are often made of several operations
        return None
    if on_cpu:
        large = name in ARITHMETIC and are_many(out) and one_shape and _in_order(out, *arguments)
        if (large or name in _OURS) and not out.flags.writeable:
            return None  # our kernels would not say so; a plain copy does
        if large:
            return f"large_{name}"
    elif not has_memory(out):
        return None
    return name if one_shape or _broadcast([array.shape for array in arguments if array.__class__ is kind]) == shape else None


def _is_read_in_step(array: Array, out: Array) -> bool:
    """Whether a formula that writes `out` reads no element of `array` that it has written before."""
    if array is out:
        return True
    return array.__class__ is np.ndarray and (array.shape == out.shape or not array.ndim) and not np.may_share_memory(array, out)


def _in_order(*operands: Any) -> bool:
    """Whether all are row-major arrays, or numbers: our kernels make copies of other arrays, NumPy's do not."""
    return all(operand.__class__ in (int, float) or (operand.__class__ is np.ndarray and operand.flags.c_contiguous)
               for operand in operands)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that arrays have together; None if they cannot be broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def share_partly(a: Array, b: Array) -> bool:
    """Whether two arrays without gaps share memory, but not element by element."""
    if a.__class__ is np.ndarray is b.__class__:
        base, other_base = a.base, b.base
        if (a if base is None else base) is not (b if other_base is None else other_base):
            return False
    if a is b or a.size == 0 or b.size == 0 or a.__class__ is not b.__class__ or not has_memory(a):
        return False
    (start, stop), (other_start, other_stop) = span(a), span(b)
    if start >= other_stop or other_start >= stop:
        return False
    if (start, stop, a.strides) == (other_start, other_stop, b.strides):
        return False
    return _gapless(a) and _gapless(b)


def _gapless(array: Array) -> bool:
    return bool(array.flags.c_contiguous or array.transpose(memory_axes(array)).flags.c_contiguous)
