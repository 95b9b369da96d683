"""Formulas in one pass over memory on a GPU: a CUDA kernel written for each `Program`."""
from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import formula, launch
from lucid_kernels.expression import Part, Program, plan


def fused(*arrays: Any, program: Program, out: Any = None) -> Any:
    """The outputs of `program`, broadcast; one array, or a tuple if there are several.

    Half-precision elements are computed in float32, and rounded once at the end.
    """
    count = len(program.dtypes)
    given = (None,) * count if out is None else out if count > 1 else (out,)
    results: list[Any] = [None] * count
    for part in plan(program, tuple([() if array is None else array.shape for array in arrays]), 1):
        for place, array in zip(part.positions, _run(part, arrays, [given[place] for place in part.positions]), strict=True):
            results[place] = launch.deliver(array.astype(program.dtypes[place], copy=False), given[place])
    return tuple(results) if count > 1 else results[0]


def _run(part: Part, arrays: Any, out: Any) -> list[Any]:
    program, layout = part.program, part.layout
    results = [launch.result(given, part.shape, dtype) for given, dtype in zip(out, program.output_dtypes, strict=True)]
    size = layout.outer * layout.inner
    if not size:
        return results
    arguments: list[Any] = []
    for number, dtype, _, expanded in part.operands:
        array = arrays[number].astype(dtype, copy=False)
        arguments.append(launch.contiguous(array if expanded is None else cupy.broadcast_to(array, expanded)))
    arguments += [dtype.type(value) for value, dtype in zip(program.constants, program.constant_dtypes, strict=True)]
    grid, block = launch.grid_1d(size)
    launch.generated(formula.source(program, layout.kinds), "fused")(
        grid, block, (*arguments, *results, np.int64(layout.inner), np.int64(size)))
    return results
