"""Panels: an operand of a matrix product, copied into the order in which the register blocks read it.

A *panel* holds a few *lines* (rows of the left operand, columns of the right one), one step of the sum after the other. So a
product reads it from one end to the other whatever the strides were, and an edge is a panel filled up with zeros. Source: Goto
and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
"""
from __future__ import annotations

from typing import Any

from numba import carray, types  # type: ignore[attr-defined]

from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit
from ..simd.ir import Vectors, gep
from ..simd.pointer import lanes_of, moved
from ..simd.transpose import transpose_rows

_carray: Any = carray
VECTORS = 2  # of a panel of columns; a narrow one has only one
# Panels of rows that are packed at a time. More, a power of two apart, would push each other out of the L1 cache: twice the time.
_ROW_PANELS = 8


def make_copy(count: int) -> Any:
    @intrinsic
    def copy(typing, source, target):
        """Copy `count` vectors."""

        def emit(context, builder, signature, arguments):
            source, target = arguments
            lanes = lanes_of(signature.args[0])
            vectors = Vectors(builder, source.type.pointee, lanes)
            for v in range(count):
                vectors.store(vectors.load(gep(builder, source, v * lanes)), gep(builder, target, v * lanes))
            return context.get_dummy_value()

        return types.void(source, target), emit

    return copy


copy_narrow = make_copy(1)


@jit
def pack_rows(source: Any, depth_step: int, rows: int, depth: int, width: int, target: Any) -> None:
    """Rows whose elements of one step are contiguous, in panels of `width`, a vector; the last one is filled up with zeros."""
    whole = rows - rows % width
    for first in range(0, whole, _ROW_PANELS * width):
        for step in range(depth):
            for row in range(first, min(whole, first + _ROW_PANELS * width), width):
                copy_narrow(moved(source, step * depth_step + row), moved(target, row * depth + step * width))
    if rows > whole:
        x = _carray(source, (rows + depth * depth_step,))
        y = _carray(target, ((whole + width) * depth,))[whole * depth :]
        for step in range(depth):
            for row in range(whole, whole + width):
                y[step * width + row - whole] = x[step * depth_step + row] if row < rows else y.dtype.type(0)


@jit
def copy_strip(source: Any, column_step: int, depth_step: int, columns: int, depth: int, lanes: int, target: Any,
               width: int) -> None:
    """target[step, column] = source, for rows of the target that are `width` apart, whole vectors of `lanes`.

    Where the steps are contiguous, the last column fills up its vector.
    """
    whole = 0
    if column_step == 1:
        whole = columns - columns % lanes
        for column in range(0, whole, lanes):
            for step in range(depth):
                copy_narrow(moved(source, step * depth_step + column), moved(target, step * width + column))
    elif depth_step == 1 and depth >= lanes:
        whole = columns
        for column in range(0, columns, lanes):
            for first in range(0, depth, lanes):
                step = min(first, depth - lanes)  # the last block may copy some steps again
                line, there = moved(source, column * column_step + step), moved(target, step * width + column)
                transpose_rows(line, column_step, there, width, columns - column)
    x, y = _carray(source, (columns * column_step + depth * depth_step,)), _carray(target, (depth * width,))
    for column in range(whole, columns):
        for step in range(depth):
            y[step * width + column] = x[column * column_step + step * depth_step]
