"""Elementwise operations of CuPy arrays: one function for each row of `lucid.backends.elementwise`."""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import cupy
import numpy as np
from lucid_kernels.cuda.elementwise import elementwise as kernels
from lucid_kernels.cuda.elementwise.fused import fused
from lucid_kernels.cuda.runtime import recording
from lucid_kernels.expression import Node, Program

from ..common import elementwise as common
from ..elementwise import ROWS, Row
from ..elementwise.row import COMPOSED, FORMULA
from ..families import first_call
from ..half_precision import HALVES, rounded
from . import planning

Array = Any
Function = Callable[..., Any]
_ndarray = cupy.ndarray
_NUMBERS = (float, int)
#: What one kernel of ours computes of arrays of integers or bools too.
_OF_WHOLE = frozenset("""eq ne lt le gt ge maximum minimum bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift
bitwise_right_shift fmod trunc_divide""".split())
_NOT_OF_BOOLS = frozenset(  # C++ makes ints of them
    "bitwise_invert bitwise_left_shift bitwise_right_shift fmod trunc_divide".split())
#: Those among them of which a formula has no other word.
_WORDS = frozenset(("bitwise_left_shift", "bitwise_right_shift", "fmod", "trunc_divide"))


def table(entries: dict[str, Function]) -> dict[str, Function]:
    """The functions of all rows, by name; `entries` is the table that they will stand in."""
    compositions = common.compositions(cupy, lambda name: getattr(cupy, name))
    return {name: _entry(row, entries, compositions) for name, row in ROWS.items()}


def _entry(row: Row, entries: dict[str, Function], compositions: dict[str, Function]) -> Function:
    if row.function == FORMULA:
        return planning.planned(row.name, common.of_formula(row, entries))
    if row.family and row.name not in common.ARITHMETIC:
        return first_call("lucid_kernels.cuda", row.family, row.name, entries, functools.partial(planning.planned, row.name))
    if row.family or row.cuda:
        function: Function = getattr(kernels, row.cuda or row.name)
        if row.name in common.ARITHMETIC:
            function = _arithmetic(function)
    else:
        function = _of_plain_numbers(compositions[row.name] if row.function == COMPOSED else getattr(cupy, row.source))
        if row.few_in_float32:
            function = _in_float32(function)
        if is_floating(row):
            function = _by_formula(row, function)
        if row.name in _OF_WHOLE:
            function = _whole_by_formula(row, function)
    # A number that the formula is written for stands in the key of a plan, another one may differ from call to call.
    return planning.planned(row.name, function, numbers=not row.number)


def _arithmetic(function: Function) -> Function:
    """`function` as it is called where gradients are added up."""
    @functools.wraps(function)
    def kernel(a: Any, b: Any, out: Array | None = None) -> Array:
        return function(a, b, out=out)

    return kernel


def is_floating(row: Row) -> bool:
    """Whether a row has a formula of floating elements."""
    return bool(row.formula) and not row.name.startswith("bitwise")


def source_of(row: Row, dtype: np.dtype) -> tuple[str, str]:
    """The function behind a row for arrays of `dtype`, by its module and name, and why that one."""
    fused_kernel = "lucid_kernels.cuda.elementwise.fused.fused"
    floating = dtype.char in kernels.FLOATING
    if row.function == FORMULA:
        return fused_kernel, "one kernel, compiled of its formula"
    if row.cuda == "power" or (floating and (row.family or row.cuda)):
        reason = "a kernel for floating arrays" if floating else "CuPy's function: no kernel takes this dtype"
        return f"lucid_kernels.cuda.{row.family or 'elementwise.elementwise'}.{row.cuda or row.name}", reason
    if floating and is_floating(row):
        return fused_kernel, "one kernel for floating arrays, compiled of its formula"
    if dtype.char in kernels.WHOLE and (row.name in kernels.WHOLE_RESULTS[dtype.char == "?"] or (
            row.name in _OF_WHOLE and not (dtype.char == "?" and row.name in _NOT_OF_BOOLS))):
        return fused_kernel, "one kernel for integers or bools, compiled of its formula"
    if row.function == COMPOSED and not row.cuda:
        return f"lucid.backends.common.elementwise.{row.name}", "made of CuPy's functions: no kernel takes this dtype"
    return f"cupy.{row.source}", "CuPy's function: no kernel takes this dtype"


def _by_formula(row: Row, function: Function) -> Function:
    """The formula of `row`, in one kernel, for floating arrays of one dtype and numbers; `function` for everything else."""

    @_with_signature(function)
    def kernel(*operands: Any, out: Array | None = None, **attributes: Any) -> Array:
        dtype = None
        for operand in operands:
            if operand.__class__ is _ndarray:
                if dtype is None and operand.dtype.char in kernels.FLOATING:
                    dtype = operand.dtype
                elif operand.dtype != dtype:
                    break
            elif operand is not None and not isinstance(operand, _NUMBERS):
                break
        else:
            given = operands
            if row.number and isinstance(operands[-1], _NUMBERS):
                given, attributes_of = operands[:-1], {row.number: operands[-1]}
            else:
                attributes_of = attributes
            program = common.program(row, dtype, tuple([x is not None for x in given]), tuple(attributes_of.items()))
            if program is not None:
                return fused(*given, program=program, out=out)
        return function(*operands, **attributes) if out is None else function(*operands, out=out, **attributes)

    return kernel


def _whole_by_formula(row: Row, function: Function) -> Function:
    """The formula of `row`, in one kernel, for arrays of one dtype of integers or bools and whole numbers in its range;
    `function` for everything else.
    """

    @_with_signature(function)
    def kernel(*operands: Any, out: Array | None = None) -> Array:
        dtype = kernels.whole_dtype(*operands)
        if dtype is not None and (dtype.char != "?" or row.name not in _NOT_OF_BOOLS):
            given, program = operands, None
            if row.name in _WORDS:
                program = _word(row.name, dtype, len(operands))
            elif not row.number:
                program = common.program(row, dtype, (True,) * len(operands), ())
            elif operands[-1].__class__ is int:
                given = operands[:-1]
                program = common.program(row, dtype, (True,) * len(given), ((row.number, operands[-1]),))
            if program is not None and (out is None or out.dtype == program.dtypes[0]):
                return fused(*given, program=program, out=out)
        return function(*operands) if out is None else function(*operands, out=out)

    return kernel


@functools.cache
def _word(name: str, dtype: Any, count: int) -> Program:
    return Program([Node(name, dtype, tuple([Node("input", dtype, (), place) for place in range(count)]))])


def _with_signature(function: Function) -> Function:
    """A decorator: the arguments are those of `function`, as far as it says so."""
    return functools.wraps(function) if isinstance(function, FunctionType) else lambda kernel: kernel


def _of_plain_numbers(function: Function) -> Function:
    """A function of CuPy's, or made of such, while a call is recorded as well."""
    @_with_signature(function)
    def kernel(*operands: Any, **attributes: Any) -> Array:
        return function(*map(recording.plain, operands) if recording.recorders else operands, **attributes)

    return kernel


def _in_float32(function: Function) -> Function:
    @_with_signature(function)
    def kernel(*operands: Any, out: Array | None = None, **attributes: Any) -> Array:
        for operand in operands:
            if getattr(operand, "itemsize", 4) == 2 and operand.dtype in HALVES:
                return rounded(function, operands, out, attributes)
        return function(*operands, **attributes) if out is None else function(*operands, out=out, **attributes)

    return kernel
