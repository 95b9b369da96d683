"""Products of matrices: `MATMUL` says which implementation computes them. OpenBLAS's threads are kept out of them
(`openblas_tiles` says why).

Imports no Numba: an implementation is imported when it is first considered.
"""
from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.implementations import Implementations, WhyNot, anything, unmet
from ..runtime.signals import deferred
from .openblas import one_thread
from .problem import Problem, problem_of

_MANY = 64  # threads


def matmul(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None, out: np.ndarray | None = None) -> Any:
    """``a @ b``, plus `bias` (n,); large matrices of real or complex numbers on our threads, those of middle size on one.

    `out` is a contiguous array of its shape and dtype. Products of integers are computed in float64 where that is exact.
    """
    # What NumPy computes anyway is not looked up: that takes 0.7 us.
    if b.ndim == 2 == a.ndim:
        work = a.size * b.shape[1]
        if work < tuning.OUTER_FROM or (
                work <= tuning.OPENBLAS_THREADS_FROM and a.dtype.kind == "f" and a.shape[1] > 1
                and (a.shape[1] > tuning.FEW_STEPS or work < tuning.FEW_STEPS_FROM)):
            return a.dot(b) if bias is None and out is None else _numpy(a, b, bias, out)
    elif b.ndim < 2 or a.ndim < 2:
        if a.dtype.kind != "c":
            return _numpy(a, b, bias, out)
    elif a.size < tuning.STACKS_FROM > b.size and a.shape[-1] > 1:
        return _numpy(a, b, bias, out)
    return MATMUL.choose(problem_of(a, b, bias, out)).run(a, b, bias, out)


