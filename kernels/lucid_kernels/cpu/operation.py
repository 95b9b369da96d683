"""Single operations on large arrays and numbers, broadcast, on all threads: formulas of a step or two (`fused.py`)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from lucid_kernels.expression import Node, Program, plan

from ._layout import Array
from .fused import SHORTEST_ROW, fused


@functools.cache
def _program(names: tuple[str, ...], dtype: Any, count: int) -> Program:
    """The operations `names` on `count` arguments of `dtype`: all after the first take the result so far and one more."""
    inputs = [Node("input", dtype, value=number) for number in range(count)]
    first = count + 1 - len(names)
    value = Node(names[0], dtype, tuple(inputs[:first]))
    for name, other in zip(names[1:], inputs[first:], strict=True):
        value = Node(name, dtype, (value, other))
    return Program([value])


def operation(names: tuple[str, ...], *operands: Any) -> Array | None:
    """The result of an operation of formulas, or of a few: ``("maximum", "minimum")`` of three operands moves the first between
    the others. Their results have the dtype of the operands.

    Those are C-contiguous arrays of one dtype, float32 or float64, and numbers. None where rows are so short that a copy of a
    broadcast array would be read: NumPy's loops are as fast.
    """
    dtype = next(operand.dtype for operand in operands if isinstance(operand, np.ndarray))
    arrays = [np.asarray(operand, dtype) for operand in operands]  # numbers that are too large are infinite
    program = _program(names, dtype, len(arrays))
    parts = plan(program, tuple([array.shape for array in arrays]), SHORTEST_ROW)
    if any(expanded == parts[0].shape for *_, expanded in parts[0].operands):
        return None
    computed: Array = fused(*arrays, program=program)
    return computed
