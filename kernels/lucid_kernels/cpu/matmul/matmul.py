"""Products of matrices: which algorithm computes them. OpenBLAS's threads are kept out of them (`openblas_tiles` says why)."""
from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.allocator import empty
from ..runtime.signals import deferred
from ..runtime.threads import THREADS
from .openblas import THREADS_IN_OPENBLAS_FROM, TILES_FROM, one_thread

# The same where the columns of the right operand are contiguous, as in linear layers: OpenBLAS takes 1.2 to 2 times as long, for
# few rows 2 to 8 times. It is as fast where those of the left one are contiguous too.
TURNED_FROM, FEW_ROWS = 1 << 18, 8
# Sums of one product each: from here on BLAS takes 3 to 5 times as long as a multiplication.
_OUTER_FROM = 1 << 10
# Results of a few products each, as of a layer with two inputs: OpenBLAS takes 2 to 4 times as long where the columns are
# contiguous, and a multiplication twice as long for one product each, unless it writes large results past the caches.
_FEW_STEPS, _FEW_STEPS_FROM, _PAST_CACHES_FROM, _SHORTEST_ROW = 8, 1 << 15, 1 << 19, 64
# Products of integers: NumPy's own loops take 12 times as long for matrices of 100 rows and columns, 40 times for those of 500.
_INTEGERS_FROM = 1 << 12
# Elements of a stack of small matrices that `batched_small` may multiply, and multiply-adds of one for which OpenBLAS is called
# on all threads: 8 matrices of 64x64 take 0.8 of the time, 128 products of 128x64 and 64x128, attention by hand, 0.3.
_STACK_FROM, _STACK_WORK = 1 << 10, 1 << 21
# The same for complex numbers, of which a multiply-add is four: 64 products of 16x16 take 0.6 of the time.
_COMPLEX_STACK_WORK = 1 << 18
# Elements of a complex matrix from which on OpenBLAS uses threads for its product with a vector: 2.4 us become 8 ms where another
# process has one of the cores.
_COMPLEX_VECTORS_FROM = 1 << 12
_MATRICES_OF_A_THREAD = 4  # of a stack, from which on none is cut into tiles
SMALLEST = 32  # rows or columns of a product that threads share


def matmul(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None, out: np.ndarray | None = None) -> Any:
    """``a @ b``, plus `bias` (n,); large matrices of real or complex numbers on our threads, those of middle size on one.

    `out` is a contiguous array of its shape and dtype. Products of integers are computed in float64 where that is exact.
    """
    if a.ndim == 2 and b.ndim == 2:
        work = a.size * b.shape[1]
        if work >= _INTEGERS_FROM and a.dtype.kind in "iu" and out is bias is None and _exact_in_float64(a, b):
            return matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(a.dtype, copy=False)
        if a.shape[1] <= _FEW_STEPS and len(a) * b.shape[1] >= _FEW_STEPS_FROM and _has_few_steps(a, b, bias is not None):
            return _tiles().matmul(a, b, bias, out)
        if a.shape[1] == b.shape[0] == 1 and work >= _OUTER_FROM:
            return _plus(_outer(work)(a, b, out=out), bias)
        if work > THREADS_IN_OPENBLAS_FROM:
            turned = b.strides[0] == b.itemsize and (len(a) <= FEW_ROWS or a.strides[1] == a.itemsize)
            if work >= (TURNED_FROM if turned else TILES_FROM) and a.shape[1] == b.shape[0] and _shared(a, b):
                return _tiles().matmul(a, b, bias, out)
            with one_thread:
                return _plus(np.matmul(a, b, out=out), bias)
    elif a.ndim > 1 and b.ndim > 1:
        if a.shape[-1] == b.shape[-2] == 1 and a.size * b.shape[-1] >= _OUTER_FROM:
            # A stack of outer products: NumPy's takes 3 to 10 times as long.
            return _plus(_outer(a.size * b.shape[-1])(a, b, out=out), bias)
        if max(a.size, b.size) >= _STACK_FROM and _are_stacks(a, b):
            real = a.dtype.kind == "f"
            if real and _batched_small().suits(a, b):
                return _plus(_batched_small().matmul(a, b, out), bias)
            if not one_thread.unknown and _stack_work(a, b) >= (_STACK_WORK if real else _COMPLEX_STACK_WORK):
                return _plus(_matmul_stacks(a, b, out), bias)
    if a.dtype.kind == "c" and max(a.size, b.size) >= _COMPLEX_VECTORS_FROM:
        with one_thread:
            return _plus(np.matmul(a, b, out=out), bias)
    return _plus(np.matmul(a, b, out=out), bias)