def are_small(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether NumPy computes the product of two small matrices of real numbers, however many threads there are."""
    work = a.size * b.shape[1]
    if a.dtype.char not in "fd" or a.dtype != b.dtype or not 0 < work <= tuning.OPENBLAS_THREADS_FROM:
        return False
    if work < tuning.OUTER_FROM or (  # which `matmul` sees at once
            a.shape[1] > 1 and (a.shape[1] > tuning.FEW_STEPS or work < tuning.FEW_STEPS_FROM)):
        return True
    problem = problem_of(a, b)
    return all(MATMUL.choose(problem._replace(threads=threads)).run is _numpy for threads in (1, problem.threads, _MANY))


def matmul_and_sums(a: np.ndarray, b: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """``a @ b`` of matrices, and the sums of the rows of `a`; None instead where no product has them at hand."""
    if a.size * b.shape[1] < tuning.SHARED_FROM:  # the same without a look
        return matmul(a, b), None
    return _WITH_SUMS.choose(problem_of(a, b)).run(a, b)


def _plus(result: Any, bias: np.ndarray | None) -> Any:
    if bias is not None:
        result += bias
    return result


def _of(module: str, name: str) -> Callable[..., Any]:
    """A function of a module of this package, which is imported on the first call."""
    @functools.cache
    def function() -> Any:
        with deferred():
            return getattr(importlib.import_module(module, __package__), name)

    return lambda *arguments: function()(*arguments)


# ---- what computes them ----------------------------------------------------------------------------------------------


def _numpy(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    if out is None and a.ndim < 3 > b.ndim:
        return _plus(a.dot(b), bias)  # of the same BLAS, 0.5 us before `np.matmul`
    return _plus(np.matmul(a, b, out=out), bias)


def _on_one_thread(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    with one_thread:
        return _plus(np.matmul(a, b, out=out), bias)


def _integers(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    """In float64, if that holds all sums."""
    largest = [max(-int(x.min()), int(x.max())) for x in (a, b)]
    if largest[0] * largest[1] * a.shape[1] > 1 << 53:
        return np.matmul(a, b)
    return matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(a.dtype, copy=False)


def _outer(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    multiply = _multiply if a.size * b.shape[-1] > tuning.OPENBLAS_THREADS_FROM else np.multiply
    return _plus(multiply(a, b, out=out), bias)


def _multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray | None) -> Any:
    with deferred():
        from ..elementwise.elementwise import mul
    return mul(a, b, out=out)


def _column(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    return _plus(shared(b.T, a.T, None, None if out is None else out.T).T, bias)


def _batched_small(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    return _plus(_of_batched_small(a, b, out), bias)


def _stacks(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    return _plus(_of_stacks(a, b, out), bias)


_of_batched_small, _of_stacks = _of(".batched_small", "matmul"), _of(".openblas_tiles", "matmul_stacks")


def _few_large(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None) -> Any:
    """One matrix of a stack after the other."""
    lead, (m, k), n = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2:], b.shape[-1]
    result = empty((*lead, m, n), a.dtype) if out is None else out
    left, right = np.broadcast_to(a, (*lead, m, k)), np.broadcast_to(b, (*lead, k, n))
    for index, of_one in zip(np.ndindex(lead), result.reshape(-1, m, n)):
        matmul(left[index], right[index], out=of_one)
    return _plus(result, bias)


# ---- which of them ---------------------------------------------------------------------------------------------------


def _integers_why_not(problem: Problem) -> str | None:
    return unmet(
        (problem.dtype.kind in "iu", "no integers"),
        (problem.are_matrices and not problem.out and not problem.bias, "no matrices, or with a bias or out"),
        (math.prod(problem.left) * problem.right[-1] >= tuning.INTEGERS_FROM, "small"),
    )


def _not_shared(problem: Problem) -> str | None:
    """Why threads of ours do not share a product of matrices."""
    if not problem.are_matrices or not problem.fits:
        return "no matrices"
    (m, k), n = problem.left, problem.right[1]
    has_contiguous_columns = problem.right_strides[0] == problem.item
    turned = has_contiguous_columns and (m <= tuning.SHARED_FEW_ROWS or problem.left_strides[1] == problem.item)
    # With contiguous columns, or of one step.
    rather_outer = not problem.bias and n >= tuning.FEW_STEPS_SHORTEST_ROW and m * n >= tuning.FEW_STEPS_PAST_CACHES_FROM
    few_steps = problem.dtype.kind != "c" and (not rather_outer if k == 1 else has_contiguous_columns)
    few_steps = few_steps and k <= tuning.FEW_STEPS and m * n >= tuning.FEW_STEPS_FROM
    least = tuning.SHARED_TURNED_FROM if turned else tuning.SHARED_FROM
    large = k > 1 and m * k * n > tuning.OPENBLAS_THREADS_FROM and m * k * n >= least
    return unmet(
        (problem.is_blas, "not of one of BLAS's dtypes"),
        (not one_thread.unknown, "NumPy uses another BLAS, whose threads are its own"),
        (max(m, n) >= tuning.SHARED_LEAST_SIDE, "few rows and columns"),
        (few_steps or large, "small"),
    )


def _no_sums(problem: Problem) -> str | None:
    return _not_shared(problem) or unmet((problem.left[1] > 1 and problem.work >= tuning.SHARED_FROM, "small"))


def _outer_why_not(problem: Problem) -> str | None:
    deep = min(len(problem.left), len(problem.right)) > 1
    return unmet(
        (deep and problem.left[-1] == problem.right[-2] == 1, "sums of several products"),
        (math.prod(problem.left) * problem.right[-1] >= tuning.OUTER_FROM, "small"),
    )


def _column_why_not(problem: Problem) -> str | None:
    return unmet((problem.right[1] == 1 < problem.left[0] and problem.is_real, "no single column of real numbers"))


def _large_why_not(problem: Problem) -> str | None:
    """Why OpenBLAS may use its threads: it does so for large products, and for those of complex matrices with vectors."""
    large = problem.are_matrices and math.prod(problem.left) * problem.right[1] > tuning.OPENBLAS_THREADS_FROM
    vectors = problem.dtype.kind == "c" and max(math.prod(problem.left), math.prod(problem.right)) >= tuning.COMPLEX_VECTORS_FROM
    return unmet((large or vectors, "OpenBLAS uses one thread anyway"))


def _no_stacks(problem: Problem) -> str | None:
    return unmet(
        (not problem.are_matrices and problem.fits, "no stacks of matrices"),
        (problem.is_blas, "not of one of BLAS's dtypes"),
        (max(math.prod(problem.left), math.prod(problem.right)) >= tuning.STACKS_FROM, "small"),
    )


def _batched_small_why_not(problem: Problem) -> str | None:
    return _no_stacks(problem) or unmet((problem.is_real, "complex numbers")) or _ask_batched_small(problem)


_ask_batched_small = _of(".batched_small", "why_not")


def _stacks_why_not(problem: Problem) -> str | None:
    return _no_stacks(problem) or unmet(
        (not one_thread.unknown, "NumPy uses another BLAS, whose threads are its own"),
        (problem.work >= (tuning.STACKS_WORK if problem.is_real else tuning.STACKS_COMPLEX_WORK), "small"),
    )


def _few_large_why_not(problem: Problem) -> str | None:
    lead = math.prod(np.broadcast_shapes(problem.left[:-2], problem.right[:-2])) if problem.fits else 0
    return _stacks_why_not(problem) or unmet(
        (problem.work_of_one >= tuning.SHARED_FROM, "small matrices"),
        (lead < tuning.STACKS_MATRICES_OF_A_THREAD * problem.threads, "many matrices"),
    )


_SHARED: dict[str, tuple[WhyNot, Callable[..., Any]]] = {
    "skinny": (_of(".skinny", "why_not"), _of(".skinny", "matmul")),
    "column": (_column_why_not, _column),
    "blocked": (_of(".blocked", "why_not"), _of(".blocked", "matmul")),
    "tiles": (anything, _of(".openblas_tiles", "matmul")),
}


def _both(first: WhyNot, second: WhyNot) -> WhyNot:
    return lambda problem: first(problem) or second(problem)


_OF_SHARED = Implementations(**_SHARED)
MATMUL = Implementations(
    integers=(_integers_why_not, _integers),
    **{name: (_both(_not_shared, why_not), run) for name, (why_not, run) in _SHARED.items()},
    outer=(_outer_why_not, _outer),
    batched_small=(_batched_small_why_not, _batched_small),
    few_large=(_few_large_why_not, _few_large),
    stacks=(_stacks_why_not, _stacks),
    one_thread=(_large_why_not, _on_one_thread),
    numpy=(anything, _numpy),
)

_WITH_SUMS = Implementations(
    blocked=(_both(_no_sums, _SHARED["blocked"][0]), _of(".blocked", "matmul_and_sums")),
    without=(anything, lambda a, b: (matmul(a, b), None)),
)


def shared(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None, out: np.ndarray | None = None) -> Any:
    """``a @ b + bias`` of real or complex matrices, not empty, and a contiguous vector, on all threads; `out` is contiguous."""
    return _OF_SHARED.choose(problem_of(a, b, bias, out)).run(a, b, bias, out)
