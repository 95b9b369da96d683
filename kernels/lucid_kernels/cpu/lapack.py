"""LU factorization and triangular systems for stacks of matrices, by the LAPACK and BLAS inside NumPy's wheel.

NumPy itself offers neither, and eliminating with array operations takes ten times as long. One compiled loop runs over the
matrices of a stack, for all four dtypes: a Fortran routine takes nothing but addresses.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic as numba_intrinsic

from . import blas
from ._address import address_of
from ._compile import jit_exact, jit_parallel
from ._layout import Array

intrinsic: Any = numba_intrinsic  # untyped: Numba declares the result with the typing context as an argument

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_SHARE = 1 << 15  # multiply-adds of one iteration: about 15 us, which are worth the launch of a thread


@intrinsic
def _call(typing_context: Any, routine: Any, addresses: Any, steps: Any, index: Any) -> Any:
    """Call the Fortran routine at the address `routine` with the arguments at ``addresses + index * steps``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        routine, addresses, steps, index = values
        word = ir.IntType(64)
        arguments = [
            builder.add(builder.extract_value(addresses, k), builder.mul(index, builder.extract_value(steps, k)))
            for k in range(signature.args[1].count)
        ]
        kind = ir.FunctionType(ir.VoidType(), [word] * len(arguments))
        builder.call(builder.inttoptr(routine, kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(types.int64, addresses, steps, types.int64), generate


@jit_parallel
def _each(routine: Any, addresses: Any, steps: Any, count: Any, share: Any) -> None:
    """Call the routine for each of `count` matrices, `share` of them in one iteration."""
    for i in numba.prange((count + share - 1) // share):
        first = np.int64(i) * share
        for j in range(first, min(first + share, count)):
            _call(routine, addresses, steps, j)


def _run(routine: int, arguments: list[tuple[Array, int]], count: int, work: int) -> None:
    """Call `routine` with the address of each array, advanced by a number of bytes from one matrix to the next."""
    addresses = tuple([address_of(array) for array, _ in arguments])
    with blas.one_thread:
        _each(routine, addresses, tuple([step for _, step in arguments]), count, max(1, _SHARE // max(1, work)))


@functools.cache
def _routine(name: str) -> tuple[int, Any]:
    found = blas.routine(name)
    assert found is not None, name  # `available` has been asked
    return found[0], np.dtype(found[1])


@functools.cache
def available() -> bool:
    """Whether NumPy's BLAS is the one of its wheels, whose routines can be called."""
    return all(blas.routine(letter + name) for letter in _LETTERS.values() for name in ("getrf_", "trsm_"))


def lu_factor(a: Array) -> tuple[Array, Array, Array]:
    """getrf with partial pivoting for matrices (..., m, n) of float32, float64, complex64 or complex128.

    L below the diagonal and U, laid out by columns; the rows that were swapped, from 1, int32 (..., k), k = min(m, n); and the
    number of the first pivot that is zero, or 0, int32 (...).
    """
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    k, count = min(rows, columns), int(np.prod(batch, dtype=np.int64))
    by_columns = a.swapaxes(-1, -2).copy()
    routine, integer = _routine(_LETTERS[a.dtype.char] + "getrf_")
    pivots, info = np.empty((*batch, k), integer), np.zeros(batch, integer)
    if by_columns.size:
        m, n = np.array(rows, integer), np.array(columns, integer)
        _run(routine, [(m, 0), (n, 0), (by_columns, rows * columns * a.itemsize), (m, 0), (pivots, k * integer.itemsize),
                       (info, integer.itemsize)], count, rows * columns * k)  # fmt: skip
    return by_columns.swapaxes(-1, -2), pivots.astype(np.int32), info.astype(np.int32)


@jit_exact
def _swap(pivots: Any, order: Any) -> None:
    rows = order.shape[1]
    for matrix in range(order.shape[0]):
        for i in range(rows):
            order[matrix, i] = i
        for i in range(pivots.shape[1]):
            other = (pivots[matrix, i] - 1) % rows
            kept = order[matrix, i]
            order[matrix, i] = order[matrix, other]
            order[matrix, other] = kept


def lu_permutation(pivots: Array, *, rows: int) -> Array:
    """The order, int64 (..., rows), that swaps `pivots` (..., k), from 1 and modulo `rows`, bring rows into."""
    batch = pivots.shape[:-1]
    order = np.empty((*batch, rows), np.int64)
    if order.size:
        count = order.size // rows
        _swap(pivots.astype(np.int64).reshape(count, pivots.shape[-1]), order.reshape(count, rows))
    return order


def _memory(t: Array) -> tuple[Array, bool, int, int]:
    """A stack (count, n, n) as trsm reads it: the stack or a copy, whether rows are dense, their distance, that of matrices."""
    item, n = t.itemsize, t.shape[-1]
    for by_rows in (True, False):
        distance, step = (t.strides[1], t.strides[2]) if by_rows else (t.strides[2], t.strides[1])
        if (step == item or n == 1) and distance >= n * item and distance % item == 0:
            return t, by_rows, distance // item, t.strides[0]
    t = np.ascontiguousarray(t)
    return t, True, n, n * n * item


def solve_triangular(t: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """X with ``t @ X = b`` for triangles (..., n, n) and (..., n, k) of one batch and dtype; zeros on the diagonal give inf and
    NaN. The rest of `t` is not read, nor with `unitriangular` its diagonal.
    """
    x = b.copy(order="C")
    if not x.size:
        return x
    n, columns = x.shape[-2:]
    routine, integer = _routine(_LETTERS[t.dtype.char] + "trsm_")
    t, by_rows, distance, step = _memory(t.reshape(-1, n, n))
    # Row by row, X and t are their own transposes to Fortran, and it is X^T t^T = b^T that it solves.
    flags = [np.frombuffer(letter, np.uint8) for letter in
             (b"R", b"U" if by_rows != upper else b"L", b"N" if by_rows else b"T", b"U" if unitriangular else b"N")]  # fmt: skip
    m, k, lda = np.array(n, integer), np.array(columns, integer), np.array(distance, integer)
    one = np.ones(1, x.dtype)
    arguments = [*[(flag, 0) for flag in flags], (k, 0), (m, 0), (one, 0), (t, step), (lda, 0),
                 (x, n * columns * x.itemsize), (k, 0)]  # fmt: skip
    _run(routine, arguments, x.size // (n * columns), n * n * columns)
    return x
