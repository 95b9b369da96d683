"""Formulas some of whose results are only added up, in one pass over memory: those are never written there.

Chunk by chunk they are computed into a block that stays in the cache, whose sum is taken as `reduction.total_of_all` takes that
of a piece, or whose rows are added up as `reduction.fold` adds up those of an array: in the same order, so that sums have the
same bits as those of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lucid_kernels.expression import Program

from ..arrays.layout import GRAIN, Array
from ..elementwise.fused import compiled, fused, source
from ..runtime import tuning
from ..runtime.allocator import empty
from ..simd.reduce import sum_of
from . import reduction

_SCOPE = {"sum_of": sum_of, "np": np}


def is_added_in_one_piece(length: int) -> bool:
    """Whether `reduction.total` adds up rows of so many elements by one call of the loop that kernels have here."""
    return tuning.REDUCTION_BLAS_LONGEST_ROW < length <= reduction.PIECE


def fused_with_totals(*arrays: Array, program: Program, totals: int, length: int = 0) -> tuple[list[Array], list[Any]]:
    """The outputs of `program`, but of the last `totals` of them, of float32 or float64, the sums in float64: of all elements, or
    of rows of `length` elements, which `is_added_in_one_piece`.
    """
    kept = len(program.outputs) - totals
    found = _in_one_pass(arrays, program, kept, length) if reduction.PIECE == GRAIN else None
    if found is not None:
        return found
    results = fused(*arrays, program=program)
    results = results if isinstance(results, tuple) else (results,)
    return list(results[:kept]), [_added(each, length) for each in results[kept:]]


def _added(array: Array, length: int) -> Any:
    """The sum, or the sums of rows, of an array that is there."""
    return reduction.total(array, (array.size // length, length, 1)).ravel() if length else reduction.total_of_all(array)


def _in_one_pass(arrays: Sequence[Array], program: Program, kept: int, length: int) -> tuple[list[Array], list[Any]] | None:
    """Of contiguous arrays of one shape, and others without dimensions, in the dtypes that are computed; None for others."""
    shape: Any = None
    kinds, arguments = "", list[Any]()
    for number, dtype in zip(program.inputs, program.input_dtypes, strict=True):
        array = arrays[number]
        if array.dtype != dtype or not array.flags.c_contiguous:
            return None
        if array.ndim and shape not in (None, array.shape):
            return None
        shape = array.shape if array.ndim else shape
        kinds += "F" if array.ndim else "S"
        arguments.append(array.ravel())
    if shape is None or program.half_inputs or program.rounds or any(indices != program.inputs for indices in program.depends):
        return None
    results = [empty(shape, dtype) for dtype in program.dtypes[:kept]]
    size = arguments[kinds.index("F")].size
    if length and size % length:
        return None
    # The elements of a chunk, and of what is added up in one piece.
    step, piece = (max(1, GRAIN // length) * length, length) if length else (GRAIN, GRAIN)
    parts = np.empty((len(program.outputs) - kept, -(-size // piece)))
    key = "totals", kinds, kept
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compiled(_source(program, kinds, kept), _SCOPE, allocates=True)
    kernel(*arguments, *program.constants, *[each.ravel() for each in results], parts, size, step, piece)
    return results, list(parts) if length else [_in_order(each) for each in parts]


def _in_order(parts: Array) -> float:
    """The sum of a few numbers, one after the other."""
    total = 0.0
    for part in parts.tolist():
        total += part
    return total


def _source(program: Program, kinds: str, kept: int) -> str:
    """The text of the loop of `fused`, and of a kernel that takes sums of pieces of its last results."""
    loop = source(program, kinds, False).split("\n\n")[0]
    inputs = [f"x{place}" for place in range(len(kinds))]
    constants = [f"k{place}" for place in range(len(program.constants))]
    results, summed = [f"y{place}" for place in range(kept)], [f"y{place}" for place in range(kept, len(program.outputs))]
    pieces = [f"piece({x}, _begin, _count)" if kind == "F" else x for x, kind in zip(inputs, kinds, strict=True)]
    passed = [*pieces, *constants, *[f"piece({y}, _begin, _count)" for y in results], *summed]
    lines = [f"def kernel({', '.join([*inputs, *constants, *results, '_parts', '_size', '_step', '_piece'])}):",
             "    for _c in numba.prange((_size + _step - 1) // _step):",
             "        _begin = np.int64(_c) * _step", "        _count = min(_step, _size - _begin)",
             *[f"        {y} = np.empty(_count, np.{dtype.name})"
               for y, dtype in zip(summed, program.dtypes[kept:], strict=True)],
             f"        loop({', '.join(passed)})",
             "        for _p in range((_count + _piece - 1) // _piece):",
             "            _first = _p * _piece",
             "            _last = min(_first + _piece, _count)",
             *[f"            _parts[{place}, _begin // _piece + _p] = sum_of({y}, np.uint64(_first), np.uint64(_last))"
               for place, y in enumerate(summed)]]  # fmt: skip
    return "\n".join([loop, "", *lines]) + "\n"
