"""Formulas some of whose results are only added up, in one pass over memory: those are never written there.

Chunk by chunk they are computed into a block that stays in the cache, whose sum is taken as `reduction.total_of_all` takes that
of a piece: in the same order, so that totals have the same bits as those of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lucid_kernels.expression import Program

from ..arrays.layout import GRAIN, Array
from ..elementwise.fused import compiled, fused, source
from ..runtime.allocator import empty
from ..simd.reduce import sum_of
from . import reduction

_SCOPE = {"sum_of": sum_of, "np": np, "GRAIN": GRAIN}


def fused_with_totals(*arrays: Array, program: Program, totals: int) -> tuple[list[Array], list[float]]:
    """The outputs of `program`, but of the last `totals` of them, of float32 or float64, the sums of all elements, in float64."""
    kept = len(program.outputs) - totals
    found = _in_one_pass(arrays, program, kept) if reduction.PIECE == GRAIN else None
    if found is not None:
        return found
    results = fused(*arrays, program=program)
    results = results if isinstance(results, tuple) else (results,)
    return list(results[:kept]), [reduction.total_of_all(each) for each in results[kept:]]


def _in_one_pass(arrays: Sequence[Array], program: Program, kept: int) -> tuple[list[Array], list[float]] | None:
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
    parts = np.empty((len(program.outputs) - kept, -(-size // GRAIN)))
    found = np.empty(len(parts))
    key = "totals", kinds, kept
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compiled(_source(program, kinds, kept), _SCOPE, allocates=True)
    kernel(*arguments, *program.constants, *[each.ravel() for each in results], parts, found, size)
    return results, found.tolist()


def _source(program: Program, kinds: str, kept: int) -> str:
    """The text of the loop of `fused`, and of a kernel that takes sums of its last results."""
    loop = source(program, kinds, False).split("\n\n")[0]
    inputs = [f"x{place}" for place in range(len(kinds))]
    constants = [f"k{place}" for place in range(len(program.constants))]
    results, summed = [f"y{place}" for place in range(kept)], [f"y{place}" for place in range(kept, len(program.outputs))]
    pieces = [f"piece({x}, _begin, _count)" if kind == "F" else x for x, kind in zip(inputs, kinds, strict=True)]
    passed = [*pieces, *constants, *[f"piece({y}, _begin, _count)" for y in results], *summed]
    lines = [f"def kernel({', '.join([*inputs, *constants, *results, '_parts', '_found', '_size'])}):",
             "    for _c in numba.prange(_parts.shape[1]):",
             "        _begin = np.int64(_c) * GRAIN", "        _count = min(GRAIN, _size - _begin)",
             *[f"        {y} = np.empty(_count, np.{dtype.name})"
               for y, dtype in zip(summed, program.dtypes[kept:], strict=True)],
             f"        loop({', '.join(passed)})",
             *[f"        _parts[{place}, _c] = sum_of({y}, np.uint64(0), np.uint64(_count))" for place, y in enumerate(summed)],
             "    for _t in range(_parts.shape[0]):",
             "        _total = 0.0",
             "        for _p in range(_parts.shape[1]):",
             "            _total += _parts[_t, _p]",
             "        _found[_t] = _total"]  # fmt: skip
    return "\n".join([loop, "", *lines]) + "\n"
