"""Panels of columns of a matrix product, copied straight from images: of the pixels of patches, without a matrix of patches.

The pixels of a row of a patch are neighbours in memory: a *run*, along the columns or along the steps of the sum. Whole vectors
are written where a run ends within one, and what follows it in the panel is written later: the memory behind a panel must have
room for that.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]

from ..runtime.intrinsic import I64, intrinsic
from ..runtime.jit import jit
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.ir import Vectors, gep
from ..simd.pointer import lanes_of, moved, pointer
from ..simd.transpose import transposed
from .packing import copy_narrow


@intrinsic
def _copy_part(typing, source, count, target):
    """Copy `count` elements, a vector at most; the rest of a vector of the target becomes 0."""

    def emit(context, builder, signature, arguments):
        source, count, target = arguments
        vectors = Vectors(builder, source.type.pointee, lanes_of(signature.args[0]))
        vectors.store(vectors.load_masked(source, vectors.first(count)), target)
        return context.get_dummy_value()

    return types.void(source, types.int64, target), emit


def _make_transpose(part: bool) -> Any:
    @intrinsic
    def transpose(typing, source, places, count, target, width):
        """target[j * width + r] = source[places[r] + j] for a square block, one vector's lanes wide; of a `part` for j below
        `count`, and 0 for the others.
        """

        def emit(context, builder, signature, arguments):
            source, places, count, target, width = arguments
            lanes = lanes_of(signature.args[0])
            vectors = Vectors(builder, source.type.pointee, lanes)
            mask = vectors.first(count) if part else None
            rows = [vectors.load_part(gep(builder, source, builder.load(gep(builder, places, r))), mask) for r in range(lanes)]
            for j, column in enumerate(transposed(builder, rows)):
                vectors.store(column, gep(builder, target, builder.mul(width, ir.Constant(I64, j))))
            return context.get_dummy_value()

        return types.void(source, places, types.int64, target, types.int64), emit

    return transpose


_transpose_whole, _transpose_part = _make_transpose(False), _make_transpose(True)


@jit
def pack_runs_of_columns(source: Any, steps: Any, columns: Any, rest: int, run: int, width: int, target: Any) -> None:
    """A panel `width` elements wide of those at steps[s] + columns[c]; lanes without a column get anything.

    `run` columns are neighbours in memory, of the first ones `rest`. A vector is written behind the panel.
    """
    lanes, count = VECTOR_BYTES // carray(source, (1,)).itemsize, columns.size
    for step in range(steps.size):
        image, line = moved(source, steps[step]), moved(target, step * width)
        column, left = 0, rest
        while column < count:
            some = min(left, count - column, lanes)
            pixels, place = moved(image, columns[column]), moved(line, column)
            if some == lanes:
                copy_narrow(pixels, place)
            else:
                _copy_part(pixels, some, place)
            column += some
            left = left - some if left > some else run


@jit
def pack_runs_of_steps(source: Any, steps: Any, columns: Any, rest: int, run: int, width: int, target: Any) -> None:
    """A panel `width` elements wide, with a place in `columns` for each, of those at steps[s] + columns[c].

    `run` steps are neighbours in memory, of the first ones `rest`. Behind the panel as many steps are written as a vector has
    lanes.
    """
    lanes, count = VECTOR_BYTES // carray(source, (1,)).itemsize, steps.size
    for first in range(0, width, lanes):
        places = pointer(columns, columns.ctypes.data + first * columns.itemsize)
        step, left = 0, rest
        while step < count:
            some = min(left, count - step, lanes)
            pixels, block = moved(source, steps[step]), moved(target, step * width + first)
            if some == lanes:
                _transpose_whole(pixels, places, some, block, width)
            else:
                _transpose_part(pixels, places, some, block, width)
            step += some
            left = left - some if left > some else run
