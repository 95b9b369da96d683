"""Elementwise operations of CuPy arrays: one function for each row of `lucid.backends.elementwise`."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cupy
from lucid_kernels.cuda.elementwise import elementwise as kernels

from ..common import elementwise as common
from ..elementwise import ROWS, Row
from ..elementwise.row import COMPOSED, FORMULA
from ..families import first_call
from ..half_precision import HALVES, rounded
from . import planning

Array = Any
Function = Callable[..., Any]


def table(entries: dict[str, Function]) -> dict[str, Function]:
    """The functions of all rows, by name; `entries` is the table that they will stand in."""
    compositions = common.compositions(cupy, lambda name: getattr(cupy, name))
    return {name: _entry(row, entries, compositions) for name, row in ROWS.items()}


def _entry(row: Row, entries: dict[str, Function], compositions: dict[str, Function]) -> Function:
    if row.name in common.ARITHMETIC:
        ours = getattr(kernels, row.name)
        general = common.arithmetic(cupy.ndarray, getattr(cupy, row.source), lambda: ours)
        return planning.planned(row.name, general, lambda a, b, out=None: ours(a, b, out=out))
    if row.function == FORMULA:
        return common.of_formula(row, entries)
    if row.family:
        return first_call("lucid_kernels.cuda", row.family, row.name, entries, functools.partial(planning.planned, row.name))
    if row.cuda:
        cuda: Function = getattr(kernels, row.cuda)
        return cuda
    function: Function = compositions[row.name] if row.function == COMPOSED else getattr(cupy, row.source)
    return _in_float32(function) if row.few_in_float32 else function


def source_of(row: Row) -> tuple[str, str]:
    """The module and the name of the function behind a row; of arithmetic, of many elements."""
    if row.function == FORMULA:
        return "lucid_kernels.cuda.elementwise.fused", "fused"
    if row.family or row.cuda:
        return f"lucid_kernels.cuda.{row.family or 'elementwise.elementwise'}", row.cuda or row.name
    return ("lucid.backends.common.elementwise", row.name) if row.function == COMPOSED else ("cupy", row.source)


def _in_float32(function: Function) -> Function:
    def kernel(*operands: Any, out: Array | None = None, **attributes: Any) -> Array:
        for operand in operands:
            if getattr(operand, "itemsize", 4) == 2 and operand.dtype in HALVES:
                return rounded(function, operands, out, attributes)
        return function(*operands, **attributes) if out is None else function(*operands, out=out, **attributes)

    return kernel
