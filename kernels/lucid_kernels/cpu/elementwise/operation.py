"""Single operations on large arrays and scalars, broadcast, on all threads: formulas of a step or two (`fused.py`)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from lucid_kernels.expression import Node, Program, plan

from ..arrays.layout import Array
from ..runtime import tuning
from .fused import fused

_LARGEST = 65504.0  # values beyond may be infinite in half precision, or float32


@functools.cache
def _program(names: tuple[str, ...], dtype: Any, count: int) -> Program:
    """The operations `names` on `count` arguments of `dtype`: all after the first take the result so far and one more."""
    inputs = [Node("input", dtype, value=number) for number in range(count)]
    first = count + 1 - len(names)
    value = Node(names[0], dtype, tuple(inputs[:first]))
    for name, other in zip(names[1:], inputs[first:], strict=True):
        value = Node(name, dtype, (value, other))
    return Program([value])


@functools.lru_cache(maxsize=1024)
def _program_if_suited(names: tuple[str, ...], dtype: Any, *shapes: tuple[int, ...]) -> Program | None:
    """The program of operands of these `shapes`; None if a copy of one of them would be read."""
    program = _program(names, dtype, len(shapes))
    parts = plan(program, shapes, tuning.SHORTEST_ROW)
    return None if any(expanded == parts[0].shape for *_, expanded in parts[0].operands) else program


def operation(names: tuple[str, ...], *operands: Any, out: Array | None = None) -> Array | None:
    """The result of an operation of formulas, or of a few: ``("maximum", "minimum")`` of three operands moves the first between
    the others. Their results have the dtype of the operands. `out` may be one of them.

    Those are arrays of one floating dtype that lie in rows (`layout.has_dense_rows`), and scalars. None where rows are so short
    that a copy of a broadcast array would be read: NumPy's loops are as fast.
    """
    first: Any = operands[0] if isinstance(operands[0], np.ndarray) else operands[1]
    arrays = operands
    if len(operands) > 1:
        arrays = tuple([x if isinstance(x, np.ndarray) else _as_array(x, first.dtype) for x in operands])
    program = _program_if_suited(names, first.dtype, *[array.shape for array in arrays])
    if program is None:
        return None
    computed: Array = fused(*arrays, program=program, out=out)
    return computed


def nan_to_zero(x: Array) -> Array:
    """`x`, C-contiguous, of float32 or float64, with 0 in the place of NaN."""
    found: Array = fused(x, program=_nan_to_zero(x.dtype))
    return found


@functools.cache
def _nan_to_zero(dtype: Any) -> Program:
    x = Node("input", dtype, value=0)
    return Program([Node("where", dtype, (Node("eq", np.dtype(np.bool_), (x, x)), x, Node("constant", dtype, value=0.0)))])


def _as_array(number: float, dtype: Any) -> Array:
    if -_LARGEST < number < _LARGEST:
        return np.asarray(number, dtype)
    with np.errstate(over="ignore"):  # values that are too large are infinite
        return np.asarray(number, dtype)
