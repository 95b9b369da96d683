"""Calls of the Fortran routines of LAPACK and BLAS inside NumPy's wheel, one for each matrix of a stack.

One compiled loop calls every routine of any dtype: a Fortran routine takes nothing but addresses. NumPy's own functions convert
float32 to float64, and take two to ten times as long as the routines of float32.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types

from ..arrays.layout import Array
from ..matmul import openblas
from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_parallel
from ..simd.address import address_of

LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_SHARE = 1 << 15  # multiply-adds of one iteration: about 15 us, which are worth the launch of a thread
_TASKS = 64  # iterations at most: each has a workspace of its own
# Arguments of every call, so that one loop is compiled. A routine does not see those beyond its own; the first of them are the
# lengths of its letters, which Fortran hands over behind the last argument: all 1.
_ARGUMENTS = 20

#: An array and the bytes from what one matrix has of it to what the next has, or the dtype of a workspace and its length.
Argument = tuple[Any, int]


@intrinsic
def _call(typing_context: Any, routine: Any, addresses: Any, steps: Any, matrix: Any, task: Any) -> Any:
    """Call the routine at the address `routine`. Its arguments are at ``addresses + matrix * steps``, or, where a step is
    negative, at ``addresses - task * steps``.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        routine, addresses, steps, matrix, task = values
        word = ir.IntType(64)
        zero, arguments = ir.Constant(word, 0), []
        for k in range(signature.args[1].count):
            step = builder.extract_value(steps, k)
            of_task = builder.mul(task, builder.sub(zero, step))
            offset = builder.select(builder.icmp_signed("<", step, zero), of_task, builder.mul(matrix, step))
            arguments.append(builder.add(builder.extract_value(addresses, k), offset))
        kind = ir.FunctionType(ir.VoidType(), [word] * len(arguments))
        builder.call(builder.inttoptr(routine, kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(types.int64, addresses, steps, types.int64, types.int64), generate


@jit_parallel
def _call_each(routine: Any, addresses: Any, steps: Any, count: Any, share: Any) -> None:
    """Call the routine for each of `count` matrices, `share` of them in one iteration."""
    for i in numba.prange((count + share - 1) // share):
        task = np.int64(i)
        for j in range(task * share, min((task + 1) * share, count)):
            _call(routine, addresses, steps, j, task)


def run(routine: int, arguments: Sequence[Argument], count: int, work: int) -> None:
    """Call `routine` for `count` matrices of `work` multiply-adds each."""
    share = max(1, _SHARE // max(1, work), -(-count // _TASKS))
    tasks, kept, steps = -(-count // share), [], []
    for array, step in arguments:
        if not isinstance(array, np.ndarray):
            array, step = np.empty(step * tasks, array), -step * array.itemsize
        kept.append(array)
        steps.append(step)
    rest = _ARGUMENTS - len(kept)
    with openblas.one_thread:
        _call_each(routine, (*map(address_of, kept), *(1,) * rest), (*steps, *(0,) * rest), count, share)


@functools.cache
def routine(name: str) -> tuple[int, Any]:
    """The address of a routine, such as dgetrf_, and the dtype of its integers."""
    found = openblas.routine(name)
    assert found is not None, name  # `available` has been checked
    return found[0], np.dtype(found[1])


@functools.cache
def available() -> bool:
    """Whether NumPy's BLAS is the one of its wheels, whose routines can be called."""
    return all(openblas.routine(letter + name) for letter in LETTERS.values() for name in ("getrf_", "gesv_", "potrf_", "trsm_"))


@functools.cache
def letter(character: str) -> Array:
    """An argument of one letter."""
    return np.frombuffer(character.encode(), np.uint8)
