"""Large matrix products: our own where they are faster, else tiles of the result, each by BLAS on one thread.

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

from . import _few_rows, _panel_product, blas
from ._address import address_of
from ._compile import jit_parallel
from ._pool import empty
from .threads import THREADS

Array = np.ndarray[Any, Any]
_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112  # cblas.h
_SIDE = 16  # elements; the sides of a tile are multiples, which fill the registers of BLAS's kernels


def _external(name: str, number: Any) -> Any:
    """BLAS's product of matrices of `number`, callable from kernels; addresses are passed as integers."""
    routine = blas.routine(name)
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


def _layout(matrix: Array) -> tuple[Array, int, int]:
    """`matrix` (a copy where BLAS cannot read it), its transposition flag and leading dimension."""
    item, (rows, columns), (down, right) = matrix.itemsize, matrix.shape, matrix.strides
    if right == item and down >= columns * item and down % item == 0:
        return matrix, _AS_IT_IS, down // item
    if down == item and right >= rows * item and right % item == 0:
        return matrix, _TRANSPOSED, right // item
    return np.ascontiguousarray(matrix), _AS_IT_IS, columns


def _grid(m: int, n: int, threads: int) -> tuple[int, int]:
    """(down, across): how many tiles for `threads`, as square as they get; each reads its rows and its columns."""
    down = min((d for d in range(1, threads + 1) if threads % d == 0), key=lambda d: m / d + n / (threads // d))
    return down, threads // down


def _side(length: int, parts: int) -> int:
    """The side of a tile where `parts` of them share `length`."""
    return length if parts == 1 else -(-length // (parts * _SIDE)) * _SIDE


def matmul(a: Array, b: Array, bias: Array | None = None, out: Array | None = None) -> Array:
    """``a @ b + bias`` of float32 or float64 matrices and a contiguous vector, on all threads; `out` is contiguous."""
    (a, flag_a, lda), (b, flag_b, ldb) = _layout(a), _layout(b)
    if _few_rows.suits(a, b):
        return _few_rows.matmul(a, b, bias, out)
    if b.shape[1] == 1 and _few_rows.suits(b.T, a.T):
        row = _few_rows.matmul(b.T, a.T, None, None if out is None else out.T)
        if bias is not None:
            row += bias
        return row.T
    if _panel_product.suits(a, b):
        return _panel_product.matmul(a, b, bias, out)
    result: Array
    if THREADS.value == 1:
        with blas.one_thread:
            result = np.matmul(a, b, out=out)
    else:
        result = _tiled(a, b, flag_a, lda, flag_b, ldb, out)
    if bias is not None:
        result += bias
    return result


def matmul_and_sums(a: Array, b: Array) -> tuple[Array, Array | None]:
    """``a @ b``, and the sums of the rows of `a` where our own product packs them, else None."""
    a, b = _layout(a)[0], _layout(b)[0]
    if _panel_product.suits(a, b):
        return _panel_product.matmul_and_sums(a, b)
    return matmul(a, b), None


def _tiled(a: Array, b: Array, flag_a: int, lda: int, flag_b: int, ldb: int, out: Array | None) -> Array:
    """``a @ b`` in as many tiles as there are threads."""
    (m, k), n = a.shape, b.shape[1]
    result = empty((m, n), a.dtype) if out is None else out
    down, across = _grid(m, n, THREADS.value)
    rows = _side(m, down)
    columns = _side(n, across)
    down, across = -(-m // rows), -(-n // columns)
    tiles = _tiles32 if a.dtype == np.float32 else _tiles64
    with blas.one_thread:
        tiles(address_of(a), address_of(b), address_of(result), m, n, k, flag_a, lda, flag_b, ldb, across, rows, columns,
              down * across)  # fmt: skip
    return result
