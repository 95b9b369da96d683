"""Formulas in one pass over memory on a GPU: a CUDA kernel written for each `Program`."""
from __future__ import annotations

import functools
from typing import Any

from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.runtime import formula, launch, recording
from lucid_kernels.expression import Program, Shape


def fused(*arrays: Any, program: Program, out: Any = None) -> Any:
    """The outputs of `program`, broadcast; one array, or a tuple if there are several. An argument may be a number.

    Arrays are read and results are written in any dtypes and strides, halves as well; they are computed in the program's.
    """
    count = len(program.dtypes)
    given = (None,) * count if out is None else out if count > 1 else (out,)
    results: list[Any] = [None] * count
    for part, positions, shape in _parts(program, tuple([getattr(array, "shape", ()) for array in arrays])):
        inputs = [arrays[number] for number in part.inputs]
        dense = [array for array in inputs if hasattr(array, "strides")]
        written = [strides.result(given[place], shape, dtype, dense)
                   for place, dtype in zip(positions, part.dtypes, strict=True)]
        if written[0].size:
            _run(part, inputs, written)
        for place, array in zip(positions, written, strict=True):
            results[place] = launch.deliver(array, given[place])
    return tuple(results) if count > 1 else results[0]


@functools.lru_cache(1024)
def _parts(program: Program, shapes: tuple[Shape, ...]) -> list[tuple[Program, tuple[int, ...], Shape]]:
    """The outputs that a kernel computes, of one shape and not too many: their program, which they are, and the shape."""
    positions: dict[Shape, list[int]] = {}
    for place, shape in enumerate(program.result_shapes(shapes)):
        positions.setdefault(shape, []).append(place)
    together = max(1, strides.MOST - len(program.inputs))
    parts = [(shape, tuple(some[at:at + together])) for shape, some in positions.items() for at in range(0, len(some), together)]
    return [(program.part(some), some, shape) for shape, some in parts]


def _run(program: Program, inputs: list[Any], results: list[Any]) -> None:
    stored = tuple([getattr(value, "dtype", None) for value in inputs])
    text = formula.source(program, stored, tuple([array.dtype for array in results]))
    arguments = [value if dtype is not None else recording.whole_number(value) if kind.kind in "iu" else recording.number(value)
                 for value, dtype, kind in zip(inputs, stored, program.input_dtypes, strict=True)]
    constants = [dtype.type(value) for value, dtype in zip(program.constants, program.constant_dtypes, strict=True)]
    strides.run(launch.generated(text), results, arguments, constants)
