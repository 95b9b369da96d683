"""Formulas of small CPU arrays, step by step with NumPy's functions: nothing is compiled, and a call takes no longer.

A kernel for each formula is worth its half second of compilation where arrays are large. Here a program becomes one Python
function with a line for each step: a third of a microsecond each, where an operation with its node takes two.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from lucid_kernels.expression import Program

from ..common.elementwise import ARITHMETIC
from ..elementwise import ROWS
from ..elementwise.row import COMPOSED, PRIMITIVE
from ..sizes import INTERPRETER_FROM
from . import accurate
from .undispatched import undispatched

Array = Any
Kernel = Callable[..., Any]

_FUNCTIONS: dict[str, Kernel] = {row.name: accurate.function(row.name) for row in ROWS.values()
                                 if row.formula == PRIMITIVE and row.function != COMPOSED
                                 and (row.name in ARITHMETIC or not row.family)}
# The operations of formulas that are none of tensors; and NumPy's power, without the special cases of its table entry.
_FUNCTIONS |= {"rint": np.rint, "where": undispatched(np.where), "power": np.power}


def table(kernels: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """`fused` for small and large arrays; `kernels` is the table of all operations."""
    def fused(*arrays: Array, program: Program, out: Any = None, totals: tuple[tuple[int, tuple[int, ...]], ...] = (),
              length: int = 0) -> Any:
        if totals:
            return _with_totals(arrays, program, totals, length)
        if program.by_steps and _are_small(arrays):
            steps = program.kernels.get("steps")
            if steps is None:
                steps = program.kernels["steps"] = _function(program, kernels)
            if out is None:
                return steps(*arrays)
            np.copyto(out, steps(*arrays))  # of the only result
            return out
        return _compiled()(*arrays, program=program, out=out)

    return {"fused": fused}


@functools.cache
def _compiled() -> Kernel:
    from lucid_kernels.cpu.elementwise import fused  # imports Numba

    return fused.fused


def _with_totals(arrays: tuple[Array, ...], program: Program, totals: tuple[tuple[int, tuple[int, ...]], ...], length: int
                 ) -> Any:
    """The results of `program`, and instead of the last ones their sums, of all elements or of rows of `length`: each divided by
    a number and with a shape of its own.
    """
    from lucid_kernels.cpu.reduction.fused_totals import fused_with_totals

    results, sums = fused_with_totals(*arrays, program=program, totals=len(totals), length=length)
    dtypes = program.dtypes[len(results):]
    results += [np.asarray(total / divisor, dtype).reshape(shape)
                for total, dtype, (divisor, shape) in zip(sums, dtypes, totals, strict=True)]
    return tuple(results) if len(results) > 1 else results[0]


def _are_small(arrays: tuple[Array | None, ...]) -> bool:
    for array in arrays:  # noqa: SIM110 - `all` takes three times as long
        if array is not None and array.size >= INTERPRETER_FROM:
            return False
    return True


def _function(program: Program, kernels: Mapping[str, Kernel]) -> Kernel:
    """The function of the arguments of `program`. It returns one array, or a tuple if there are several."""
    scope: dict[str, Any] = {"__name__": __name__, "np": np}  # the name: warnings in the name of this module are silenced
    inputs = [f"x{place}" for place in range(len(program.inputs))]
    names = dict(zip(program.inputs, inputs, strict=True))
    arguments = [names.get(number, f"unread{number}") for number in range(max(program.inputs, default=-1) + 1)]
    lines = [f"def steps({', '.join([*arguments, '*unread'])}):"]
    if program.of_scalars:  # as vectors: with results that have no dimensions NumPy takes 1.5 times as long
        lines += [f"    {name} = {name}[None]" for name in inputs]
    lines += [f"    {inputs[place]} = {inputs[place]}.astype(np.float32)" for place in program.half_inputs]
    for place, (value, dtype) in enumerate(zip(program.constants, program.constant_dtypes, strict=True)):
        scope[f"k{place}"] = np.asarray(value, dtype)  # NumPy takes half of the time of a number
    for step in program.steps:
        operands = ", ".join(step.operands)
        if step.operation == "cast":
            lines.append(f"    {step.name} = {operands}.astype(np.{step.dtype.name})")
        elif step.operation in _FUNCTIONS:
            scope[step.operation] = _FUNCTIONS[step.operation]
            lines.append(f"    {step.name} = {step.operation}({operands})")
        else:
            scope["kernels"] = kernels
            lines.append(f"    {step.name} = kernels['{step.operation}']({operands})")
    results = []
    for place, (name, stored, computed) in enumerate(zip(program.outputs, program.dtypes, program.output_dtypes, strict=True)):
        scope[f"dtype{place}"] = stored
        mine = name[0] == "v" and name not in program.outputs[:place]  # neither an argument nor another result
        if program.of_scalars and program.depends[place]:
            array = f"np.asarray({name}[0])"
        else:
            array = f"np.asarray({name})" if mine else f"np.array({name})"
        results.append(array if stored == computed else f"{array}.astype(dtype{place})")
    lines.append(f"    return {', '.join(results)}")
    exec("\n".join(lines), scope)
    steps: Kernel = scope["steps"]
    return steps