def _are_stacks(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether these are stacks of real or complex matrices that have a product, not empty."""
    return a.dtype == b.dtype and a.dtype.char in "fdFD" and a.shape[-1] == b.shape[-2] and 0 not in a.shape + b.shape


def _stack_work(a: np.ndarray, b: np.ndarray) -> int:
    """The multiply-adds of a product of stacks, one of which is not broadcast."""
    return max(a.size * b.shape[-1], b.size * a.shape[-2])


def _exact_in_float64(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether float64 holds all sums of this product of integers."""
    largest = [max(-int(x.min()), int(x.max())) for x in (a, b)]
    return largest[0] * largest[1] * a.shape[1] <= 1 << 53


def _outer(size: int) -> Callable[..., Any]:
    """What multiplies vectors to outer products of `size` elements."""
    multiply: Callable[..., Any] = _elementwise().mul if size > THREADS_IN_OPENBLAS_FROM else np.multiply
    return multiply


def _matmul_stacks(a: np.ndarray, b: np.ndarray, out: np.ndarray | None) -> Any:
    """``a @ b`` of stacks of matrices, broadcast, not empty: a matrix a task, few large ones one by one."""
    lead, (m, k), n = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2:], b.shape[-1]
    if m * k * n < TILES_FROM or math.prod(lead) >= _MATRICES_OF_A_THREAD * THREADS.value:
        return _tiles().matmul_stacks(a, b, out)
    result = empty((*lead, m, n), a.dtype) if out is None else out
    left, right = np.broadcast_to(a, (*lead, m, k)), np.broadcast_to(b, (*lead, k, n))
    for index, of_one in zip(np.ndindex(lead), result.reshape(-1, m, n)):
        matmul(left[index], right[index], out=of_one)
    return result


def matmul_and_sums(a: np.ndarray, b: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """``a @ b`` of matrices, and the sums of the rows of `a`; None instead where no product has them at hand."""
    if a.size * b.shape[1] >= TILES_FROM and a.shape[1] == b.shape[0] > 1 and _shared(a, b):
        return _tiles().matmul_and_sums(a, b)
    return matmul(a, b), None


def _plus(result: Any, bias: np.ndarray | None) -> Any:
    if bias is not None:
        result += bias
    return result


def _has_few_steps(a: np.ndarray, b: np.ndarray, with_bias: bool) -> bool:
    """Whether `openblas_tiles` is faster for a product of a few steps: with contiguous columns, or of one."""
    if not 0 < a.shape[1] == b.shape[0] or not _shared(a, b) or a.dtype.kind == "c":
        return False
    if len(b) == 1:
        return with_bias or b.size < _SHORTEST_ROW or a.size * b.size < _PAST_CACHES_FROM
    return b.strides[0] == b.itemsize


def _shared(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether `openblas_tiles` can multiply them, and several threads could share the result."""
    if one_thread.unknown or max(a.shape[0], b.shape[1]) < SMALLEST:
        return False
    return a.dtype == b.dtype and a.dtype.char in "fdFD"


def _imported(name: str) -> Any:
    with deferred():
        return importlib.import_module(name, __package__)


@functools.cache
def _tiles() -> Any:
    return _imported(".openblas_tiles")


@functools.cache
def _batched_small() -> Any:
    return _imported(".batched_small")


@functools.cache
def _elementwise() -> Any:
    return _imported("..elementwise.elementwise")
