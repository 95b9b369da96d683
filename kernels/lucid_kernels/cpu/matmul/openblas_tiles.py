"""Large matrix products: our own where they are faster, else tiles of the result, or matrices of a stack, each by BLAS on one
thread.

OpenBLAS's own threads spin for 25 ms after a product, on the cores that the kernels in between need; and where another process
has one of the cores, a product of 256x256 takes 16 ms, because they wait for each other. Tiles take the time of OpenBLAS's
threads on an idle machine, and 0.16 ms there.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import types

from ..runtime.allocator import empty
from ..runtime.jit import jit_parallel
from ..runtime.threads import THREADS
from ..simd.address import address_of
from . import openblas
from .batch_offsets import offsets_of
from .problem import unit_steps

Array = np.ndarray[Any, Any]
_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112  # cblas.h
_TASK = 1 << 17  # multiply-adds of one task of a stack, some 2 us
_SIDE = 16  # elements; the sides of a tile are multiples, which fill the registers of BLAS's kernels


def _external(name: str, number: Any) -> Any:
    """BLAS's product of matrices, callable from kernels, with factors of the type `number`; addresses are integers."""
    routine = openblas.routine(name)
    if routine is None:
        return None
    address, integer = routine
    llvmlite.binding.add_symbol(f"lucid_{name}", address)
    size, flag, pointer = (types.int64 if integer is ctypes.c_int64 else types.int32), types.int32, types.uintp
    shapes = (flag, flag, flag, size, size, size)
    return types.ExternalFunction(
        f"lucid_{name}", types.void(*shapes, number, pointer, size, pointer, size, number, pointer, size)
    )


_sgemm, _dgemm = _external("cblas_sgemm", types.float32), _external("cblas_dgemm", types.float64)
_cgemm, _zgemm = _external("cblas_cgemm", types.uintp), _external("cblas_zgemm", types.uintp)
# The factors of complex products, which are passed by their addresses, and the bytes of a number of single precision.
_FACTORS = np.array([1, 0], np.complex64), np.array([1, 0], np.complex128)
_SINGLE = 8


@jit_parallel
def _tiles32(a, b, c, m, n, k, flag_a, lda, flag_b, ldb, across, rows, columns, tiles):
    """c (m, n) = a @ b in `tiles` tiles of (rows, columns), `across` side by side; a, b and c are addresses."""
    for tile in numba.prange(tiles):
        row, column = np.int64(tile) // across * rows, np.int64(tile) % across * columns
        a_tile = a + 4 * row * (lda if flag_a == _AS_IT_IS else 1)
        b_tile = b + 4 * column * (1 if flag_b == _AS_IT_IS else ldb)
        _sgemm(_ROW_MAJOR, flag_a, flag_b, min(rows, m - row), min(columns, n - column), k, np.float32(1), a_tile, lda,
               b_tile, ldb, np.float32(0), c + 4 * (row * n + column), n)  # fmt: skip


@jit_parallel
def _tiles64(a, b, c, m, n, k, flag_a, lda, flag_b, ldb, across, rows, columns, tiles):
    """`_tiles32` for float64."""
    for tile in numba.prange(tiles):
        row, column = np.int64(tile) // across * rows, np.int64(tile) % across * columns
        a_tile = a + 8 * row * (lda if flag_a == _AS_IT_IS else 1)
        b_tile = b + 8 * column * (1 if flag_b == _AS_IT_IS else ldb)
        _dgemm(_ROW_MAJOR, flag_a, flag_b, min(rows, m - row), min(columns, n - column), k, 1.0, a_tile, lda,
               b_tile, ldb, 0.0, c + 8 * (row * n + column), n)  # fmt: skip


@jit_parallel
def _tiles_complex(a, b, c, m, n, k, flag_a, lda, flag_b, ldb, across, rows, columns, tiles, item, one):
    """`_tiles32` for complex numbers of `item` bytes; at the address `one` 1 and 0."""
    for tile in numba.prange(tiles):
        row, column = np.int64(tile) // across * rows, np.int64(tile) % across * columns
        down, right = min(rows, m - row), min(columns, n - column)
        a_tile = a + item * row * (lda if flag_a == _AS_IT_IS else 1)
        b_tile = b + item * column * (1 if flag_b == _AS_IT_IS else ldb)
        c_tile = c + item * (row * n + column)
        if item == _SINGLE:
            _cgemm(_ROW_MAJOR, flag_a, flag_b, down, right, k, one, a_tile, lda, b_tile, ldb, one + item, c_tile, n)
        else:
            _zgemm(_ROW_MAJOR, flag_a, flag_b, down, right, k, one, a_tile, lda, b_tile, ldb, one + item, c_tile, n)


