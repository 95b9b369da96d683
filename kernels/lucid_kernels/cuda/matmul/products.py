"""Products of matrices by cuBLAS itself.

CuPy's `matmul` computes stacks of float16 matrices in float32 and has no bfloat16. Here half-precision matrices go to the tensor
cores, whose sums are float32 and rounded once.
"""
from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np
from cupy.cuda import cublas

from lucid_kernels import tf32
from lucid_kernels.cuda.matmul import blas
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch

#: Of a dtype's character: cuBLAS's numbers of the type and of that of the sums, and the addresses of 1 and 0 in the latter.
_SCALARS = {dtype: (np.ones((), dtype), np.zeros((), dtype)) for dtype in "fd"}
_KINDS = {char: (number, compute, *(scalar.ctypes.data for scalar in _SCALARS[sums])) for char, number, compute, sums in (
    ("f", 0, cublas.CUBLAS_COMPUTE_32F, "f"), ("d", 1, cublas.CUBLAS_COMPUTE_64F, "d"),
    ("e", 2, cublas.CUBLAS_COMPUTE_32F, "f"), ("E", 14, cublas.CUBLAS_COMPUTE_32F, "f"))}  # fmt: skip
#: The same of float32 as TF32.
TF32 = (0, cublas.CUBLAS_COMPUTE_32F_FAST_TF32, *_KINDS["f"][2:])


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices (..., m, k) and (..., k, n), whose leading dimensions are broadcast, or with vectors, as NumPy's.

    float32 is computed as such, or as TF32 where `lucid.backends.cuda.matmul.allow_tf32` is set. Transposed matrices and stacks
    with one stride are read where they are. CuPy's function computes products of other dtypes and those with vectors.
    """
    kind = kind_of(a.dtype)
    if kind is None or a.dtype != b.dtype or a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype) if a.dtype.char in "eE" else a @ b
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        batch = np.broadcast_shapes(batch, b.shape[:-2])
    result = launch.empty((*batch, rows, columns), a.dtype)
    if not inner:
        launch.fill(result, 0)
    elif result.size:
        multiply(kind, a, b, result, batch, False)
    return result


def multiply_into(result: Any, a: Any, b: Any, add: bool = False) -> None:
    """Write the product of matrices of one dtype, float32 or float64, to `result` (contiguous), or add it to what is there."""
    kind = kind_of(a.dtype)
    assert kind is not None
    if result.size and a.shape[1]:
        multiply(kind, a, b, result, (), add)


def multiply(kind: tuple[int, int, int, int], a: Any, b: Any, result: Any, batch: tuple[int, ...], add: bool) -> None:
    """Write the products of matrices, whose leading dimensions are broadcast to `batch`, to `result` (contiguous), or add them to
    what is there. `kind`: a `kind_of`.
    """
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    number, compute, one, zero = kind
    a, transposed_a, leading_a, step_a = operand(a, batch)
    b, transposed_b, leading_b, step_b = operand(b, batch)
    # cuBLAS's matrices have their columns one after the other: to it all three are transposed, so it computes b^T a^T.
    blas.multiply(
        transposed_b, transposed_a, columns, rows, inner, one,
        b.data.ptr, number, leading_b, step_b, a.data.ptr, number, leading_a, step_a, one if add else zero,
        result.data.ptr, number, columns, rows * columns, math.prod(batch), compute, cublas.CUBLAS_GEMM_DEFAULT,
    )  # fmt: skip


def kind_of(dtype: Any) -> tuple[int, int, int, int] | None:
    """cuBLAS's numbers of a dtype and of the type of its sums, and the addresses of 1 and 0 in that; None if it has none."""
    return TF32 if dtype.char == "f" and tf32.products != "highest" else _KINDS.get(dtype.char)


def operand(x: Any, batch: tuple[int, ...]) -> tuple[Any, int, int, int]:
    """`x`, or a copy, as cuBLAS reads it: whether transposed, the leading dimension, and the step between matrices."""
    lead = x.shape[:-2]
    if lead != batch and math.prod(lead) != 1:
        x = cupy.broadcast_to(x, (*batch, *x.shape[-2:]))
    layout = _layout(x)
    if layout is None:
        x = copies.contiguous(x)
        layout = _layout(x)
        assert layout is not None  # of a contiguous array
    return x, *layout


def rows(x: Any) -> Any:
    """The rows of (..., rows, columns) as one matrix: a view, or a copy where they do not follow each other by one step."""
    if x.ndim == 2:
        return x
    if not x._c_contiguous and _step(x.shape[:-1], x.strides[:-1]) is None:
        x = copies.contiguous(x)
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _layout(x: Any) -> tuple[int, int, int] | None:
    """Whether cuBLAS reads the matrices of `x` transposed, their leading dimension, and the step between them; None if it
    cannot read them.
    """
    size, strides, (rows, columns) = x.itemsize, x.strides, x.shape[-2:]
    step = _step(x.shape[:-2], strides[:-2])
    if step is None or any(stride % size or stride < 0 for stride in strides):
        return None
    down, right = strides[-2:]
    if (right == size or columns == 1) and (down >= columns * size or rows == 1):
        return cublas.CUBLAS_OP_N, down // size if rows > 1 else columns, step // size
    if (down == size or rows == 1) and (right >= rows * size or columns == 1):
        return cublas.CUBLAS_OP_T, right // size if columns > 1 else rows, step // size
    return None


def _step(shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The one stride with which a stack of `shape` is passed through, None if there is none."""
    step = expected = None
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if step is None:
            step = stride
        elif stride != expected:
            return None
        expected = stride * size
    return step or 0
