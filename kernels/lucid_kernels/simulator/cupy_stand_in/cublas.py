"""The part of cuBLAS that works on raw pointers: ``cupy.cuda.cublas`` (``cupy_backends.cuda.libs.cublas``).

Matrices are column-major. A wrong leading dimension or batch stride gives wrong numbers, or an error when it leaves the
allocation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .array import bytes_at
from .kernels import launches
from .streams import count_operation, get_current_stream, refuse_library

CUBLAS_OP_N = 0
CUBLAS_OP_T = 1
CUBLAS_COMPUTE_32F = 68
CUBLAS_COMPUTE_32F_FAST_TF32 = 77
CUBLAS_COMPUTE_64F = 70
CUBLAS_GEMM_DEFAULT = -1

#: cudaDataType -> dtype
_TYPES = {0: np.dtype(np.float32), 1: np.dtype(np.float64), 2: np.dtype(np.float16), 14: np.dtype(ml_dtypes.bfloat16)}


class CUBLASError(RuntimeError):
    """An error of cuBLAS."""


def _matrix(address: int, rows: int, columns: int, leading: int, dtype: np.dtype) -> Any:
    """A column-major matrix in device memory. Raises CUBLASError, ValueError."""
    if leading < max(1, rows):
        raise CUBLASError(f"CUBLAS_STATUS_INVALID_VALUE: leading dimension {leading} of a matrix with {rows} rows")
    elements = leading * (columns - 1) + rows if rows and columns else 0
    flat = bytes_at(address, elements * dtype.itemsize).view(dtype) if elements else np.empty(0, dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (dtype.itemsize, leading * dtype.itemsize))


def _factors(matrix: Any, computeType: int, compute_dtype: Any) -> Any:
    """The elements of a matrix as they are multiplied: in TF32 rounded to 10 bits behind the point, but NaN and inf."""
    if computeType != CUBLAS_COMPUTE_32F_FAST_TF32 or matrix.dtype != np.float32:
        return matrix.astype(compute_dtype)
    bits = np.array(matrix).view(np.uint32)
    rounded = ((bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(matrix), rounded, matrix)


def _host_scalar(address: int, dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    return np.frombuffer((ctypes.c_uint8 * dtype.itemsize).from_address(address), dtype)[0]


def gemmStridedBatchedEx(
    handle: int,
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    A: int,
    Atype: int,
    lda: int,
    strideA: int,
    B: int,
    Btype: int,
    ldb: int,
    strideB: int,
    beta: int,
    C: int,
    Ctype: int,
    ldc: int,
    strideC: int,
    batchCount: int,
    computeType: int,
    algo: int,
) -> None:
    """C[i] = alpha * op(A[i]) @ op(B[i]) + beta * C[i]; alpha and beta are addresses in host memory.

    Raises NotImplementedError inside a capture, as CuPy does.
    """
    refuse_library("cuBLAS")
    get_current_stream().flush()
    count_operation()
    gemm(transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batchCount,
         computeType)()


def gemm(
    transa: int, transb: int, m: int, n: int, k: int, alpha: int, A: int, Atype: int, lda: int, strideA: int, B: int, Btype: int,
    ldb: int, strideB: int, beta: int, C: int, Ctype: int, ldc: int, strideC: int, batchCount: int, computeType: int,
) -> Callable[[], None]:  # fmt: skip
    """The product as a function, of the matrices that lie there now: a graph that has captured it finds them also where its pool
    has their memory back. For the modules of this package.
    """
    compute_dtype: Any = np.float64 if computeType == CUBLAS_COMPUTE_64F else np.float32
    factor, keep = _host_scalar(alpha, compute_dtype), _host_scalar(beta, compute_dtype)
    a_type, b_type, c_type = _TYPES[Atype], _TYPES[Btype], _TYPES[Ctype]
    a_shape = (k, m) if transa else (m, k)
    b_shape = (n, k) if transb else (k, n)
    matrices = [(_matrix(A + index * strideA * a_type.itemsize, *a_shape, lda, a_type),
                 _matrix(B + index * strideB * b_type.itemsize, *b_shape, ldb, b_type),
                 _matrix(C + index * strideC * c_type.itemsize, m, n, ldc, c_type)) for index in range(batchCount)]

    def run() -> None:
        launches.append((f"gemm {m}x{n}x{k}", (batchCount,), ()))
        with np.errstate(all="ignore"):
            for *factors, c in matrices:
                a, b = (_factors(each, computeType, compute_dtype) for each in factors)
                product = factor * ((a.T if transa else a) @ (b.T if transb else b))
                c[...] = product if keep == 0 else product + keep * c.astype(compute_dtype)

    return run