@jit_parallel
def _stack32(a, a_offsets, b, b_offsets, c, m, n, k, flag_a, lda, flag_b, ldb, each):
    """c (count, m, n) = a @ b, `each` of them a task; a, b and c are addresses, the others so many bytes behind the first."""
    for task in numba.prange((a_offsets.shape[0] + each - 1) // each):
        for i in range(task * each, min(a_offsets.shape[0], (task + 1) * each)):
            _sgemm(_ROW_MAJOR, flag_a, flag_b, m, n, k, np.float32(1), a + a_offsets[i], lda, b + b_offsets[i], ldb,
                   np.float32(0), c + 4 * i * m * n, n)  # fmt: skip


@jit_parallel
def _stack64(a, a_offsets, b, b_offsets, c, m, n, k, flag_a, lda, flag_b, ldb, each):
    """`_stack32` for float64."""
    for task in numba.prange((a_offsets.shape[0] + each - 1) // each):
        for i in range(task * each, min(a_offsets.shape[0], (task + 1) * each)):
            _dgemm(_ROW_MAJOR, flag_a, flag_b, m, n, k, 1.0, a + a_offsets[i], lda, b + b_offsets[i], ldb, 0.0,
                   c + 8 * i * m * n, n)  # fmt: skip


@jit_parallel
def _stack_complex(a, a_offsets, b, b_offsets, c, m, n, k, flag_a, lda, flag_b, ldb, each, item, one):
    """`_stack32` for complex numbers of `item` bytes; at the address `one` 1 and 0."""
    for task in numba.prange((a_offsets.shape[0] + each - 1) // each):
        for i in range(task * each, min(a_offsets.shape[0], (task + 1) * each)):
            left, right, result = a + a_offsets[i], b + b_offsets[i], c + item * i * m * n
            if item == _SINGLE:
                _cgemm(_ROW_MAJOR, flag_a, flag_b, m, n, k, one, left, lda, right, ldb, one + item, result, n)
            else:
                _zgemm(_ROW_MAJOR, flag_a, flag_b, m, n, k, one, left, lda, right, ldb, one + item, result, n)


def _call(of_single: Any, of_double: Any, of_complex: Any, dtype: Any, *arguments: Any) -> None:
    """The kernel of a dtype, while BLAS uses one thread."""
    with openblas.one_thread:
        if dtype.kind == "c":
            of_complex(*arguments, dtype.itemsize, address_of(_FACTORS[dtype.itemsize != _SINGLE]))
        else:
            (of_single if dtype.itemsize == 4 else of_double)(*arguments)


def _layout(matrix: Array) -> tuple[Array, int, int]:
    """`matrix`, or a stack of them (a copy where BLAS cannot read it), the transposition flag and leading dimension."""
    rows, columns = unit_steps(matrix.shape, matrix.strides, matrix.itemsize)
    if rows:
        return matrix, _AS_IT_IS, matrix.strides[-2] // matrix.itemsize
    if columns:
        return matrix, _TRANSPOSED, matrix.strides[-1] // matrix.itemsize
    return np.ascontiguousarray(matrix), _AS_IT_IS, matrix.shape[-1]


def _grid(m: int, n: int, threads: int) -> tuple[int, int]:
    """(down, across): how many tiles for `threads`, as square as they get; each reads its rows and its columns."""
    down = min((d for d in range(1, threads + 1) if threads % d == 0), key=lambda d: m / d + n / (threads // d))
    return down, threads // down


def _side(length: int, parts: int) -> int:
    """The side of a tile where `parts` of them share `length`."""
    return length if parts == 1 else -(-length // (parts * _SIDE)) * _SIDE


def matmul(a: Array, b: Array, bias: Array | None = None, out: Array | None = None) -> Array:
    """``a @ b + bias`` of real or complex matrices and a contiguous vector, in tiles for all threads; `out` is contiguous."""
    result: Array
    if THREADS.value == 1:
        with openblas.one_thread:
            result = np.matmul(a, b, out=out)
    else:
        result = _tiled(a, b, out)
    if bias is not None:
        result += bias
    return result


def matmul_stacks(a: Array, b: Array, out: Array | None = None) -> Array:
    """``a @ b`` of stacks of real or complex matrices, broadcast, not empty: some matrices a task."""
    lead, (m, k), n = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2:], b.shape[-1]
    c = empty((*lead, m, n), a.dtype) if out is None else out
    (a, flag_a, lda), (b, flag_b, ldb) = _layout(a), _layout(b)
    _call(_stack32, _stack64, _stack_complex, a.dtype, address_of(a), offsets_of(a, lead), address_of(b), offsets_of(b, lead),
          address_of(c), m, n, k, flag_a, lda, flag_b, ldb, max(1, _TASK // (m * k * n)))  # fmt: skip
    return c


def _tiled(a: Array, b: Array, out: Array | None) -> Array:
    """``a @ b`` in as many tiles as there are threads."""
    (a, flag_a, lda), (b, flag_b, ldb) = _layout(a), _layout(b)
    (m, k), n = a.shape, b.shape[1]
    result = empty((m, n), a.dtype) if out is None else out
    down, across = _grid(m, n, THREADS.value)
    rows = _side(m, down)
    columns = _side(n, across)
    down, across = -(-m // rows), -(-n // columns)
    _call(_tiles32, _tiles64, _tiles_complex, a.dtype, address_of(a), address_of(b), address_of(result), m, n, k, flag_a, lda,
          flag_b, ldb, across, rows, columns, down * across)  # fmt: skip
    return result
